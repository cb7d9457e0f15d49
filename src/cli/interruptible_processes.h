// Programs that end when we are told to: SIGTERM or Ctrl-C ends what runs, at once. From then on
// every further program fails as cancelled, so that the caller cleans up and returns.
#pragma once

#include <memory>

#include "world/event_loop.h"
#include "world/process.h"

namespace lockstep::cli {

class InterruptibleProcesses final : public Processes {
 public:
  // After block_signals().
  InterruptibleProcesses();

  Result<ProcessOutput> run(const ProcessSpec& spec) override;
  void start(ProcessSpec spec, Loop& loop,
             std::function<void(Result<ProcessOutput>)> done) override;

 private:
  EventLoop loop_;
  bool interrupted_ = false;
  std::unique_ptr<SystemProcesses> processes_;
};

}  // namespace lockstep::cli
