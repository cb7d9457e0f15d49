#include "http_load.h"

#include <algorithm>
#include <arpa/inet.h>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

namespace lockstep::bench {

namespace {

[[noreturn]] void give_up(const char* what) {
  std::perror(what);
  std::exit(1);
}

}  // namespace

Connection::Connection(uint16_t port) : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
    give_up("connect");
  int one = 1;
  setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

Connection::~Connection() {
  if (socket_ >= 0) close(socket_);
}

Connection::Connection(Connection&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)),
      code_(other.code_),
      buffer_(std::move(other.buffer_)) {}

void Connection::send(const std::string& request) const {
  if (::send(socket_, request.data(), request.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(request.size())) {
    give_up("send");
  }
}

bool Connection::read_answer() {
  char chunk[256 << 10];
  ssize_t size = recv(socket_, chunk, sizeof chunk, 0);
  if (size <= 0) give_up("recv");
  total_ += static_cast<size_t>(size);
  buffer_.append(chunk, static_cast<size_t>(size));
  size_t end = buffer_.find("\r\n\r\n");
  if (end == std::string::npos) return false;
  code_ = std::atoi(buffer_.c_str() + 9);
  size_t length_at = buffer_.find("Content-Length: ");
  if (length_at != std::string::npos && length_at < end) {
    size_t length = static_cast<size_t>(std::atoll(buffer_.c_str() + length_at + 16));
    if (buffer_.size() < end + 4 + length) return false;
  } else {
    if (buffer_.size() < 5 || buffer_.compare(buffer_.size() - 5, 5, "0\r\n\r\n") != 0) {
      // Keep the head and the tail: a chunked body may be a hundred megabytes.
      if (buffer_.size() > (1 << 20)) buffer_.erase(end + 4, buffer_.size() - end - 4 - 16);
      return false;
    }
  }
  buffer_.clear();
  return true;
}

size_t Connection::wait_for_answer() {
  total_ = 0;
  while (!read_answer()) {
  }
  return total_;
}

size_t Connection::read_lines() {
  char chunk[256 << 10];
  ssize_t size = recv(socket_, chunk, sizeof chunk, MSG_DONTWAIT);
  if (size <= 0) return 0;
  // Every event ends with "}\n" inside its chunk; chunk headers end with "\r\n".
  size_t lines = 0;
  for (const char* at = chunk; (at = static_cast<const char*>(std::memchr(
                                    at, '\n', static_cast<size_t>(chunk + size - at)))) != nullptr;
       ++at) {
    char before = at == chunk ? last_ : at[-1];
    if (before == '}') ++lines;
  }
  last_ = chunk[size - 1];
  return lines;
}

std::string get_request(uint16_t port, const std::string& target) {
  return "GET " + target + " HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(port) + "\r\n\r\n";
}

std::string patch_request(uint16_t port, const std::string& target, const std::string& body) {
  return "PATCH " + target + " HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(port) +
         "\r\nContent-Type: application/merge-patch+json\r\nContent-Length: " +
         std::to_string(body.size()) + "\r\n\r\n" + body;
}

double run_load(uint16_t port, size_t connections, size_t count,
                const std::function<std::string(size_t)>& next) {
  std::vector<Connection> open;
  std::vector<pollfd> ready;
  for (size_t i = 0; i < connections; ++i) {
    open.emplace_back(port);
    ready.push_back({open.back().descriptor(), POLLIN, 0});
  }
  auto begin = std::chrono::steady_clock::now();
  size_t sent = 0;
  size_t answered = 0;
  for (auto& connection : open) connection.send(next(sent++));
  while (answered < count) {
    if (poll(ready.data(), ready.size(), 10'000) <= 0) give_up("poll");
    for (size_t i = 0; i < open.size(); ++i) {
      if ((ready[i].revents & POLLIN) == 0 || !open[i].read_answer()) continue;
      if (open[i].code() >= 300) {
        std::fprintf(stderr, "the server answered %d\n", open[i].code());
        std::exit(1);
      }
      ++answered;
      if (sent < count) open[i].send(next(sent++));
    }
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace lockstep::bench
