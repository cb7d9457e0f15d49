#include "http/endpoint.h"

#include <memory>
#include <utility>

#include <curl/curl.h>

#include "base/ip_address.h"
#include "base/strings.h"

namespace lockstep::http {

namespace {

struct FreeUrl {
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
};

std::string part_of(CURLU* url, CURLUPart part) {
  char* text = nullptr;
  if (curl_url_get(url, part, &text, CURLU_DEFAULT_PORT) != CURLUE_OK) return {};
  std::string result(text);
  curl_free(text);
  return result;
}

// One entry of NO_PROXY.
bool excludes(std::string_view entry, const Endpoint& endpoint) {
  if (entry.empty()) return false;
  if (entry == "*") return true;
  const auto address = IpAddress::parse(endpoint.host);
  if (address && entry.find('/') != std::string_view::npos) {
    const auto network = IpNetwork::parse(entry);
    return network && network->contains(*address);
  }
  // "host:port", but not the colons of an IPv6 address.
  const size_t colon = entry.rfind(':');
  if (colon != std::string_view::npos && (entry.find(':') == colon || entry[colon - 1] == ']')) {
    const auto port = parse_integer(entry.substr(colon + 1));
    if (!port || *port != endpoint.port) return false;
    entry = entry.substr(0, colon);
  }
  if (entry.starts_with('[') && entry.ends_with(']')) entry = entry.substr(1, entry.size() - 2);
  const std::string host = lower(endpoint.host);
  std::string name = lower(entry);
  if (name.starts_with("*.")) name.erase(0, 1);
  if (host == name) return true;
  if (address) return false;
  if (!name.starts_with('.')) name.insert(0, 1, '.');
  return host.ends_with(name);
}

std::string either_case(const Environment& environment, const std::string& upper_name) {
  for (const std::string& name : {upper_name, lower(upper_name)}) {
    const auto found = environment.find(name);
    if (found != environment.end() && !found->second.empty()) return found->second;
  }
  return {};
}

}  // namespace

std::string Endpoint::authority() const {
  const bool is_ipv6 = host.find(':') != std::string::npos;
  return fmt::format("{}{}{}:{}", is_ipv6 ? "[" : "", host, is_ipv6 ? "]" : "", port);
}

Result<Endpoint> parse_endpoint(const std::string& server, bool tls_if_unsaid) {
  const auto invalid = [&](std::string_view why) {
    return failf(ErrorKind::invalid,
                 "the server {} is not an address like https://10.0.0.1:6443: {}", server, why);
  };
  std::string text(trim(server));
  if (text.find("://") == std::string::npos) {
    text.insert(0, tls_if_unsaid ? "https://" : "http://");
  }
  const std::unique_ptr<CURLU, FreeUrl> url(curl_url());
  if (!url) return fail(ErrorKind::internal, "no memory for a URL");
  const CURLUcode code = curl_url_set(url.get(), CURLUPART_URL, text.c_str(),
                                      CURLU_NON_SUPPORT_SCHEME | CURLU_DISALLOW_USER);
  if (code != CURLUE_OK) return invalid(curl_url_strerror(code));

  Endpoint endpoint;
  const std::string scheme = lower(part_of(url.get(), CURLUPART_SCHEME));
  if (scheme != "https" && scheme != "http") return invalid("it must be http or https");
  endpoint.tls = scheme == "https";
  endpoint.host = part_of(url.get(), CURLUPART_HOST);
  if (endpoint.host.starts_with('[')) {
    endpoint.host = endpoint.host.substr(1, endpoint.host.size() - 2);
  }
  const auto port = parse_integer(part_of(url.get(), CURLUPART_PORT));
  if (endpoint.host.empty() || !port || *port <= 0) return invalid("a host and a port are needed");
  endpoint.port = static_cast<int>(*port);
  if (!part_of(url.get(), CURLUPART_QUERY).empty() ||
      !part_of(url.get(), CURLUPART_FRAGMENT).empty()) {
    return invalid("it must not have a query");
  }
  endpoint.path = part_of(url.get(), CURLUPART_PATH);
  while (endpoint.path.ends_with('/')) endpoint.path.pop_back();
  return endpoint;
}

Result<std::string> parse_proxy(const std::string& url) {
  const size_t scheme_end = url.find("://");
  const std::string scheme =
      scheme_end == std::string::npos ? "" : lower(url.substr(0, scheme_end));
  if (scheme != "http" && scheme != "https" && scheme != "socks5" && scheme != "socks5h") {
    return failf(ErrorKind::invalid, "the proxy {} must begin with http://, https:// or socks5://",
                 url);
  }
  // Go lets a SOCKS proxy resolve names; curl does so only for socks5h.
  if (scheme == "socks5") return "socks5h" + url.substr(scheme_end);
  return url;
}

std::string proxy_from_environment(const Endpoint& endpoint, const Environment& environment) {
  if (is_loopback_host(endpoint.host)) return {};
  std::string proxy = either_case(environment, endpoint.tls ? "HTTPS_PROXY" : "HTTP_PROXY");
  if (proxy.empty()) return {};
  const std::string exclusions = either_case(environment, "NO_PROXY");
  for (std::string_view entry : split(exclusions, ',')) {
    if (excludes(trim(entry), endpoint)) return {};
  }
  if (proxy.find("://") == std::string::npos) proxy.insert(0, "http://");
  auto checked = parse_proxy(proxy);
  return checked ? *checked : proxy;
}

}  // namespace lockstep::http
