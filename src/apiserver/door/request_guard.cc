#include "apiserver/door/request_guard.h"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

#include "base/ip_address.h"
#include "base/strings.h"

namespace lockstep::apiserver {

namespace {

struct Host {
  std::string name;  // in lower case, an IPv6 address without brackets
  std::optional<uint64_t> port;
};

// "localhost:8080", "[::1]:8080", "10.0.0.1". Nothing when it is neither.
std::optional<Host> read_host(std::string_view text) {
  Host host;
  std::string_view rest;
  if (text.starts_with('[')) {
    const size_t close = text.find(']');
    if (close == std::string_view::npos) return std::nullopt;
    host.name = lower(text.substr(1, close - 1));
    rest = text.substr(close + 1);
  } else {
    const size_t colon = text.find(':');
    host.name = lower(text.substr(0, colon));
    rest = colon == std::string_view::npos ? std::string_view() : text.substr(colon);
  }
  if (host.name.empty()) return std::nullopt;
  if (rest.empty()) return host;
  host.port = rest.starts_with(':') ? parse_unsigned(rest.substr(1)) : std::nullopt;
  if (!host.port || *host.port > 65535) return std::nullopt;
  return host;
}

bool is_own(const RequestGuard& guard, std::string_view text) {
  const auto host = read_host(text);
  if (!host || host->port.value_or(80) != guard.port) return false;
  return is_loopback_host(host->name) ||
         std::any_of(guard.hosts.begin(), guard.hosts.end(),
                     [&](const std::string& name) { return lower(name) == host->name; });
}

StatusError refusal(int code, std::string_view reason, std::string message) {
  StatusError error;
  error.code = code;
  error.reason = reason;
  error.message = std::move(message);
  return error;
}

// The scheme and host that a page came from are those that it asks.
bool is_same_origin(const RequestGuard& guard, const RequestSource& source) {
  if (!source.fetch_site.empty() && source.fetch_site != "same-origin" &&
      source.fetch_site != "none")
    return false;
  if (source.origin.empty()) return true;
  for (std::string_view scheme : {std::string_view("http://"), std::string_view("https://")}) {
    if (!source.origin.starts_with(scheme)) continue;
    const std::string_view from = source.origin.substr(scheme.size());
    return guard.any_host ? from == source.host : is_own(guard, from);
  }
  return false;
}

bool is_known_type(std::string_view content_type) {
  constexpr std::array<std::string_view, 8> known = {"application/json",
                                                     "application/yaml",
                                                     "application/vnd.kubernetes.protobuf",
                                                     "application/json-patch+json",
                                                     "application/merge-patch+json",
                                                     "application/strategic-merge-patch+json",
                                                     "application/apply-patch+yaml",
                                                     "application/apply-patch+cbor"};
  const std::string name = lower(trim(content_type.substr(0, content_type.find(';'))));
  return std::find(known.begin(), known.end(), name) != known.end();
}

}  // namespace

Outcome<void> check_source(const RequestGuard& guard, const RequestSource& source) {
  if (!guard.any_host && !is_own(guard, source.host)) {
    return Refusal(refusal(
        421, "MisdirectedRequest",
        fmt::format("host {} is not a name of this server; use 127.0.0.1:{}, or start the server "
                    "with --host NAME",
                    go_quote(source.host), guard.port)));
  }
  if (!is_same_origin(guard, source)) {
    return Refusal(
        refusal(403, "Forbidden",
                fmt::format("requests of pages from {} are refused",
                            source.origin.empty() ? "another site" : go_quote(source.origin))));
  }
  if (source.has_body && !is_known_type(source.content_type)) {
    return Refusal(unsupported_media_type(
        source.content_type,
        {"application/json", "application/yaml", "application/vnd.kubernetes.protobuf"}));
  }
  return {};
}

}  // namespace lockstep::apiserver
