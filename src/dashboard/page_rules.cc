#include "dashboard/page_rules.h"

#include <utility>

#include <fmt/format.h>

#include "base/strings.h"
#include "data/json.h"

namespace lockstep::dashboard {

namespace {

// "localhost" of "localhost:8640", "[::1]" of "[::1]:8640".
std::string_view without_port(std::string_view host) {
  size_t colon = host.rfind(':');
  size_t bracket = host.rfind(']');
  bool has_port = colon != std::string_view::npos &&
                  (bracket == std::string_view::npos ? host.find(':') == colon : colon > bracket);
  return has_port ? host.substr(0, colon) : host;
}

bool is_own_name(std::string_view host) {
  std::string name = lower(without_port(host));
  return name == "localhost" || name == "127.0.0.1" || name == "[::1]";
}

}  // namespace

int refusal_of(const http::Request& request, bool loopback) {
  const std::string_view host = request.header("host");
  if (loopback && !is_own_name(host)) return 421;
  if (request.method == "GET" || request.method == "HEAD") return 0;
  if (request.method != "POST") return 405;
  if (request.header(intent_header).empty()) return 403;
  // Browsers say where a change comes from; other clients have no user's cookies to abuse.
  const std::string_view origin = request.header("origin");
  if (!origin.empty() && origin != fmt::format("http://{}", host) &&
      origin != fmt::format("https://{}", host)) {
    return 403;
  }
  const std::string_view site = request.header("sec-fetch-site");
  return site.empty() || site == "same-origin" ? 0 : 403;
}

std::string_view token_of(const http::Request& request) {
  constexpr std::string_view scheme = "bearer ";
  const std::string_view value = request.header("authorization");
  if (!equal_ignoring_case(value.substr(0, scheme.size()), scheme)) return {};
  return trim(value.substr(scheme.size()));
}

http::Answer json_answer(std::string body) {
  http::Answer answer;
  answer.content_type = "application/json";
  answer.headers = {{"Cache-Control", "no-store"}};
  answer.body = std::move(body);
  return answer;
}

http::Answer refuse_page(int code, std::string_view why) {
  http::Answer answer =
      json_answer(print_json(JsonObject{{"error", why.empty() ? http::phrase_of(code) : why}}));
  answer.code = code;
  return answer;
}

http::ServerOptions page_server_options() {
  http::ServerOptions options;
  options.head_bytes = 16 << 10;
  options.body_bytes = 16 << 10;
  options.connections = 1024;
  options.connections_per_address = 512;
  options.request_limit = seconds(10);
  options.answer_limit = seconds(60);
  options.write_limit = seconds(10);
  options.keep_alive = false;
  options.refuse = refuse_page;
  // What other pages must not do with ours: load it, frame it, or read it.
  options.headers = {
      {"Content-Security-Policy",
       "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src "
       "'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
      {"X-Frame-Options", "DENY"},
      {"X-Content-Type-Options", "nosniff"},
      {"Referrer-Policy", "no-referrer"},
      {"Cross-Origin-Opener-Policy", "same-origin"},
      {"Cross-Origin-Resource-Policy", "same-origin"}};
  return options;
}

}  // namespace lockstep::dashboard
