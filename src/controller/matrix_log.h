// Reads version matrices with their history from real git, for display. Clones are kept for the
// lifetime of this object, so that the next read is only a fetch. Git is slow, so it runs on a
// thread of its own and answers on the loop.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "base/result.h"
#include "git/allowed.h"
#include "git/clone.h"
#include "git/program.h"
#include "rollout/matrix_report.h"
#include "rollout/rollout_spec.h"
#include "world/event_loop.h"
#include "world/process.h"

namespace lockstep::controller {

struct MatrixLogOptions {
  git::Environment environment;  // what git gets
  git::Limits limits;
  // Those that may be read. Nothing: whichever is asked for, as a user has named it.
  std::optional<git::AllowedRepositories> allowed;
  int entries = 50;  // of the history
};

class MatrixLog {
 public:
  MatrixLog(EventLoop& loop, MatrixLogOptions options);
  // Ends what runs; its `done` is never called. Must come before the loop is destroyed, on its
  // thread.
  ~MatrixLog();
  MatrixLog(const MatrixLog&) = delete;
  MatrixLog& operator=(const MatrixLog&) = delete;

  // One at a time: not to be called again before `done` was.
  void read(const rollout::MatrixPlace& place,
            std::function<void(Result<rollout::MatrixReport>)> done);
  // The same at once, on this thread.
  Result<rollout::MatrixReport> read_now(const rollout::MatrixPlace& place);

 private:
  struct Repository {
    std::unique_ptr<git::Program> program;
    std::unique_ptr<git::Clone> clone;
    std::string address;
    // By commit: what is known of one never changes.
    std::map<std::string, rollout::MatrixEntry> known;
  };
  Result<void> open(const rollout::MatrixPlace& place, Repository& repository);
  Result<git::Source> start_git(const std::string& address, Repository& repository);
  Result<rollout::MatrixReport> report(const rollout::MatrixPlace& place, Repository& repository);

  EventLoop& loop_;
  MatrixLogOptions options_;
  SystemProcesses processes_;
  std::map<std::string, Repository> repositories_;  // by place; the thread's own while it runs
  std::thread thread_;
  Scope scope_;
};

}  // namespace lockstep::controller
