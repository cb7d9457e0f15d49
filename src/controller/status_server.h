// A small HTTP/1.1 server for what a process says about itself: /metrics, /healthz, /readyz. One
// request per connection, on the process's own EventLoop; a client that is slow, silent or rude
// costs a descriptor for a few seconds and nothing else.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "controller/listening_socket.h"
#include "world/descriptor.h"
#include "world/event_loop.h"
#include "world/log.h"

namespace lockstep::controller {

struct StatusAnswer {
  int code = 200;
  std::string body;
  std::string content_type = "text/plain; charset=utf-8";
};

struct StatusServerOptions {
  size_t request_bytes = 8 * 1024;  // request line and headers
  // When all are taken, the oldest makes room: a probe must get through although somebody holds
  // connections open.
  size_t connections = 64;
  Duration time_limit = seconds(10);  // of one connection, from its beginning to its end
};

class StatusServer {
 public:
  // The path without the query.
  using Handler = std::function<StatusAnswer(const std::string& path)>;
  using Handlers = std::map<std::string, Handler, std::less<>>;

  // `address`: "127.0.0.1:8080", "[::1]:8080", ":8080" for all addresses; port 0 takes a free one.
  static Result<std::unique_ptr<StatusServer>> listen(EventLoop& loop, Log& log,
                                                      const std::string& address, Handlers handlers,
                                                      StatusServerOptions options = {});
  ~StatusServer();
  StatusServer(const StatusServer&) = delete;
  StatusServer& operator=(const StatusServer&) = delete;

  uint16_t port() const { return acceptor_.port(); }
  size_t connections() const { return connections_.size(); }

 private:
  struct Connection {
    Descriptor socket;
    std::string input;
    std::string output;
    size_t sent = 0;
    bool answered = false;
    // All is sent; what the client still says is read and thrown away, because closing with unread
    // data would reset the connection and take the answer away from the client.
    bool ending = false;
    TimerId timer = 0;
  };

  StatusServer(EventLoop& loop, Log& log, Descriptor socket, Handlers handlers,
               StatusServerOptions options);
  void begin(Descriptor socket);
  void on_ready(uint64_t number);
  bool receive(Connection& connection);
  void answer(Connection& connection);
  StatusAnswer respond(const std::string& method, const std::string& path, std::string& extra);
  bool send(uint64_t number, Connection& connection);
  void watch(uint64_t number, const Connection& connection, bool write);
  void close(uint64_t number);

  EventLoop& loop_;
  Log& log_;
  Handlers handlers_;
  StatusServerOptions options_;
  std::map<uint64_t, Connection> connections_;  // by number, the oldest first
  uint64_t next_number_ = 1;
  Scope scope_;
  // The last: it calls us.
  Acceptor acceptor_;
};

}  // namespace lockstep::controller
