// Foreign selectors: parsing never crashes, and what was accepted prints as a string that reads as
// the same selector and matches the same labels.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "objects/selector.h"

using lockstep::FieldSelector;
using lockstep::LabelSelector;
using lockstep::StringMap;

static void require(bool holds) {
  if (!holds) std::abort();
}

static void check_labels(std::string_view text) {
  auto selector = LabelSelector::parse(text);
  if (!selector) {
    require(!selector.error().message.empty());
    return;
  }
  auto again = LabelSelector::parse(selector->text());
  require(again.has_value());
  require(*again == *selector);
  for (const StringMap& labels : {StringMap{}, StringMap{{"a", "1"}, {"b", ""}}}) {
    require(again->matches(labels) == selector->matches(labels));
  }
}

static void check_fields(std::string_view text) {
  auto selector = FieldSelector::parse(text);
  if (!selector) return;
  auto again = FieldSelector::parse(selector->text());
  require(again.has_value());
  require(again->requirements() == selector->requirements());
}

static void check_object(std::string_view text) {
  auto json = lockstep::parse_json(text);
  if (!json) return;
  auto selector = LabelSelector::from_json(&*json);
  if (!selector) return;
  auto again = LabelSelector::parse(selector->text());
  require(again.has_value());
  if (!selector->matches_nothing()) require(*again == *selector);
  selector->matches_object(*json);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  check_labels(text);
  check_fields(text);
  check_object(text);
  return 0;
}
