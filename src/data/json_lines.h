// A string with one JSON document on each line. The first document says what the others are.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "data/json.h"

namespace lockstep {

using JsonLine = std::function<Result<void>(const Json& line)>;

// Gives the first line to `header` and every other line to `entry`; skips empty lines. An error has
// the place "line 7". A string without a line is an error too.
Result<void> read_json_lines(std::string_view text, const JsonLine& header, const JsonLine& entry);

// The inverse, line by line.
std::string json_line(const Json& json);

}  // namespace lockstep
