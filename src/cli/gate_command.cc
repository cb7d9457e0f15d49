#include "cli/gate_command.h"

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/time.h"
#include "cli/child_process.h"
#include "cli/exit_codes.h"
#include "cli/gate_on_node.h"
#include "cli/terminal.h"
#include "gpu/baseline.h"
#include "gpu/gate.h"
#include "gpu/gate_report.h"
#include "gpu/gate_summary.h"
#include "gpu/worker.h"
#include "world/descriptor.h"
#include "world/event_loop.h"
#include "world/files.h"
#include "world/system_error.h"

namespace lockstep::cli {

namespace {

std::string_view colour_of(gpu::Verdict verdict) {
  switch (verdict) {
    case gpu::Verdict::passed:
      return "32";
    case gpu::Verdict::failed:
      return "1;31";
    case gpu::Verdict::skipped:
      return "90";
    case gpu::Verdict::inconclusive:
      return "33";
    case gpu::Verdict::error:
      break;
  }
  return "35";
}

Result<gpu::GateOptions> options_of(const GateFlags& flags) {
  gpu::GateOptions options;
  options.checks = flags.checks;
  LOCKSTEP_CHECK(gpu::chosen_checks(flags.checks));
  options.expect_driver = flags.expect_driver;
  if (flags.gpus != std::vector<std::string>{"all"}) options.gpus = flags.gpus;
  auto budget = parse_duration(flags.budget);
  if (!budget || *budget <= Duration(0))
    return fail(ErrorKind::invalid,
                fmt::format("invalid duration \"{}\": use a value such as 30s", flags.budget),
                "--budget");
  options.budget = *budget;
  LOCKSTEP_TRY(options.call_deadline, parse_duration(flags.call_deadline));
  if (!flags.baseline.empty()) {
    SystemFiles files;
    LOCKSTEP_TRY(std::string text, files.read(flags.baseline));
    LOCKSTEP_TRY(options.baseline, gpu::read_baseline(text, flags.baseline));
  }
  options.root = flags.root == "/" ? "" : flags.root;
  options.places = {flags.library_directory, options.root};
  options.measure.wrong = flags.wrong;
  options.measure.product = flags.product;
  options.measure.product_size = flags.product_size;
  options.measure.copy_bytes = flags.copy_bytes;
  options.worker = {own_program(), std::string(gate_worker_word)};
  return options;
}

// One line that is drawn over itself, on a terminal and nowhere else.
class ProgressLine {
 public:
  explicit ProgressLine(const Terminal& terminal)
      : width_(terminal.width), on_(terminal.interactive && isatty(STDERR_FILENO) != 0) {}
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(const std::string& text) {
    if (!on_ || text == shown_) return;
    shown_ = text;
    fmt::print(stderr, "\r\x1b[K{}", shorten(text, static_cast<size_t>(width_ - 1)));
  }
  void clear() {
    if (on_ && !shown_.empty()) fmt::print(stderr, "\r\x1b[K");
    shown_.clear();
  }

 private:
  int width_;
  bool on_;
  std::string shown_;
};

// Into the file itself: the kubelet has mounted it there, and one in its place would be another.
Result<void> write_in_place(const std::string& path, const std::string& text) {
  constexpr mode_t readable = 0644;
  Descriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_NONBLOCK | O_CLOEXEC, readable));
  if (!file) return system_failure("write", path, errno);
  // The gate is privileged: it must not write to a device.
  struct stat about{};
  if (fstat(file.get(), &about) != 0) return system_failure("write", path, errno);
  if (!S_ISREG(about.st_mode)) return fail(ErrorKind::invalid, "is not a regular file", path);
  if (ftruncate(file.get(), 0) != 0) return system_failure("write", path, errno);
  if (const int error = write_all(file.get(), text); error != 0)
    return system_failure("write", path, error);
  if (const int error = file.close_now(); error != 0) return system_failure("write", path, error);
  return {};
}

// A verdict is a verdict, whether or not it could be left behind.
template <typename Outcome>
void leave_behind(const GateFlags& flags, const Outcome& outcome) {
  if (flags.termination_message.empty()) return;
  auto written = write_in_place(flags.termination_message, gpu::summary_text(outcome));
  if (!written)
    fmt::print(stderr, "lockstep: {}\n", written.error().at("--termination-message").text());
}

int give_up(const GateFlags& flags, const Error& error) {
  leave_behind(flags, error);
  return report(error);
}

}  // namespace

int run_gate_command(const GateFlags& flags) {
  if (flags.list) {
    fmt::print("{}", gpu::list_text());
    return ExitCode::ok;
  }
  if (!flags.node.empty()) return run_gate_on_node(flags);
  auto options = options_of(flags);
  if (!options) return give_up(flags, options.error());
  const Terminal terminal = Terminal::of_output();
  const Time started = system_time();
  ProgressLine line(terminal);
  options->progress = [&](const std::string& text) { line.show(text); };
  auto outcome = gpu::run_gate(*options);
  line.clear();
  if (!outcome) return give_up(flags, outcome.error());
  leave_behind(flags, *outcome);
  if (!flags.save_baseline.empty()) {
    SystemFiles files;
    if (auto saved = files.write(flags.save_baseline, gpu::baseline_text(outcome->facts, started));
        !saved)
      return report(saved.error().at("--save-baseline"));
  }
  print_gate_outcome(flags, *outcome, started);
  return gpu::exit_code_of(*outcome);
}

void print_gate_outcome(const GateFlags& flags, const gpu::GateOutcome& outcome, Time started) {
  if (flags.output == "json") {
    fmt::print("{}", gpu::json_text(outcome));
  } else if (flags.output == "ctrf") {
    fmt::print("{}", gpu::ctrf_text(outcome, started, LOCKSTEP_VERSION));
  } else {
    const Terminal terminal = Terminal::of_output();
    fmt::print("{}", gpu::table_text(outcome, [&](std::string_view text, gpu::Verdict verdict) {
                 return terminal.paint(text, colour_of(verdict));
               }));
  }
}

int run_gate_worker() {
  const int code = gpu::run_worker(STDIN_FILENO, STDOUT_FILENO);
  // Without the driver's farewell, which takes longer than some checks: the kernel cleans up.
  _exit(code);
}

}  // namespace lockstep::cli
