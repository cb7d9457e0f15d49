// JSON documents, with the access that Kubernetes objects need.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "data/json_value.h"

namespace lockstep {

// An immutable document that many may hold.
using Document = std::shared_ptr<const Json>;

struct JsonLimits {
  size_t depth = 128;
  size_t bytes = 256 << 20;
};

// Strict JSON; a duplicate key keeps the last value. The error's place is "line:column".
Result<Json> parse_json(std::string_view text, const JsonLimits& limits = {});
std::string print_json(const Json& value);
// Indented by two, keys in their order.
std::string print_json_pretty(const Json& value);

// find(node, "metadata", "labels", "app"): null pointer when any step is missing or no object.
const Json* find(const Json& value, std::string_view key);
Json* find(Json& value, std::string_view key);
const Json* find(const JsonObject& object, std::string_view key);
template <typename... Keys>
const Json* find(const Json& value, std::string_view key, Keys... rest) {
  const Json* child = find(value, key);
  return child == nullptr ? nullptr : find(*child, rest...);
}
template <typename... Keys>
Json* find(Json& value, std::string_view key, Keys... rest) {
  Json* child = find(value, key);
  return child == nullptr ? nullptr : find(*child, rest...);
}

// The string, integer or boolean at the path; empty, zero, false when it is not there or of another
// type.
std::string_view as_text(const Json* value);
int64_t as_integer(const Json* value, int64_t otherwise = 0);
// A number of any kind as a double.
double as_number(const Json& value);
bool as_bool(const Json* value, bool otherwise = false);
template <typename... Keys>
std::string_view text_at(const Json& value, Keys... keys) {
  return as_text(find(value, keys...));
}
template <typename... Keys>
std::string string_at(const Json& value, Keys... keys) {
  return std::string(text_at(value, keys...));
}
Json counts_to_json(const std::map<std::string, int64_t>& counts);
// Null if it is missing or not a list.
const JsonArray* array_of(const Json* value);
JsonArray texts_to_json(const std::vector<std::string>& texts);
// The strings of a list; "" for an item that is not a string. Empty if the list is missing.
std::vector<std::string> texts_at(const Json& value, std::string_view key);

// The child object, made when it is missing or null; replaces any other type.
JsonObject& ensure_object(JsonObject& parent, std::string_view key);

// Removes a key and keeps the order of the others.
bool erase_key(JsonObject& object, std::string_view key);

// Equal as JSON: numbers by value, objects in any order.
bool json_equal(const Json& a, const Json& b);

// Deep merge of `overlay` into `base`: objects key by key, anything else replaces. A null in the
// overlay survives as null (Helm reads it as "remove this default"); compare merge_patch.
void deep_merge(Json& base, const Json& overlay);

}  // namespace lockstep
