#include "kube/watch_stream.h"

#include <utility>

#include "base/strings.h"
#include "data/json_reader.h"

namespace lockstep::kube {

namespace {

std::optional<WatchEventType> type_of(std::string_view name) {
  for (WatchEventType type :
       {WatchEventType::added, WatchEventType::modified, WatchEventType::deleted,
        WatchEventType::bookmark, WatchEventType::error}) {
    if (to_string(type) == name) return type;
  }
  return std::nullopt;
}

}  // namespace

Result<WatchEvent> decode_watch_event(std::string_view line) {
  JsonReader reader(line);
  std::string type;
  std::string_view object;
  reader.object([&](std::string_view key) {
    if (key == "type") {
      type = reader.text();
    } else if (key == "object") {
      object = reader.raw();
    } else {
      reader.skip();
    }
  });
  if (!reader.failed() && !reader.at_end()) {
    return fail(ErrorKind::internal, "the server sent two watch events on one line");
  }
  if (reader.failed()) {
    return failf(ErrorKind::internal, "the server sent a watch event that is not JSON: {}",
                 reader.error().text());
  }
  const auto known = type_of(type);
  if (!known || object.empty()) {
    return failf(ErrorKind::internal, "the server sent a watch event of the unknown type {:?}",
                 type);
  }
  return WatchEvent{*known, std::string(object)};
}

Error error_of_event(const WatchEvent& event) {
  Response response;
  response.body = event.object;
  const auto status = response.document();
  response.code = status ? static_cast<int>(as_integer(find(**status, "code"), 500)) : 500;
  return response.error();
}

void WatchStream::append(std::string_view bytes) {
  if (!failed_) buffer_ += bytes;
}

void WatchStream::drop_consumed() {
  buffer_.erase(0, line_begin_);
  searched_ -= line_begin_;
  line_begin_ = 0;
}

std::optional<Result<WatchEvent>> WatchStream::next() {
  while (!failed_) {
    const size_t end = buffer_.find('\n', searched_);
    searched_ = end == std::string::npos ? buffer_.size() : end;
    if (searched_ - line_begin_ > event_limit_) {
      failed_ = true;
      return failf(ErrorKind::too_large, "a watch event is larger than {} bytes", event_limit_);
    }
    if (end == std::string::npos) {
      drop_consumed();
      return std::nullopt;
    }
    const std::string_view line =
        trim(std::string_view(buffer_).substr(line_begin_, end - line_begin_));
    searched_ = end + 1;
    line_begin_ = end + 1;
    if (line.empty()) continue;
    auto event = decode_watch_event(line);
    failed_ = !event.has_value();
    return event;
  }
  return std::nullopt;
}

std::optional<Result<WatchEvent>> WatchStream::finish() {
  if (failed_) return std::nullopt;
  const std::string rest(trim(std::string_view(buffer_).substr(line_begin_)));
  failed_ = true;
  if (rest.empty()) return std::nullopt;
  auto event = decode_watch_event(rest);
  if (event) return event;
  return fail(ErrorKind::unreachable, "the connection ended in the middle of a watch event");
}

}  // namespace lockstep::kube
