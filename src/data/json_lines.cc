#include "data/json_lines.h"

#include <fmt/format.h>

#include "base/strings.h"

namespace lockstep {

Result<void> read_json_lines(std::string_view text, const JsonLine& header, const JsonLine& entry) {
  bool has_header = false;
  size_t number = 0;
  for (std::string_view line : split(text, '\n')) {
    ++number;
    if (trim(line).empty()) continue;
    const std::string place = fmt::format("line {}", number);
    auto json = parse_json(line);
    if (!json) return fail(json.error().at(place));
    auto read = std::exchange(has_header, true) ? entry(*json) : header(*json);
    if (!read) return fail(read.error().at(place));
  }
  if (!has_header) return fail(ErrorKind::invalid, "is empty");
  return {};
}

std::string json_line(const Json& json) { return print_json(json) + "\n"; }

}  // namespace lockstep
