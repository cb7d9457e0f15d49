// The body of a watch: JSON objects, one to a line, that arrive in whatever pieces the network
// makes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "kube/api.h"

namespace lockstep::kube {

class WatchStream {
 public:
  // An event longer than the limit is an error.
  explicit WatchStream(size_t event_limit) : event_limit_(event_limit) {}

  void append(std::string_view bytes);
  // The next whole event, or nothing until more bytes come. After an error there is nothing more.
  std::optional<Result<WatchEvent>> next();
  // The body ended. A last event that only lacks its line break is still one; half an event is an
  // error: the connection broke.
  std::optional<Result<WatchEvent>> finish();

 private:
  void drop_consumed();

  size_t event_limit_;
  std::string buffer_;
  size_t line_begin_ = 0;
  size_t searched_ = 0;  // no line break between line_begin_ and here
  bool failed_ = false;
};

// {"type": …, "object": …}: the object stays bytes.
Result<WatchEvent> decode_watch_event(std::string_view line);

// The Status of an ERROR event as an Error.
Error error_of_event(const WatchEvent& event);

}  // namespace lockstep::kube
