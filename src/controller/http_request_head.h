// The head of an HTTP/1 request as a value: its first line and whether the rest is well formed.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace lockstep::controller {

struct RequestHead {
  std::string method;
  std::string path;  // without query and fragment, not decoded
  // 0: it is fine; else the HTTP code to refuse it with.
  int refusal = 0;
};

// Where the empty line ends that ends the head; nothing while it has not come.
std::optional<size_t> end_of_head(std::string_view text);
// `text`: up to that place.
RequestHead parse_request_head(std::string_view text);

}  // namespace lockstep::controller
