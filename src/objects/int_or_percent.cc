#include "objects/int_or_percent.h"

#include <limits>

#include <fmt/format.h>

#include "base/strings.h"
#include "objects/names.h"

namespace lockstep {

namespace {

constexpr int64_t largest_count = std::numeric_limits<int32_t>::max();

Result<IntOrPercent> checked(int64_t value, bool percent) {
  if (value < 0) return fail(ErrorKind::invalid, "must be greater than or equal to 0");
  if (percent && value > 100) return fail(ErrorKind::invalid, "must not be greater than 100%");
  if (value > largest_count) {
    return failf(ErrorKind::invalid, "must not be greater than {}", largest_count);
  }
  return IntOrPercent{value, percent};
}

Result<IntOrPercent> parse_percent(std::string_view text) {
  if (auto complaints = check_percent(text); !complaints.empty()) {
    return failf(ErrorKind::invalid, "{}: {}", quoted(text.substr(0, 64)), complaints.front());
  }
  auto number = parse_integer(text.substr(0, text.size() - 1));
  // All digits, so it can only be too large.
  return checked(number.value_or(largest_count), true);
}

}  // namespace

Result<IntOrPercent> IntOrPercent::parse(std::string_view text) {
  if (auto number = parse_integer(text)) return checked(*number, false);
  return parse_percent(text);
}

Result<IntOrPercent> IntOrPercent::from_json(const Json& json) {
  if (json.is_int64()) return checked(json.get_int64(), false);
  if (json.is_uint64()) return checked(std::numeric_limits<int64_t>::max(), false);
  if (json.is_string()) {
    return parse_percent(std::string_view(json.get_string().data(), json.get_string().size()));
  }
  return fail(ErrorKind::invalid, "must be an integer or a percentage such as \"25%\"");
}

int64_t IntOrPercent::of(int64_t total, Rounding rounding) const {
  if (!percent) return value;
  int64_t hundredths = value * total;
  return rounding == Rounding::up ? (hundredths + 99) / 100 : hundredths / 100;
}

std::string IntOrPercent::text() const { return fmt::format("{}{}", value, percent ? "%" : ""); }

Json IntOrPercent::to_json() const {
  if (percent) return Json(JsonString(text()));
  return Json(value);
}

}  // namespace lockstep
