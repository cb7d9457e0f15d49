// HTTP exchanges on the event loop, by libcurl: one thread, connections kept and shared, HTTP/2
// where it is offered. Knows nothing of Kubernetes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "http/address_guard.h"
#include "http/endpoint.h"
#include "world/event_loop.h"

namespace lockstep::http {

// How to reach a server; the same for many exchanges.
struct Route {
  Endpoint endpoint;
  std::string proxy;                                         // a URL; empty: none
  std::shared_ptr<const std::string> certificate_authority;  // PEM; null: the system's
  bool verify = true;
  std::string tls_server_name;  // empty: the endpoint's host
  bool http2 = true;
  Duration connect_limit = seconds(10);
  bool from_kubeconfig = true;  // for the advice in errors
  // Null: every address may be connected to. The same for all exchanges of a transport, whose
  // connections are shared.
  std::shared_ptr<const AddressGuard> guard = nullptr;
};

struct Exchange {
  std::string method = "GET";
  std::string target;  // path and query, encoded
  std::vector<std::string> headers;
  std::string body;
  std::shared_ptr<const std::string> certificate;  // our own, PEM; null: none
  std::shared_ptr<const std::string> key;
  bool compressed = true;                   // offer gzip
  std::vector<std::string> wanted_headers;  // of the answer, in lower case
  size_t answer_limit = 256 << 20;
};

struct Response {
  int code = 0;
  std::string body;  // empty when it was streamed
  std::string retry_after;
  // Those that were wanted, in the order in which they came; names in lower case.
  std::vector<std::pair<std::string, std::string>> headers;
};

class Client {
 public:
  using Id = uint64_t;

  struct Handlers {
    // The body of a 2xx answer as it arrives; without this it is collected.
    std::function<void(std::string_view)> on_body;
    // Once, last. An error: no answer, or not all of it.
    std::function<void(Result<Response>)> on_done;
  };

  // What an exchange is at, to say why it took too long.
  enum class Progress { connecting, waiting, receiving };

  explicit Client(EventLoop& loop);
  // Ends what is in flight; no handler runs any more. Allowed inside a handler.
  ~Client();

  // Handlers run later, on the loop.
  Id start(const Route& route, Exchange exchange, Handlers handlers);
  // No handler runs after this. Harmless when it has ended. Allowed inside a handler.
  void cancel(Id id);
  Progress progress(Id id) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lockstep::http
