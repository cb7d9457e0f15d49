// Where an API server is: the parts of a kubeconfig's `server`, and the proxy on the way.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace lockstep::http {

using Environment = std::map<std::string, std::string>;

struct Endpoint {
  bool tls = true;
  std::string host;  // an IPv6 address has no brackets here
  int port = 443;
  std::string path;  // "" or "/k8s/clusters/c-1": goes before every request's path

  // "host:port", brackets added where needed.
  std::string authority() const;
  bool operator==(const Endpoint&) const = default;
};

// "https://10.0.0.1:6443/prefix/". Without a scheme it is https when `tls_if_unsaid`, else http.
Result<Endpoint> parse_endpoint(const std::string& server, bool tls_if_unsaid);

// The proxy for this endpoint as Go finds it: HTTPS_PROXY or HTTP_PROXY (upper or lower case)
// unless NO_PROXY names the host: "*", "example.com" (and below it), ".example.com", "10.0.0.0/8",
// "10.1.2.3", each perhaps with ":port". Empty: none. This machine itself is never proxied.
std::string proxy_from_environment(const Endpoint& endpoint, const Environment& environment);

// A kubeconfig's proxy-url, as curl wants it.
Result<std::string> parse_proxy(const std::string& url);

}  // namespace lockstep::http
