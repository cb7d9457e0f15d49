#include "cli/child_process.h"

#include <cstdlib>
#include <fcntl.h>
#include <linux/limits.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace lockstep::cli {

ChildProcess::ChildProcess(EventLoop& loop, std::vector<std::string> command, std::string log_file)
    : loop_(loop), command_(std::move(command)), log_file_(std::move(log_file)) {}

ChildProcess::~ChildProcess() {
  if (descriptor_ >= 0) {
    loop_.unwatch_descriptor(descriptor_);
    close(descriptor_);
  }
  if (pid_ <= 0) return;
  kill(pid_, SIGTERM);
  for (int i = 0; i < 40; ++i) {
    if (waitpid(pid_, nullptr, WNOHANG) != 0) return;
    usleep(50'000);
  }
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

bool ChildProcess::start() {
  std::vector<char*> arguments;
  for (auto& word : command_) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t parent = getpid();
  pid_t pid = fork();
  if (pid < 0) return false;
  if (pid == 0) {
    // It must not outlive us, whatever becomes of us.
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(1);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    int log = open(log_file_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (log >= 0) {
      dup2(log, STDOUT_FILENO);
      dup2(log, STDERR_FILENO);
    }
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  pid_ = pid;
  descriptor_ = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (descriptor_ >= 0) {
    loop_.watch_descriptor(descriptor_, true, false, [this](EventLoop::Readiness) { on_end(); });
  }
  return true;
}

void ChildProcess::on_end() {
  loop_.unwatch_descriptor(descriptor_);
  close(descriptor_);
  descriptor_ = -1;
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
  ++restarts_;
  // As Kubernetes would, only sooner.
  loop_.after(milliseconds(500), scope_.bind([this] { start(); }));
}

std::string own_program() {
  char path[PATH_MAX] = {};
  ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
  return length > 0 ? std::string(path, static_cast<size_t>(length)) : std::string("lockstep");
}

}  // namespace lockstep::cli
