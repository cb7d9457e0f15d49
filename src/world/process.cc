#include "world/process.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdexcept>
#include <string_view>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>

#include "base/strings.h"
#include "world/descriptor.h"
#include "world/event_loop.h"

namespace lockstep {

namespace {

using Clock = std::chrono::steady_clock;

// How long to go on reading after the program's end, for what it left behind in the background and
// that still holds its output open.
constexpr Duration linger = seconds(1);

std::string reason(int error) { return std::generic_category().message(error); }

struct Pipe {
  Descriptor read_end;
  Descriptor write_end;
};

Result<Pipe> make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return failf(ErrorKind::internal, "cannot make a pipe: {}", reason(errno));
  }
  Pipe pipe{Descriptor(ends[0]), Descriptor(ends[1])};
  // Where our own standard streams are closed, a pipe may get their numbers, and the child's
  // redirections would then run over each other.
  for (Descriptor* end : {&pipe.read_end, &pipe.write_end}) {
    if (end->get() > STDERR_FILENO) continue;
    *end = Descriptor(fcntl(end->get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
    if (!*end) return failf(ErrorKind::internal, "cannot make a pipe: {}", reason(errno));
  }
  return pipe;
}

// A write to a program that has closed its input raises SIGPIPE, which would end us. Blocks it on
// this thread and swallows the one that we caused.
class SigpipeBlocked {
 public:
  SigpipeBlocked() {
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    sigemptyset(&only_);
    sigaddset(&only_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &only_, &before_);
  }
  ~SigpipeBlocked() {
    constexpr timespec at_once{};
    if (!was_pending_) {
      while (sigtimedwait(&only_, nullptr, &at_once) < 0 && errno == EINTR) {
      }
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  SigpipeBlocked(const SigpipeBlocked&) = delete;
  SigpipeBlocked& operator=(const SigpipeBlocked&) = delete;

 private:
  bool was_pending_;
  sigset_t only_;
  sigset_t before_;
};

// The file to execute. Relative entries of PATH are passed over: what runs must not depend on the
// directory in which we happen to be.
Result<std::string> find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  const char* path = std::getenv("PATH");
  bool found_unusable = false;
  for (const std::string_view directory : split(path == nullptr ? "/usr/bin:/bin" : path, ':')) {
    if (!directory.starts_with('/')) continue;
    std::string file = fmt::format("{}/{}", directory, name);
    struct stat info{};
    if (stat(file.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) continue;
    if (access(file.c_str(), X_OK) == 0) return file;
    found_unusable = true;
  }
  if (found_unusable) {
    return failf(ErrorKind::forbidden, "{} is in PATH but may not be executed", name);
  }
  return failf(ErrorKind::not_found, "program {} not found in PATH", name);
}

std::vector<std::string> merged_environment(const ProcessSpec& spec) {
  std::vector<std::string> entries;
  for (char** entry = environ; spec.inherits && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::string name(text.substr(0, text.find('=')));
    const bool taken_away =
        std::find(spec.unset.begin(), spec.unset.end(), name) != spec.unset.end();
    if (!taken_away && !spec.environment.contains(name)) entries.emplace_back(text);
  }
  for (const auto& [name, value] : spec.environment) {
    entries.push_back(fmt::format("{}={}", name, value));
  }
  return entries;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

std::string describe(const ProcessSpec& spec) {
  std::string text = join(spec.command, " ");
  constexpr size_t longest = 200;
  if (text.size() > longest) text = text.substr(0, longest) + "...";
  return text;
}

// posix_spawn's two objects, freed on every way out.
struct SpawnSettings {
  SpawnSettings() {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
  }
  ~SpawnSettings() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;

  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
};

Result<pid_t> spawn(const ProcessSpec& spec, int input, int output, int error) {
  if (spec.command.empty()) return fail(ErrorKind::invalid, "there is no command to run");
  if (!spec.directory.empty()) {
    struct stat info{};
    const int failure = stat(spec.directory.c_str(), &info) != 0 ? errno
                        : !S_ISDIR(info.st_mode)                 ? ENOTDIR
                                                                 : 0;
    if (failure != 0) {
      return failf(ErrorKind::not_found, "cannot run {} in directory {}: {}", spec.command[0],
                   spec.directory, reason(failure));
    }
  }
  LOCKSTEP_TRY(const std::string file, find_program(spec.command[0]));

  SpawnSettings settings;
  posix_spawn_file_actions_adddup2(&settings.actions, input, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&settings.actions, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&settings.actions, error, STDERR_FILENO);
  // Also those that some library opened without close-on-exec.
  posix_spawn_file_actions_addclosefrom_np(&settings.actions, STDERR_FILENO + 1);
  if (!spec.directory.empty()) {
    posix_spawn_file_actions_addchdir_np(&settings.actions, spec.directory.c_str());
  }
  sigset_t signals;
  sigemptyset(&signals);
  posix_spawnattr_setsigmask(&settings.attributes, &signals);
  sigfillset(&signals);
  posix_spawnattr_setsigdefault(&settings.attributes, &signals);
  posix_spawnattr_setpgroup(&settings.attributes, 0);
  posix_spawnattr_setflags(&settings.attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);

  std::vector<std::string> arguments = spec.command;
  std::vector<std::string> environment = merged_environment(spec);
  pid_t child = 0;
  const int failure = posix_spawn(&child, file.c_str(), &settings.actions, &settings.attributes,
                                  pointers(arguments).data(), pointers(environment).data());
  if (failure == 0) return child;
  const ErrorKind kind = failure == ENOENT || failure == ENOTDIR ? ErrorKind::not_found
                         : failure == EACCES || failure == EPERM ? ErrorKind::forbidden
                         : failure == E2BIG                      ? ErrorKind::too_large
                         : failure == ENOEXEC                    ? ErrorKind::invalid
                                                                 : ErrorKind::internal;
  return failf(kind, "cannot start {}: {}", file, reason(failure));
}

// One program from its start to its end, on the calling thread.
class Execution {
 public:
  Execution(const ProcessSpec& spec, Duration patience, int cancelled)
      : spec_(spec), patience_(patience), cancelled_(cancelled) {}

  Result<ProcessOutput> run() {
    const SigpipeBlocked no_sigpipe;
    LOCKSTEP_TRY(Pipe input, make_pipe());
    LOCKSTEP_TRY(Pipe output, make_pipe());
    LOCKSTEP_TRY(Pipe error, make_pipe());
    LOCKSTEP_TRY(child_,
                 spawn(spec_, input.read_end.get(), output.write_end.get(), error.write_end.get()));
    input_ = std::move(input.write_end);
    output_ = std::move(output.read_end);
    error_ = std::move(error.read_end);
    // Ours must be closed, or we would never see the end of the output.
    for (Descriptor* end : {&input.read_end, &output.write_end, &error.write_end}) *end = {};
    for (const Descriptor* end : {&input_, &output_, &error_}) {
      fcntl(end->get(), F_SETFL, fcntl(end->get(), F_GETFL) | O_NONBLOCK);
    }
    if (spec_.input.empty()) input_ = {};

    const auto began = Clock::now();
    deadline_ = spec_.limit >= hours(24 * 365) ? Clock::time_point::max() : began + spec_.limit;
    while (!finished()) turn();
    return verdict();
  }

 private:
  // Ended, and its output is complete or the caller does not wait for the rest.
  bool finished() {
    if (abandoned_) return true;
    if (!ended_) {
      siginfo_t info{};
      // WNOWAIT: until we are done with the process group its number must stay taken.
      ended_ = waitid(P_PID, static_cast<id_t>(child_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
               info.si_pid != 0;
      if (ended_) {
        input_ = {};
        deadline_ = std::min(deadline_, Clock::now() + linger);
      }
    }
    if (!ended_) return false;
    return (!output_ && !error_) || stopped_ || Clock::now() >= deadline_;
  }

  void turn() {
    pollfd polled[4] = {{input_.get(), POLLOUT, 0},
                        {output_.get(), POLLIN, 0},
                        {error_.get(), POLLIN, 0},
                        {stopped_ ? -1 : cancelled_, POLLIN, 0}};
    poll(polled, std::size(polled), milliseconds_to_wait());
    if (polled[0].revents != 0) feed();
    if (polled[1].revents != 0) drain(output_, result_.output, "output");
    if (polled[2].revents != 0) drain(error_, result_.error, "error output");
    if (polled[3].revents != 0) {
      stop(SIGKILL, {ErrorKind::cancelled, fmt::format("{} was cancelled", describe(spec_)), {}});
    }
    if (!ended_ && Clock::now() >= deadline_) lose_patience();
  }

  void lose_patience() {
    if (!stopped_) {
      stop(SIGTERM,
           {ErrorKind::timed_out,
            fmt::format("{} did not end within {}", describe(spec_), format_duration(spec_.limit)),
            {}});
    } else if (!killed_) {
      signal_group(SIGKILL);
    } else {
      // A call into a hung driver or a dead file server cannot be interrupted by anything.
      abandoned_ = true;
      stopped_->message += ", and the kernel cannot end it";
    }
  }

  int milliseconds_to_wait() {
    // poll() does not report the end of a child. It nearly always closes its output, which poll()
    // reports; the short steps are for one that closed it earlier or passed it to another process.
    const bool watching = output_ || error_;
    const Duration step = ended_ || watching ? milliseconds(50) : (idle_ = next_idle());
    const Duration left = deadline_ == Clock::time_point::max() ? step : deadline_ - Clock::now();
    return static_cast<int>(
        std::chrono::ceil<std::chrono::milliseconds>(std::clamp(left, Duration::zero(), step))
            .count());
  }

  Duration next_idle() const { return std::min(idle_ * 2, Duration(milliseconds(20))); }

  void feed() {
    while (fed_ < spec_.input.size()) {
      const ssize_t count =
          write(input_.get(), spec_.input.data() + fed_, spec_.input.size() - fed_);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0 && errno == EAGAIN) return;
      if (count < 0) break;  // it does not want the rest
      fed_ += static_cast<size_t>(count);
    }
    input_ = {};
  }

  void drain(Descriptor& from, std::string& into, std::string_view name) {
    char buffer[1 << 16];
    const ssize_t count = read(from.get(), buffer, sizeof buffer);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (count <= 0) {
      from = {};
      return;
    }
    if (stopped_) return;
    const size_t space = spec_.output_limit - into.size();
    into.append(buffer, std::min(space, static_cast<size_t>(count)));
    if (static_cast<size_t>(count) > space) {
      stop(SIGKILL, {ErrorKind::too_large,
                     fmt::format("{} wrote more than {} bytes of {}", describe(spec_),
                                 spec_.output_limit, name),
                     {}});
    }
  }

  void stop(int signal, Error why) {
    if (stopped_) return;
    stopped_ = std::move(why);
    signal_group(signal);
  }

  void signal_group(int signal) {
    kill(-child_, signal);
    killed_ = signal == SIGKILL;
    deadline_ = Clock::now() + patience_;
  }

  Result<ProcessOutput> verdict() {
    if (abandoned_) return fail(std::move(*stopped_));
    // The group may outlive its leader; when we gave up on it, all of it ends.
    if (stopped_) kill(-child_, SIGKILL);
    int status = 0;
    while (waitpid(child_, &status, 0) < 0) {
      if (errno == EINTR) continue;
      return failf(ErrorKind::internal, "lost track of {}: {}", describe(spec_), reason(errno));
    }
    if (stopped_) return fail(std::move(*stopped_));
    result_.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    return std::move(result_);
  }

  const ProcessSpec& spec_;
  const Duration patience_;
  const int cancelled_;
  pid_t child_ = 0;
  Descriptor input_, output_, error_;
  size_t fed_ = 0;
  Clock::time_point deadline_;
  Duration idle_ = microseconds(500);
  bool ended_ = false;            // though not yet reaped
  std::optional<Error> stopped_;  // why we ended it
  bool killed_ = false;           // and not only asked to end
  bool abandoned_ = false;        // it did not even end by that
  ProcessOutput result_;
};

}  // namespace

struct SystemProcesses::Worker {
  std::atomic<bool> finished = false;
  std::thread thread;
};

SystemProcesses::SystemProcesses(Duration patience)
    : patience_(patience), cancelled_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (cancelled_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
}

void SystemProcesses::cancel() { eventfd_write(cancelled_, 1); }

SystemProcesses::~SystemProcesses() {
  cancel();
  for (const auto& worker : workers_) worker->thread.join();
  close(cancelled_);
}

Result<ProcessOutput> SystemProcesses::run(const ProcessSpec& spec) {
  return Execution(spec, patience_, cancelled_).run();
}

void SystemProcesses::start(ProcessSpec spec, Loop& loop,
                            std::function<void(Result<ProcessOutput>)> done) {
  auto* event_loop = dynamic_cast<EventLoop*>(&loop);
  if (event_loop == nullptr) throw std::logic_error("SystemProcesses needs an EventLoop");
  join_finished();
  // The thread carries `done` and hands it back, so that it is called and destroyed on the loop's
  // thread only. Bound: nothing is called once we are destroyed.
  auto hand_over =
      std::make_unique<std::function<void(Result<ProcessOutput>)>>(scope_.bind(std::move(done)));
  workers_.push_back(std::make_unique<Worker>());
  Worker& worker = *workers_.back();
  worker.thread = std::thread([this, event_loop, &worker, spec = std::move(spec),
                               hand_over = std::move(hand_over)]() mutable {
    auto result = std::make_shared<Result<ProcessOutput>>(run(spec));
    event_loop->post_from_thread(
        [result, done = std::shared_ptr<std::function<void(Result<ProcessOutput>)>>(
                     std::move(hand_over))] { (*done)(std::move(*result)); });
    worker.finished = true;
  });
}

void SystemProcesses::join_finished() {
  for (auto worker = workers_.begin(); worker != workers_.end();) {
    if (!(*worker)->finished) {
      ++worker;
      continue;
    }
    (*worker)->thread.join();
    worker = workers_.erase(worker);
  }
}

}  // namespace lockstep
