#include "gpu/worker_process.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

extern char** environ;

namespace lockstep::gpu {

namespace {

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> list;
  for (std::string& word : words) list.push_back(word.data());
  list.push_back(nullptr);
  return list;
}

// Ours, with what is added in place of what has the same name.
std::vector<std::string> environment_with(const std::vector<std::string>& added) {
  std::vector<std::string> all;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string text = *entry;
    bool replaced = false;
    for (const std::string& other : added)
      replaced =
          replaced || other.substr(0, other.find('=') + 1) == text.substr(0, text.find('=') + 1);
    if (!replaced) all.push_back(text);
  }
  all.insert(all.end(), added.begin(), added.end());
  return all;
}

void close_quietly(int& descriptor) {
  if (descriptor >= 0) close(std::exchange(descriptor, -1));
}

}  // namespace

Result<WorkerProcess> WorkerProcess::start(const WorkerCommand& command, Duration now) {
  std::array<int, 2> in{};
  std::array<int, 2> out{};
  // A socket, as writing to it raises no signal when the worker is gone already.
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in.data()) != 0)
    return failf(ErrorKind::internal, "no socket: {}", std::strerror(errno));
  if (pipe2(out.data(), O_CLOEXEC) != 0) {
    close(in[0]);
    close(in[1]);
    return failf(ErrorKind::internal, "no pipe: {}", std::strerror(errno));
  }
  WorkerProcess worker;
  worker.input_ = in[1];
  worker.output_ = out[0];
  worker.last_heard_ = now;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
  std::vector<std::string> words = command.words;
  std::vector<std::string> environment = environment_with(command.environment);
  const int problem = posix_spawn(&worker.pid_, words[0].c_str(), &actions, nullptr,
                                  pointers(words).data(), pointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  close(in[0]);
  close(out[1]);
  if (problem != 0) {
    worker.pid_ = -1;
    return failf(ErrorKind::internal, "cannot start {}: {}", words[0], std::strerror(problem));
  }
  fcntl(worker.output_, F_SETFL, O_NONBLOCK);
  const std::string orders = command.orders + "\n";
  // Fits into the socket's buffer. A worker that ended before it read this is noticed by its end.
  if (send(worker.input_, orders.data(), orders.size(), MSG_NOSIGNAL) < 0 && errno != EPIPE)
    return failf(ErrorKind::internal, "cannot write to a worker: {}", std::strerror(errno));
  return worker;
}

WorkerProcess::WorkerProcess(WorkerProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      input_(std::exchange(other.input_, -1)),
      output_(std::exchange(other.output_, -1)),
      status_(other.status_),
      last_heard_(other.last_heard_),
      rest_(std::move(other.rest_)) {}

WorkerProcess::~WorkerProcess() { kill(); }

void WorkerProcess::close_input() { close_quietly(input_); }

void WorkerProcess::kill() {
  close_quietly(input_);
  close_quietly(output_);
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  collect();
}

void WorkerProcess::collect() {
  if (pid_ <= 0) return;
  // One that was killed is gone in a moment, or hangs in the kernel and will not be gone at all.
  for (int tries = 0; tries < 50; ++tries) {
    if (waitpid(pid_, &status_, WNOHANG) != 0) {
      pid_ = -1;
      return;
    }
    constexpr useconds_t millisecond = 1000;
    usleep(millisecond);
  }
}

void WorkerProcess::read_lines(Duration now, const std::function<void(std::string_view)>& line) {
  std::array<char, 65536> buffer{};
  while (output_ >= 0) {
    const ssize_t count = read(output_, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) break;
    if (count <= 0) {
      close_quietly(output_);
      close_quietly(input_);
      // It has closed its output; that it ends may take the driver a moment.
      for (int tries = 0; tries < 20 && pid_ > 0; ++tries) collect();
      break;
    }
    last_heard_ = now;
    rest_.append(buffer.data(), static_cast<size_t>(count));
  }
  size_t begin = 0;
  for (size_t end = rest_.find('\n'); end != std::string::npos; end = rest_.find('\n', begin)) {
    line(std::string_view(rest_).substr(begin, end - begin));
    begin = end + 1;
  }
  rest_.erase(0, begin);
}

std::string WorkerProcess::end_text() const {
  if (WIFSIGNALED(status_))
    return fmt::format("signal {} ({})", WTERMSIG(status_), strsignal(WTERMSIG(status_)));
  return fmt::format("exit code {}", WEXITSTATUS(status_));
}

}  // namespace lockstep::gpu
