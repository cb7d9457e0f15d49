// The API server's HTTP entry: authentication, the requests to Front, and watches as streams. The
// sockets are http/server's.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apiserver/door/front.h"
#include "apiserver/door/identity.h"
#include "base/result.h"
#include "world/event_loop.h"
#include "world/log.h"

namespace lockstep::apiserver {

struct HttpOptions {
  std::string address = "127.0.0.1";
  uint16_t port = 0;  // 0: a free one
  // Names and addresses, besides loopback's and the one above, under which clients may ask for it.
  std::vector<std::string> hosts;
  std::optional<TlsIdentity> tls;
  // Compresses long answers for clients that take it. Off: on loopback it only costs time.
  bool gzip = false;
  size_t body_limit = 3 << 20;  // as the real server
  size_t connection_limit = 10'000;
  // Bytes on their way to watches, in total. Beyond it, the watch that has not read for longest is
  // ended, and new ones must come back later.
  size_t watch_memory = 256 << 20;
  Duration request_limit = seconds(30);  // to send a whole request
  Duration idle_limit = minutes(5);      // between two
  Duration write_limit = seconds(60);    // for a client to take a piece
  Duration bookmark_interval = minutes(1);
};

class HttpServer {
 public:
  // Listens at once. Everything runs on the loop's thread; construct and destroy it there or while
  // the loop does not run.
  static Result<std::unique_ptr<HttpServer>> listen(EventLoop& loop, Log& log, Backend& backend,
                                                    Front& front, Authenticator authenticator,
                                                    HttpOptions options);
  virtual ~HttpServer() = default;
  virtual uint16_t port() const = 0;
  virtual size_t connections() const = 0;
  // Cuts every open connection, as a restart or a broken network would: for tests.
  virtual void drop_connections() = 0;
  // The accepted users, from the next request on.
  virtual Authenticator& authenticator() = 0;
};

}  // namespace lockstep::apiserver
