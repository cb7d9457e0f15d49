#include "child.h"

#include <fcntl.h>
#include <signal.h>
#include <stdexcept>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "world/files.h"

namespace lockstep::commands {

Child::Child(std::vector<std::string> command,
             const std::map<std::string, std::string>& environment, std::string log_file)
    : log_file_(std::move(log_file)) {
  std::vector<std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    std::string text(*entry);
    if (!environment.contains(text.substr(0, text.find('=')))) variables.push_back(text);
  }
  for (const auto& [name, value] : environment) variables.push_back(name + "=" + value);
  auto pointers = [](std::vector<std::string>& texts) {
    std::vector<char*> list;
    for (auto& text : texts) list.push_back(text.data());
    list.push_back(nullptr);
    return list;
  };
  std::vector<char*> words = pointers(command);
  std::vector<char*> settings = pointers(variables);
  int log = open(log_file_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (log < 0 || nothing < 0) throw std::runtime_error("cannot open " + log_file_);
  pid_t parent = getpid();
  pid_ = fork();
  if (pid_ == 0) {
    // A test that crashes leaves nothing behind.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    dup2(nothing, STDIN_FILENO);
    dup2(log, STDOUT_FILENO);
    dup2(log, STDERR_FILENO);
    execve(words[0], words.data(), settings.data());
    _exit(127);
  }
  close(log);
  close(nothing);
  if (pid_ < 0) throw std::runtime_error("cannot start " + command[0]);
}

Child::~Child() {
  if (pid_ <= 0 || exit_code()) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

// After its end, another process may have the number.
void Child::signal(int number) const {
  if (!exit_code_) kill(pid_, number);
}

std::optional<int> Child::exit_code() {
  if (exit_code_) return exit_code_;
  int status = 0;
  if (waitpid(pid_, &status, WNOHANG) != pid_) return std::nullopt;
  exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return exit_code_;
}

std::string Child::output() const { return SystemFiles().read(log_file_).value_or(""); }

}  // namespace lockstep::commands
