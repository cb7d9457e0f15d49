#include "kube/http_core.h"

#include <algorithm>
#include <utility>

#include <curl/curl.h>

#include "base/strings.h"
#include "data/json.h"

namespace lockstep::kube {

namespace {

std::string_view method_of(Verb verb) {
  switch (verb) {
    case Verb::get:
    case Verb::list:
      return "GET";
    case Verb::create:
      return "POST";
    case Verb::update:
      return "PUT";
    case Verb::patch:
      return "PATCH";
    case Verb::remove:
    case Verb::remove_collection:
      return "DELETE";
  }
  return "GET";
}

// client-go's rule for a server without a scheme.
bool has_tls_settings(const ClusterConfig& cluster) {
  return cluster.insecure_skip_tls_verify || !cluster.certificate_authority.empty();
}

}  // namespace

std::optional<Duration> parse_retry_after(std::string_view text, Time now) {
  text = trim(text);
  if (text.empty()) return std::nullopt;
  constexpr int64_t longest = 24 * 60 * 60;  // longer is never needed, and a sum must not overflow
  if (auto number = parse_unsigned(text)) {
    return seconds(
        std::min<int64_t>(static_cast<int64_t>(std::min<uint64_t>(*number, longest)), longest));
  }
  const time_t date = curl_getdate(std::string(text).c_str(), nullptr);
  if (date < 0) return std::nullopt;
  return seconds(std::clamp<int64_t>(int64_t{date} - now.unix_seconds(), 0, longest));
}

std::string encode_query(const std::vector<std::pair<std::string, std::string>>& query) {
  std::string text;
  for (const auto& [key, value] : query) {
    if (!text.empty()) text += '&';
    text += url_encode(key) + "=" + url_encode(value);
  }
  return text;
}

Result<std::shared_ptr<HttpCore>> HttpCore::create(HttpApiConfig config,
                                                   std::unique_ptr<Credentials> credentials,
                                                   const Files& files, EventLoop& loop) {
  http::Route route;
  auto endpoint = http::parse_endpoint(config.cluster.server, has_tls_settings(config.cluster));
  if (!endpoint) return fail(endpoint.error().at(config.cluster.origin));
  route.endpoint = std::move(*endpoint);
  route.proxy = config.proxy;
  if (!config.cluster.proxy_url.empty()) {
    auto proxy = http::parse_proxy(config.cluster.proxy_url);
    if (!proxy) return fail(proxy.error().at(config.cluster.origin));
    route.proxy = std::move(*proxy);
  }
  route.verify = !config.cluster.insecure_skip_tls_verify;
  route.tls_server_name = config.cluster.tls_server_name;
  route.http2 = config.http2;
  route.connect_limit = config.connect_limit;
  return std::shared_ptr<HttpCore>(
      new HttpCore(std::move(config), std::move(route), std::move(credentials), files, loop));
}

HttpCore::HttpCore(HttpApiConfig config, http::Route route,
                   std::unique_ptr<Credentials> credentials, const Files& files, EventLoop& loop)
    : loop_(loop),
      config_(std::move(config)),
      route_(std::move(route)),
      certificate_authority_(files, loop, config_.cluster.certificate_authority.data,
                             config_.cluster.certificate_authority.file),
      credentials_(std::move(credentials)),
      transport_(loop) {}

http::Exchange HttpCore::exchange_for(const Request& request, const Identity& identity,
                                      bool is_watch) const {
  http::Exchange exchange;
  exchange.method = method_of(request.verb);
  exchange.target = request.path();
  if (!request.query.empty()) exchange.target += "?" + encode_query(request.query);
  exchange.headers = config_.headers;
  exchange.headers.push_back("Accept: application/json");
  exchange.headers.push_back("User-Agent: " + config_.user_agent);
  if (!identity.authorization.empty()) {
    exchange.headers.push_back("Authorization: " + identity.authorization);
  }
  if (request.body) {
    exchange.body = print_json(*request.body);
    const std::string_view type =
        request.verb == Verb::patch ? content_type(request.patch_type) : "application/json";
    exchange.headers.push_back(fmt::format("Content-Type: {}", type));
  }
  exchange.certificate = identity.certificate;
  exchange.key = identity.key;
  // A proxy would hold a compressed watch in its buffer until there is enough to compress.
  exchange.compressed = !is_watch && !config_.cluster.disable_compression;
  exchange.answer_limit = config_.answer_limit;
  return exchange;
}

Result<http::Client::Id> HttpCore::send(const Request& request, const Identity& identity,
                                        bool is_watch, http::Client::Handlers handlers) {
  auto authority = certificate_authority_.read();
  if (!authority) return fail(authority.error().at("certificate-authority"));
  route_.certificate_authority = std::move(*authority);
  return transport_.start(route_, exchange_for(request, identity, is_watch), std::move(handlers));
}

Error HttpCore::timed_out(http::Client::Id id, Duration limit) const {
  const auto say = [&](std::string_view what) {
    return Error{
        ErrorKind::timed_out,
        fmt::format("{} {} within {}", route_.endpoint.authority(), what, format_duration(limit)),
        {}};
  };
  switch (transport_.progress(id)) {
    case http::Client::Progress::connecting:
      return say("could not be connected to");
    case http::Client::Progress::waiting:
      return say("did not answer");
    case http::Client::Progress::receiving:
      break;
  }
  return say("did not send its whole answer");
}

Response HttpCore::response_of(http::Response answer) const {
  Response response;
  response.code = answer.code;
  if (!answer.body.empty()) response.body = std::move(answer.body);
  response.retry_after = parse_retry_after(answer.retry_after, loop_.now());
  return response;
}

}  // namespace lockstep::kube
