// A browser's side of one connection, for tests of the dashboard's server.
#pragma once

#include <arpa/inet.h>
#include <array>
#include <functional>
#include <netinet/in.h>
#include <string>
#include <string_view>
#include <sys/socket.h>

#include "base/patience_test_util.h"
#include "base/time.h"
#include "world/descriptor.h"
#include "world/event_loop.h"

namespace lockstep::dashboard {

// Far longer than anything here takes: only a broken server reaches it.
inline constexpr Duration patience = test_patience;

class PageClient {
 public:
  PageClient(EventLoop& loop, uint16_t port)
      : loop_(loop), socket_(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connect(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address);
  }

  void say(std::string_view text) {
    size_t sent = 0;
    loop_.run_until(
        [&] {
          ssize_t size =
              ::send(socket_.get(), text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
          if (size > 0) sent += static_cast<size_t>(size);
          return sent == text.size();
        },
        patience);
  }
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
  const std::string& heard() const { return heard_; }
  void leave() { socket_ = Descriptor(); }

  static std::string ask(EventLoop& loop, uint16_t port, std::string_view request) {
    PageClient client(loop, port);
    client.say(request);
    return client.rest();
  }

 private:
  void hear(const std::function<bool()>& done) {
    // The loop looks again when something has happened: what comes to us counts, too.
    loop_.watch_descriptor(socket_.get(), true, false, [](EventLoop::Readiness) {});
    loop_.run_until(
        [&] {
          std::array<char, 4096> buffer{};
          ssize_t size = recv(socket_.get(), buffer.data(), buffer.size(), 0);
          if (size == 0) ended_ = true;
          if (size > 0) heard_.append(buffer.data(), static_cast<size_t>(size));
          return done();
        },
        patience);
    loop_.unwatch_descriptor(socket_.get());
  }

  EventLoop& loop_;
  Descriptor socket_;
  std::string heard_;
  bool ended_ = false;
};

}  // namespace lockstep::dashboard
