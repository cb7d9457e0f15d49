#include "dashboard/page_request.h"

#include <fmt/format.h>

#include "base/strings.h"
#include "data/json.h"

namespace lockstep::dashboard {

namespace {

std::string_view phrase_of(int code) {
  switch (code) {
    case 200:
      return "OK";
    case 304:
      return "Not Modified";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 409:
      return "Conflict";
    case 413:
      return "Content Too Large";
    case 421:
      return "Misdirected Request";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 502:
      return "Bad Gateway";
    case 503:
      return "Service Unavailable";
    default:
      return "Status";
  }
}

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

// What other pages must not do with ours: load it, frame it, or read it.
constexpr std::string_view protection =
    "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'\r\n"
    "X-Frame-Options: DENY\r\n"
    "X-Content-Type-Options: nosniff\r\n"
    "Referrer-Policy: no-referrer\r\n"
    "Cross-Origin-Opener-Policy: same-origin\r\n"
    "Cross-Origin-Resource-Policy: same-origin\r\n";

}  // namespace

std::string PageRequest::parameter(std::string_view name) const {
  for (std::string_view pair : split(head.query, '&')) {
    size_t equals = pair.find('=');
    if (pair.substr(0, equals) != name) continue;
    if (equals == std::string_view::npos) return {};
    return url_decode(pair.substr(equals + 1), true).value_or("");
  }
  return {};
}

bool PageRequest::takes_gzip() const {
  return head.header("accept-encoding").find("gzip") != std::string_view::npos;
}

std::string_view PageRequest::token() const {
  constexpr std::string_view scheme = "bearer ";
  std::string_view value = head.header("authorization");
  if (!equal_ignoring_case(value.substr(0, scheme.size()), scheme)) return {};
  return trim(value.substr(scheme.size()));
}

PageAnswer PageAnswer::json(std::string body) {
  PageAnswer answer;
  answer.body = std::move(body);
  return answer;
}

PageAnswer PageAnswer::refuse(int code, std::string_view why) {
  PageAnswer answer = json(print_json(JsonObject{{"error", why}}));
  answer.code = code;
  return answer;
}

int refusal_of(const PageRequest& request, bool loopback) {
  if (request.head.refusal != 0) return request.head.refusal;
  std::string_view host = request.head.header("host");
  if (loopback && !is_own_name(host)) return 421;
  const std::string& method = request.head.method;
  if (method == "GET" || method == "HEAD") return 0;
  if (method != "POST") return 405;
  if (request.head.header(intent_header).empty()) return 403;
  // Browsers say where a change comes from; what is no browser has nobody's cookies to abuse.
  std::string_view origin = request.head.header("origin");
  if (!origin.empty() && origin != fmt::format("http://{}", host) &&
      origin != fmt::format("https://{}", host)) {
    return 403;
  }
  std::string_view site = request.head.header("sec-fetch-site");
  if (!site.empty() && site != "same-origin") return 403;
  return 0;
}

std::string print_head(const PageAnswer& answer, const size_t* length) {
  std::string text =
      fmt::format("HTTP/1.1 {} {}\r\nContent-Type: {}\r\nConnection: close\r\n{}", answer.code,
                  phrase_of(answer.code), answer.content_type, protection);
  bool says_caching = false;
  for (const auto& [name, value] : answer.headers) {
    says_caching = says_caching || name == "Cache-Control";
    text += fmt::format("{}: {}\r\n", name, value);
  }
  if (!says_caching) text += "Cache-Control: no-store\r\n";
  if (length != nullptr) text += fmt::format("Content-Length: {}\r\n", *length);
  return text + "\r\n";
}

}  // namespace lockstep::dashboard
