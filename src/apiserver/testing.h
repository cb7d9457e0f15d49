// What the tests of this folder share.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/status.h"
#include "data/json.h"

namespace lockstep::apiserver {

// JSON with single quotes for double ones. A broken document is a broken test: null, which no test
// expects.
inline Json json(std::string text) {
  std::replace(text.begin(), text.end(), '\'', '"');
  Result<Json> parsed = parse_json(text);
  return parsed ? std::move(*parsed) : Json();
}

// "field: message" per line, as an error would list them.
inline std::string text_of(const std::vector<StatusCause>& causes) {
  std::string text;
  for (const StatusCause& cause : causes) {
    if (!text.empty()) text += "\n";
    text += cause.field + ": " + cause.message;
  }
  return text;
}

}  // namespace lockstep::apiserver
