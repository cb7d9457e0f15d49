// A whole API server in a thread of this process: for `lockstep apiserver`, demos and tests.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "apiserver/door/front.h"
#include "apiserver/door/http_server.h"
#include "apiserver/verbs/backend.h"
#include "apiserver/verbs/housekeeping.h"
#include "base/result.h"

namespace lockstep::apiserver {

struct EmbeddedOptions {
  std::string address = "127.0.0.1";
  uint16_t port = 0;
  bool tls = false;
  // A client with this token is accepted, besides the holder of the TLS certificate. Empty: one is
  // made. kubectl and client-go send no token over plain HTTP.
  std::string token;
  // Accepts any process of this machine without one: for tests.
  bool open = false;
  HttpOptions http;  // names, limits and intervals; address, port and tls above win
  Options backend;
};

class EmbeddedServer {
 public:
  // Serves when this returns.
  static Result<std::unique_ptr<EmbeddedServer>> start(EmbeddedOptions options);
  ~EmbeddedServer();
  EmbeddedServer(const EmbeddedServer&) = delete;
  EmbeddedServer& operator=(const EmbeddedServer&) = delete;

  std::string url() const;
  uint16_t port() const;
  // Empty: the server is open.
  const std::string& token() const;
  // For kubectl, as its administrator.
  std::string kubeconfig() const;

  // Runs a task on the server's thread and waits for it: to read the store, or to disturb it.
  void with_backend(const std::function<void(Backend&)>& task);
  void drop_connections();
  void disturb(Disturbance disturbance);
  // From now on only this token is accepted.
  void replace_token(const std::string& token);
  RequestCounts counts();

 private:
  struct Impl;
  explicit EmbeddedServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace lockstep::apiserver
