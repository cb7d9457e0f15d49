#include "controller/http_request_head.h"

#include <algorithm>

#include "base/strings.h"

namespace lockstep::controller {

namespace {

bool is_token(std::string_view text) {
  constexpr std::string_view marks = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           marks.find(c) != std::string_view::npos;
  });
}

RequestHead refuse(int code) {
  RequestHead head;
  head.refusal = code;
  return head;
}

std::string_view without_return(std::string_view line) {
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return line;
}

// "/metrics" of "/metrics?x=1" and of "http://host/metrics".
std::string_view path_of(std::string_view target) {
  constexpr std::string_view scheme = "http://";
  if (target.substr(0, scheme.size()) == scheme) {
    size_t slash = target.find('/', scheme.size());
    target = slash == std::string_view::npos ? "/" : target.substr(slash);
  }
  return target.substr(0, target.find_first_of("?#"));
}

std::string_view query_of(std::string_view target) {
  target = target.substr(0, target.find('#'));
  size_t mark = target.find('?');
  return mark == std::string_view::npos ? std::string_view() : target.substr(mark + 1);
}

bool has_control(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f;
  });
}

}  // namespace

std::string_view RequestHead::header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (key == name) return value;
  }
  return {};
}

std::optional<size_t> end_of_head(std::string_view text) {
  size_t line = text.find('\n');
  while (line != std::string_view::npos) {
    std::string_view rest = text.substr(line + 1);
    if (rest.substr(0, 1) == "\n") return line + 2;
    if (rest.substr(0, 2) == "\r\n") return line + 3;
    line = text.find('\n', line + 1);
  }
  return std::nullopt;
}

RequestHead parse_request_head(std::string_view text) {
  auto lines = split(text, '\n');
  auto words = split(without_return(lines[0]), ' ');
  if (words.size() != 3 || !is_token(words[0]) || words[1].empty() || has_control(words[1])) {
    return refuse(400);
  }
  std::string_view version = words[2];
  if (version.substr(0, 5) != "HTTP/") return refuse(400);
  if (version != "HTTP/1.1" && version != "HTTP/1.0") return refuse(505);
  RequestHead head;
  for (size_t i = 1; i < lines.size(); ++i) {
    std::string_view line = without_return(lines[i]);
    if (line.empty()) break;
    size_t colon = line.find(':');
    if (colon == std::string_view::npos || !is_token(line.substr(0, colon)) || has_control(line)) {
      return refuse(400);
    }
    head.headers.emplace_back(lower(line.substr(0, colon)), trim(line.substr(colon + 1)));
  }
  auto hosts = std::count_if(head.headers.begin(), head.headers.end(),
                             [](const auto& header) { return header.first == "host"; });
  if (hosts > 1 || (hosts == 0 && version == "HTTP/1.1")) return refuse(400);
  std::string_view path = path_of(words[1]);
  if (path.empty() || path.front() != '/') return refuse(400);
  head.method = words[0];
  head.path = path;
  head.query = query_of(words[1]);
  return head;
}

}  // namespace lockstep::controller
