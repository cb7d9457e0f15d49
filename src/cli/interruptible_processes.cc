#include "cli/interruptible_processes.h"

#include <optional>

#include "cli/signals.h"

namespace lockstep::cli {

namespace {

// The program has its own limit; this one is for a bug.
constexpr Duration patience = hours(24);

Unexpected interrupted() { return fail(ErrorKind::cancelled, "interrupted"); }

}  // namespace

InterruptibleProcesses::InterruptibleProcesses() : processes_(std::make_unique<SystemProcesses>()) {
  stop_at_signal(loop_, &interrupted_);
}

Result<ProcessOutput> InterruptibleProcesses::run(const ProcessSpec& spec) {
  if (processes_ == nullptr) return interrupted();
  std::optional<Result<ProcessOutput>> result;
  processes_->start(spec, loop_, [&](Result<ProcessOutput> ended) { result = std::move(ended); });
  loop_.run_until([&] { return result.has_value() || interrupted_; }, patience);
  if (result && !interrupted_) return std::move(*result);
  processes_.reset();
  return interrupted();
}

void InterruptibleProcesses::start(ProcessSpec spec, Loop& loop,
                                   std::function<void(Result<ProcessOutput>)> done) {
  if (processes_ == nullptr) {
    loop.post([done = std::move(done)] { done(interrupted()); });
    return;
  }
  processes_->start(std::move(spec), loop, std::move(done));
}

}  // namespace lockstep::cli
