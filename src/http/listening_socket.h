// A socket that listens on an address as users write it, for the small servers of a process.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/ip_address.h"
#include "base/result.h"
#include "world/descriptor.h"
#include "world/event_loop.h"
#include "world/log.h"

namespace lockstep::http {

// "127.0.0.1:8080", "[::1]:8080", ":8080" for all addresses; port 0 takes a free one.
Result<Descriptor> listen_at(const std::string& address);
// Where a socket that listens there is reached: ":8080" at every address of this machine.
Result<std::vector<IpAddress>> addresses_of_listener(const std::string& address);
uint16_t port_of(const Descriptor& socket);
// Only this machine reaches it.
bool is_loopback(const Descriptor& socket);

// Accepts every connection to a listening socket. Without free descriptors it waits: the others
// stay in line, and asking again at once would only spin.
class Acceptor {
 public:
  using Guest = std::function<void(Descriptor)>;
  // `who` is for the log: "status connections".
  Acceptor(EventLoop& loop, Log& log, Descriptor socket, std::string who, Guest guest);
  ~Acceptor();
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

  uint16_t port() const { return port_of(socket_); }
  bool loopback() const { return is_loopback(socket_); }

 private:
  void watch();
  void accept_all();

  EventLoop& loop_;
  Log& log_;
  Descriptor socket_;
  std::string who_;
  Guest guest_;
  Scope scope_;
};

}  // namespace lockstep::http
