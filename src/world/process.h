// Running other programs, without a shell, bounded in time and output.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "world/loop.h"

namespace lockstep {

struct ProcessSpec {
  std::vector<std::string> command;                // command[0] is searched for in our PATH
  std::map<std::string, std::string> environment;  // added to our own
  bool inherits = true;                            // false: it gets `environment` and nothing else
  std::vector<std::string> unset;                  // names of our own that it does not get
  std::string directory;                           // empty: ours
  std::string input;                               // standard input; then closed
  Duration limit = minutes(1);
  size_t output_limit = 16 << 20;  // per stream; more is an error
};

struct ProcessOutput {
  int exit_code = 0;  // 128 + signal when killed
  std::string output;
  std::string error;
};

class Processes {
 public:
  virtual ~Processes() = default;
  // Waits for the end; fails when it cannot be started or runs past its limit (then it is killed).
  virtual Result<ProcessOutput> run(const ProcessSpec& spec) = 0;
  // The same without blocking the loop.
  virtual void start(ProcessSpec spec, Loop& loop,
                     std::function<void(Result<ProcessOutput>)> done) = 0;
};

class EventLoop;

// Programs of this machine. Each runs in a process group of its own, so that what it starts ends
// with it, and inherits no descriptor but its three standard ones.
class SystemProcesses final : public Processes {
 public:
  // `patience`: how long a program may take after SIGTERM before it is killed.
  explicit SystemProcesses(Duration patience = seconds(2));
  // Kills what start() began and is still running; its `done` is never called. Must come before the
  // loops are destroyed, on the thread that runs them.
  ~SystemProcesses() override;
  SystemProcesses(const SystemProcesses&) = delete;
  SystemProcesses& operator=(const SystemProcesses&) = delete;

  Result<ProcessOutput> run(const ProcessSpec& spec) override;
  // From any thread: what runs is ended, and every further one fails as cancelled.
  void cancel();
  // `loop` must be an EventLoop.
  void start(ProcessSpec spec, Loop& loop,
             std::function<void(Result<ProcessOutput>)> done) override;

 private:
  struct Worker;
  void join_finished();

  Duration patience_;
  int cancelled_ = -1;  // an eventfd that becomes readable, and stays so, when we are destroyed
  std::list<std::unique_ptr<Worker>> workers_;
  Scope scope_;
};

}  // namespace lockstep
