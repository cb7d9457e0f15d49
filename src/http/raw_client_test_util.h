// One connection to a server of this process, byte by byte: what a browser, or a broken or hostile
// client does. Runs on the server's own loop.
#pragma once

#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <functional>
#include <netinet/in.h>
#include <string>
#include <string_view>
#include <sys/socket.h>

#include "base/patience_test_util.h"
#include "base/strings.h"
#include "base/time.h"
#include "world/descriptor.h"
#include "world/event_loop.h"

namespace lockstep::http::testing {

class RawClient {
 public:
  // A small `receive_buffer` makes it slow.
  RawClient(EventLoop& loop, uint16_t port, int receive_buffer = 0)
      : loop_(loop), socket_(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) {
    if (receive_buffer > 0) {
      setsockopt(socket_.get(), SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    }
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connect(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address);
  }

  // The whole of it, as fast as the server takes it; false: it did not.
  bool say(std::string_view text) {
    return loop_.run_until(
        [&] {
          const ssize_t size = ::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL);
          if (size > 0) text.remove_prefix(static_cast<size_t>(size));
          if (size < 0 && errno != EAGAIN && errno != ENOTCONN) text = {};
          return text.empty();
        },
        test_patience);
  }
  void finish_saying() const { shutdown(socket_.get(), SHUT_WR); }
  // Everything up to the end of the connection.
  std::string rest() {
    hear([this] { return ended_; });
    return heard_;
  }
  // Until the text has come; false: the connection ended without.
  bool hear_of(std::string_view text) {
    hear([&] { return ended_ || heard_.find(text) != std::string::npos; });
    return heard_.find(text) != std::string::npos;
  }
  // Takes what there is; true when the server has ended the connection.
  bool hear_now() {
    std::array<char, 65536> buffer{};
    while (!ended_) {
      const ssize_t size = recv(socket_.get(), buffer.data(), buffer.size(), 0);
      if (size > 0) {
        heard_.append(buffer.data(), static_cast<size_t>(size));
        continue;
      }
      if (size < 0 && (errno == EAGAIN || errno == EINTR || errno == ENOTCONN)) break;
      ended_ = true;
      broken_ = size < 0;
    }
    return ended_;
  }
  const std::string& heard() const { return heard_; }
  void forget_heard() { heard_.clear(); }
  // The connection was reset: an answer may have been lost.
  bool broken() const { return broken_; }
  void leave() { socket_ = Descriptor(); }

  static std::string ask(EventLoop& loop, uint16_t port, std::string_view request) {
    RawClient client(loop, port);
    client.say(request);
    return client.rest();
  }

 private:
  void hear(const std::function<bool()>& done) {
    // Wakes the loop when something has happened, which includes data that arrives for us.
    loop_.watch_descriptor(socket_.get(), true, false, [](EventLoop::Readiness) {});
    loop_.run_until(
        [&] {
          hear_now();
          return done();
        },
        test_patience);
    loop_.unwatch_descriptor(socket_.get());
  }

  EventLoop& loop_;
  Descriptor socket_;
  std::string heard_;
  bool ended_ = false;
  bool broken_ = false;
};

// Of an answer; 0: no answer.
inline int code_of(std::string_view answer) {
  return answer.size() < 12 ? 0 : static_cast<int>(parse_integer(answer.substr(9, 3)).value_or(0));
}
inline std::string body_of(std::string_view answer) {
  const size_t end = answer.find("\r\n\r\n");
  return end == std::string_view::npos ? std::string() : std::string(answer.substr(end + 4));
}

}  // namespace lockstep::http::testing
