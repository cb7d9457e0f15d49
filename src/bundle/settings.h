// What a user sets on the command line: --set component:path.to.key=value and its two
// siblings.
//
// A value of --set is true, false or null in any case; a number if the number, printed, is the
// very text that was written; and a string otherwise. So 0123, 1e3, 580.10, 1.0 and integers
// above 2^53, which Helm would round, stay strings: no version loses a digit. --set-string
// makes strings of everything, and --set-json takes JSON. A comma is a comma.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "bundle/registry.h"
#include "bundle/value_path.h"
#include "bundle/values_map.h"
#include "data/json.h"

namespace lockstep::bundle {

enum class SettingKind { typed, text, json };

struct Setting {
  std::string component;  // a name or an alias
  ValuePath path;
  Json value;
  std::string written;  // "--set gpu-operator:driver.version=580"
};

// "path.to.key=value", where there is but one set of values.
struct Assignment {
  ValuePath path;
  Json value;
};
Result<Assignment> parse_assignment(std::string_view text, SettingKind kind);

// `text` is what follows the flag.
Result<Setting> parse_setting(std::string_view text, SettingKind kind);

// Whether it switches a whole component on or off. Such a setting says what is deployed, and is
// never a value of the chart.
bool is_switch(const Setting& setting);

// In the order given, the last wins, whether a component is called by its name or an alias.
// `values` holds the enabled components; a setting of any other is an error, but for the switches,
// which have done their work by then.
Result<void> apply_settings(const Registry& registry, const std::vector<Setting>& settings,
                            ValuesMap& values);

}  // namespace lockstep::bundle
