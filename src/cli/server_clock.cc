#include "cli/server_clock.h"

#include <ctime>
#include <optional>

#include "http/client.h"

namespace lockstep::cli {

namespace {

Result<http::Route> route_to(ClusterSession& session) {
  const kube::ClusterConfig& cluster = session.connection.target.cluster;
  http::Route route;
  LOCKSTEP_TRY(route.endpoint, http::parse_endpoint(cluster.server, true));
  route.proxy = http::proxy_from_environment(route.endpoint, system_environment());
  if (!cluster.proxy_url.empty()) {
    LOCKSTEP_TRY(route.proxy, http::parse_proxy(cluster.proxy_url));
  }
  std::string authority = cluster.certificate_authority.data;
  if (authority.empty() && !cluster.certificate_authority.file.empty()) {
    LOCKSTEP_TRY(authority, session.files.read(cluster.certificate_authority.file));
  }
  if (!authority.empty()) {
    route.certificate_authority = std::make_shared<const std::string>(std::move(authority));
  }
  route.verify = !cluster.insecure_skip_tls_verify;
  route.tls_server_name = cluster.tls_server_name;
  return route;
}

// "Sun, 06 Nov 1994 08:49:37 GMT", the one form that servers send.
std::optional<Time> parse_http_date(const std::string& text) {
  std::tm parts = {};
  const char* end = strptime(text.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
  if (end == nullptr || *end != '\0') return std::nullopt;
  return Time::from_unix(timegm(&parts));
}

}  // namespace

Result<Duration> server_ahead(ClusterSession& session) {
  LOCKSTEP_TRY(const http::Route route, route_to(session));
  http::Client transport(session.loop);
  http::Exchange exchange;
  exchange.target = "/version";
  exchange.headers = {"Accept: application/json"};
  exchange.wanted_headers = {"date"};
  std::optional<Result<http::Response>> answer;
  Time asked = session.loop.now();
  http::Client::Handlers handlers;
  handlers.on_done = [&](Result<http::Response> arrived) { answer = std::move(arrived); };
  transport.start(route, std::move(exchange), std::move(handlers));
  session.loop.run_until([&] { return answer.has_value(); }, seconds(15));
  if (!answer) return fail(ErrorKind::timed_out, "the API server did not answer");
  if (!*answer) return fail(answer->error());
  // Any code will do: a refusal has the time, too.
  for (const auto& [name, value] : (*answer)->headers) {
    if (name != "date") continue;
    auto date = parse_http_date(value);
    if (!date) return failf(ErrorKind::invalid, "the server's Date is \"{}\"", value);
    // The answer was made between the question and now, and its date is cut to seconds.
    Time now = session.loop.now();
    if (*date + seconds(1) < asked) return *date + seconds(1) - asked;
    if (*date > now) return *date - now;
    return Duration::zero();
  }
  return fail(ErrorKind::unsupported, "the API server does not report its time");
}

}  // namespace lockstep::cli
