#include "data/json.h"

#include <cmath>
#include <exception>
#include <limits>
#include <string>
#include <vector>

#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/error.hpp>

#include "data/json_text.h"

namespace lockstep {

namespace {

namespace json = boost::json;

// Builds the tree from Boost's parser. Boost's own doubles are off by a bit in the last place, so
// that a document would change by being read and written.
struct TreeBuilder {
  static constexpr size_t max_object_size = std::numeric_limits<uint32_t>::max() / 4;
  static constexpr size_t max_array_size = max_object_size;
  static constexpr size_t max_key_size = max_object_size;
  static constexpr size_t max_string_size = max_object_size;

  std::vector<Json> values;
  std::vector<std::string> keys;
  std::string part;  // of a key or a string that comes in pieces

  std::string_view whole(json::string_view last) {
    if (part.empty()) return {last.data(), last.size()};
    part.append(last.data(), last.size());
    return part;
  }
  bool push(Json value) {
    values.push_back(std::move(value));
    return true;
  }

  bool on_document_begin(json::error_code&) { return true; }
  bool on_document_end(json::error_code&) { return true; }
  bool on_object_begin(json::error_code&) { return true; }
  bool on_object_end(size_t count, json::error_code&) {
    JsonObject object;
    object.reserve(count);
    for (size_t i = 0; i < count; ++i) {
      object.insert_or_assign(keys[keys.size() - count + i],
                              std::move(values[values.size() - count + i]));
    }
    keys.resize(keys.size() - count);
    values.resize(values.size() - count);
    return push(std::move(object));
  }
  bool on_array_begin(json::error_code&) { return true; }
  bool on_array_end(size_t count, json::error_code&) {
    JsonArray array;
    array.reserve(count);
    for (auto item = values.end() - static_cast<std::ptrdiff_t>(count); item != values.end();
         ++item)
      array.push_back(std::move(*item));
    values.resize(values.size() - count);
    return push(std::move(array));
  }
  bool on_key_part(json::string_view piece, size_t, json::error_code&) {
    part.append(piece.data(), piece.size());
    return true;
  }
  bool on_key(json::string_view piece, size_t, json::error_code&) {
    keys.emplace_back(whole(piece));
    part.clear();
    return true;
  }
  bool on_string_part(json::string_view piece, size_t, json::error_code&) {
    part.append(piece.data(), piece.size());
    return true;
  }
  bool on_string(json::string_view piece, size_t, json::error_code&) {
    push(whole(piece));
    part.clear();
    return true;
  }
  // Parts of numbers come only where a document is handed over in parts.
  bool on_number_part(json::string_view, json::error_code&) { return false; }
  bool on_int64(int64_t value, json::string_view, json::error_code&) { return push(value); }
  bool on_uint64(uint64_t value, json::string_view, json::error_code&) { return push(value); }
  bool on_double(double, json::string_view digits, json::error_code& problem) {
    const std::optional<double> value = number_from_json_text(digits);
    if (!value) {
      problem = json::error::exponent_overflow;
      return false;
    }
    return push(*value);
  }
  bool on_bool(bool value, json::error_code&) { return push(value); }
  bool on_null(json::error_code&) { return push(nullptr); }
  bool on_comment_part(json::string_view, json::error_code&) { return true; }
  bool on_comment(json::string_view, json::error_code&) { return true; }
};

std::string explain(const json::error_code& problem) {
  if (problem == json::error::incomplete) return "the JSON ends too early";
  if (problem == json::error::extra_data) return "there is more after the end of the JSON value";
  if (problem == json::error::too_deep) return "the JSON is nested too deeply";
  if (problem == json::error::exponent_overflow) return "the number is too large";
  return "not valid JSON: " + problem.message();
}

bool is_over_limit(const json::error_code& problem) {
  return problem == json::error::too_deep || problem == json::error::array_too_large ||
         problem == json::error::object_too_large || problem == json::error::key_too_large ||
         problem == json::error::string_too_large;
}

Result<Json> parse_unguarded(std::string_view text, const JsonLimits& limits) {
  json::parse_options options;
  options.max_depth = limits.depth;
  json::basic_parser<TreeBuilder> parser(options);
  json::error_code problem;
  size_t used = parser.write_some(false, text.data(), text.size(), problem);
  if (!problem && used < text.size()) problem = json::error::extra_data;
  if (problem) {
    return fail(is_over_limit(problem) ? ErrorKind::too_large : ErrorKind::invalid,
                explain(problem), line_and_column(text, used));
  }
  return std::move(parser.handler().values.front());
}

// By value, never through a rounding conversion: 2^53 + 1 is not equal to 2^53 as a double.
template <typename Integer>
bool equals_double(Integer integer, double number) {
  // The limits as doubles: -2^63 or 0 is exact, and the upper one (2^63 or 2^64) is the first that
  // does not fit.
  const double lowest = static_cast<double>(std::numeric_limits<Integer>::min());
  const double beyond = static_cast<double>(std::numeric_limits<Integer>::max());
  if (!(number >= lowest && number < beyond)) return false;
  return static_cast<Integer>(number) == integer && std::trunc(number) == number;
}

bool numbers_equal(const Json& a, const Json& b) {
  if (a.is_double() && b.is_double()) return a.get_double() == b.get_double();
  if (b.is_double()) return numbers_equal(b, a);
  if (a.is_double()) {
    return b.is_int64() ? equals_double(b.get_int64(), a.get_double())
                        : equals_double(b.get_uint64(), a.get_double());
  }
  if (a.is_int64() && b.is_int64()) return a.get_int64() == b.get_int64();
  if (a.is_uint64() && b.is_uint64()) return a.get_uint64() == b.get_uint64();
  const int64_t with_sign = a.is_int64() ? a.get_int64() : b.get_int64();
  const uint64_t without_sign = a.is_int64() ? b.get_uint64() : a.get_uint64();
  return with_sign >= 0 && static_cast<uint64_t>(with_sign) == without_sign;
}

bool arrays_equal(const JsonArray& a, const JsonArray& b) {
  if (a.is_same(b)) return true;
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!json_equal(a[i], b[i])) return false;
  }
  return true;
}

bool objects_equal(const JsonObject& a, const JsonObject& b) {
  if (a.is_same(b)) return true;
  if (a.size() != b.size()) return false;
  // One is mostly a copy of the other, with its fields in the same order.
  auto neighbour = b.begin();
  for (const auto& [key, value] : a) {
    const Json* other = neighbour->key() == key ? &neighbour->value() : b.if_contains(key);
    if (other == nullptr || !json_equal(value, *other)) return false;
    ++neighbour;
  }
  return true;
}

}  // namespace

Result<Json> parse_json(std::string_view text, const JsonLimits& limits) {
  if (text.size() > limits.bytes) {
    return failf(ErrorKind::too_large, "the JSON has {} bytes; at most {} are read", text.size(),
                 limits.bytes);
  }
  try {
    return parse_unguarded(text, limits);
  } catch (const std::exception& problem) {
    return failf(ErrorKind::too_large, "the JSON does not fit in memory: {}", problem.what());
  }
}

const Json* find(const JsonObject& object, std::string_view key) { return object.if_contains(key); }

const Json* find(const Json& value, std::string_view key) {
  const JsonObject* object = value.if_object();
  return object == nullptr ? nullptr : object->if_contains(key);
}

Json* find(Json& value, std::string_view key) {
  JsonObject* object = value.if_object();
  return object == nullptr ? nullptr : object->if_contains(key);
}

Json counts_to_json(const std::map<std::string, int64_t>& counts) {
  JsonObject json;
  for (const auto& [name, count] : counts) json[name] = count;
  return json;
}

const JsonArray* array_of(const Json* value) {
  return value == nullptr ? nullptr : value->if_array();
}

JsonArray texts_to_json(const std::vector<std::string>& texts) {
  JsonArray json;
  for (const std::string& text : texts) json.emplace_back(text);
  return json;
}

std::vector<std::string> texts_at(const Json& value, std::string_view key) {
  std::vector<std::string> texts;
  const Json* list = find(value, key);
  if (list == nullptr || !list->is_array()) return texts;
  for (const Json& item : list->get_array()) texts.emplace_back(as_text(&item));
  return texts;
}

std::string_view as_text(const Json* value) {
  if (value == nullptr || !value->is_string()) return {};
  return value->get_string().view();
}

int64_t as_integer(const Json* value, int64_t otherwise) {
  if (value == nullptr) return otherwise;
  return integer_of(*value).value_or(otherwise);
}

double as_number(const Json& value) {
  if (value.is_int64()) return static_cast<double>(value.get_int64());
  if (value.is_uint64()) return static_cast<double>(value.get_uint64());
  return value.is_double() ? value.get_double() : 0;
}

bool as_bool(const Json* value, bool otherwise) {
  return value != nullptr && value->is_bool() ? value->get_bool() : otherwise;
}

JsonObject& ensure_object(JsonObject& parent, std::string_view key) {
  Json& child = parent[key];
  if (!child.is_object()) child.emplace_object();
  return child.get_object();
}

bool erase_key(JsonObject& object, std::string_view key) {
  const JsonObject& held = object;
  const auto position = held.find(key);
  if (position == held.end()) return false;
  object.stable_erase(position);
  return true;
}

bool json_equal(const Json& a, const Json& b) {
  if (a.is_number() && b.is_number()) return numbers_equal(a, b);
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case JsonKind::null:
      return true;
    case JsonKind::bool_:
      return a.get_bool() == b.get_bool();
    case JsonKind::string:
      return a.get_string() == b.get_string();
    case JsonKind::array:
      return arrays_equal(a.get_array(), b.get_array());
    case JsonKind::object:
      return objects_equal(a.get_object(), b.get_object());
    default:
      return false;
  }
}

void deep_merge(Json& base, const Json& overlay) {
  if (&base == &overlay) return;
  if (!base.is_object() || !overlay.is_object()) {
    base = overlay;
    return;
  }
  JsonObject& object = base.get_object();
  for (const auto& [key, value] : overlay.get_object()) {
    auto [position, inserted] = object.emplace(key, nullptr);
    if (inserted) {
      position->value() = value;
    } else {
      deep_merge(position->value(), value);
    }
  }
}

}  // namespace lockstep
