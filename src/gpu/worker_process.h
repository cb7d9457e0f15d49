// A worker as the gate sees it: a child process with a pipe to it and one from it, the call that it
// is in, and for how long it has said nothing.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace lockstep::gpu {

struct WorkerCommand {
  std::vector<std::string> words;        // words[0] is a path
  std::vector<std::string> environment;  // "NAME=value", added to ours
  std::string orders;                    // a line for its standard input
};

class WorkerProcess {
 public:
  static Result<WorkerProcess> start(const WorkerCommand& command, Duration now);
  // Kills it. One that cannot be killed, because the kernel holds it, is left to the kernel.
  ~WorkerProcess();
  WorkerProcess(WorkerProcess&& other) noexcept;
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;
  WorkerProcess& operator=(WorkerProcess&&) = delete;

  // To wait on; -1 once it has ended.
  int output() const { return output_; }
  bool ended() const { return output_ < 0; }
  // Reads what is there, and gives whole lines to `line`.
  void read_lines(Duration now, const std::function<void(std::string_view)>& line);
  // Makes a worker that waits for it end.
  void close_input();
  void kill();

  Duration last_heard() const { return last_heard_; }
  // "exit code 0", "signal 11 (Segmentation fault)"; after its end.
  std::string end_text() const;
  bool ended_well() const { return ended() && status_ == 0; }

 private:
  WorkerProcess() = default;
  void collect();

  pid_t pid_ = -1;
  int input_ = -1;
  int output_ = -1;
  int status_ = 0;
  Duration last_heard_{};
  std::string rest_;
};

}  // namespace lockstep::gpu
