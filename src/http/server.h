// The one HTTP server: HTTP/1.1 on the process's own EventLoop, with or without TLS, for the API
// server, the dashboard and what a process says about itself. A handler answers a request now or
// later, whole, in pieces, or by a stream that lives as long as its client.
//
// Everything is bounded: heads, bodies, connections (also of one client's address), what waits for
// clients that do not read, and how long each step may take. Where there are too many connections,
// those that ask nothing go first, then those that do not take their answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "http/message.h"
#include "http/tls.h"
#include "world/event_loop.h"
#include "world/log.h"

namespace lockstep::http {

struct ServerOptions {
  std::optional<TlsOptions> tls;
  size_t head_bytes = 64 << 10;
  size_t body_bytes = 3 << 20;
  size_t connections = 10'000;
  size_t connections_per_address = 0;  // 0: no limit of their own
  // What is on its way in streams, all together: beyond it, the one that has not read for longest
  // is ended.
  size_t stream_bytes = 256 << 20;
  Duration request_limit = seconds(30);  // to send a whole request, or to shake hands
  Duration idle_limit = minutes(5);      // between two
  Duration answer_limit{0};              // for the handler to answer; 0: none
  Duration write_limit = seconds(60);    // for the client to take an answer, or a piece of it
  bool keep_alive = true;                // false: one request a connection
  // Compresses long answers for clients that take it. On loopback it only costs time.
  bool gzip = false;
  Headers headers;  // of every answer
  // What a request that cannot be read, or failed in the handler, is answered with.
  std::function<Answer(int code, std::string_view why)> refuse = plain_answer;
};

class Server {
 public:
  // Once. Harmless when the client, or the server, is gone.
  using Respond = std::function<void(Answer)>;
  using Handler = std::function<void(Request, Respond)>;

  // `address`: "127.0.0.1:8080", "[::1]:8080", ":8080" for all addresses; port 0 takes a free one.
  // Everything runs on the loop's thread; construct and destroy it there, or while it does not run.
  static Result<std::unique_ptr<Server>> listen(EventLoop& loop, Log& log,
                                                const std::string& address, Handler handler,
                                                ServerOptions options = {});
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  uint16_t port() const;
  // Only this machine reaches it.
  bool is_loopback() const;
  size_t connections() const;
  size_t streams() const;
  // On their way in streams.
  size_t stream_bytes() const;
  // Cuts every connection, as a restart or a broken network would: for tests.
  void drop_connections();

 private:
  class Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace lockstep::http
