// The head of an HTTP/1 request as a value: its first line and whether the rest is well formed.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lockstep::controller {

struct RequestHead {
  std::string method;
  std::string path;  // without query and fragment, not decoded
  // 0: it is fine; else the HTTP code to refuse it with.
  int refusal = 0;
  std::string query;                                         // without its '?', not decoded
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case

  // The first of that name, in lower case; empty when there is none.
  std::string_view header(std::string_view name) const;
};

// Where the empty line ends that ends the head; nothing while it has not come.
std::optional<size_t> end_of_head(std::string_view text);
// `text`: up to that place.
RequestHead parse_request_head(std::string_view text);

}  // namespace lockstep::controller
