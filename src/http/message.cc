#include "http/message.h"

#include <array>
#include <ctime>

#include <fmt/format.h>

#include "base/strings.h"

namespace lockstep::http {

std::string_view Request::header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (key == name) return value;
  }
  return {};
}

std::string_view Request::path() const {
  std::string_view path = target;
  for (std::string_view scheme : {std::string_view("http://"), std::string_view("https://")}) {
    if (!path.starts_with(scheme)) continue;
    const size_t slash = path.find('/', scheme.size());
    path = slash == std::string_view::npos ? "/" : path.substr(slash);
    break;
  }
  return path.substr(0, path.find_first_of("?#"));
}

std::string_view Request::query() const {
  const std::string_view text = std::string_view(target).substr(0, target.find('#'));
  const size_t mark = text.find('?');
  return mark == std::string_view::npos ? std::string_view() : text.substr(mark + 1);
}

std::string Request::parameter(std::string_view name) const {
  for (std::string_view pair : split(query(), '&')) {
    const size_t equals = pair.find('=');
    if (pair.substr(0, equals) != name) continue;
    if (equals == std::string_view::npos) return {};
    return url_decode(pair.substr(equals + 1), true).value_or("");
  }
  return {};
}

bool Request::accepts_gzip() const {
  return header("accept-encoding").find("gzip") != std::string_view::npos;
}

std::string_view phrase_of(int code) {
  switch (code) {
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 202:
      return "Accepted";
    case 204:
      return "No Content";
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
    case 406:
      return "Not Acceptable";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 410:
      return "Gone";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 421:
      return "Misdirected Request";
    case 422:
      return "Unprocessable Entity";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 502:
      return "Bad Gateway";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "Status";
  }
}

Answer plain_answer(int code, std::string_view why) {
  Answer answer;
  answer.code = code;
  answer.body = fmt::format("{}\n", why.empty() ? phrase_of(code) : why);
  return answer;
}

std::string http_date(int64_t unix_seconds) {
  const std::time_t time = unix_seconds;
  std::tm parts{};
  gmtime_r(&time, &parts);
  std::array<char, 64> text{};
  return {text.data(),
          std::strftime(text.data(), text.size(), "%a, %d %b %Y %H:%M:%S GMT", &parts)};
}

}  // namespace lockstep::http
