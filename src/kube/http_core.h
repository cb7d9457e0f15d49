// What calls and watches over HTTP share: the route to the server, our identity, and how a Request
// becomes bytes.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "http/client.h"
#include "kube/api.h"
#include "kube/content_source.h"
#include "kube/credentials.h"
#include "kube/kubeconfig.h"
#include "world/event_loop.h"
#include "world/files.h"

namespace lockstep::kube {

struct HttpApiConfig {
  ClusterConfig cluster;
  std::string proxy;                 // when the cluster names none; empty: none
  std::vector<std::string> headers;  // sent with every request: impersonation
  std::string user_agent = "lockstep";
  size_t in_flight_limit = 64;         // calls; watches are not counted
  size_t answer_limit = 256 << 20;     // bytes, after decompression
  size_t event_limit = 32 << 20;       // bytes of one watch event
  Duration watch_grace = seconds(30);  // past its agreed end a watch may last this long
  Duration connect_limit = seconds(10);
  bool http2 = true;
};

class HttpCore {
 public:
  static Result<std::shared_ptr<HttpCore>> create(HttpApiConfig config,
                                                  std::unique_ptr<Credentials> credentials,
                                                  const Files& files, EventLoop& loop);

  // Sends the request as this identity.
  Result<http::Client::Id> send(const Request& request, const Identity& identity, bool is_watch,
                                http::Client::Handlers handlers);
  // Why the exchange did not end in time.
  Error timed_out(http::Client::Id id, Duration limit) const;
  Response response_of(http::Response answer) const;

  EventLoop& loop() { return loop_; }
  Credentials& credentials() { return *credentials_; }
  http::Client& transport() { return transport_; }
  const HttpApiConfig& config() const { return config_; }

 private:
  HttpCore(HttpApiConfig config, http::Route route, std::unique_ptr<Credentials> credentials,
           const Files& files, EventLoop& loop);
  http::Exchange exchange_for(const Request& request, const Identity& identity,
                              bool is_watch) const;

  EventLoop& loop_;
  HttpApiConfig config_;
  http::Route route_;
  ContentSource certificate_authority_;
  std::unique_ptr<Credentials> credentials_;
  http::Client transport_;
};

// "120", or an HTTP date; nothing when it is neither.
std::optional<Duration> parse_retry_after(std::string_view text, Time now);

// "a=b&c=d", encoded.
std::string encode_query(const std::vector<std::pair<std::string, std::string>>& query);

}  // namespace lockstep::kube
