// The path to one value in a component's values: the keys from the root. All writers (--set,
// scheduling, derived values) use the same rules.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "data/json.h"

namespace lockstep::bundle {

using ValuePath = std::vector<std::string>;

// "driver.upgradePolicy.autoUpgrade". A backslash takes the next character as it is, as in Helm:
// "\." is a dot inside a key, "\\" a backslash. No key may be empty, and an index ("list[0]") is
// refused: a list is set as a whole.
Result<ValuePath> parse_value_path(std::string_view text);
// The text that reads back as the path.
std::string print_value_path(const ValuePath& path);

// Null if missing; the value itself may be null too.
const Json* find_value(const JsonObject& values, const ValuePath& path);

// Whether one of the two is at or under the other.
bool overlap(const ValuePath& a, const ValuePath& b);

// Replaces the value at the path. Maps on the path are made where they are missing or null. A list
// or a scalar on the path is an error that shows it, and then nothing is changed.
Result<void> set_value(JsonObject& values, const ValuePath& path, Json value);

}  // namespace lockstep::bundle
