#include "deploy/json_schema.h"

#include <algorithm>
#include <array>
#include <regex>
#include <string_view>

#include <fmt/format.h>

#include "base/strings.h"

namespace lockstep::deploy {

namespace {

constexpr std::array<std::string_view, 17> known_words = {
    "$schema",  "title", "description", "type",    "properties", "additionalProperties",
    "required", "enum",  "minimum",     "maximum", "minLength",  "maxLength",
    "pattern",  "items", "minItems",    "default", "examples"};

bool is_of_type(const Json& value, std::string_view type) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_bool();
  if (type == "null") return value.is_null();
  if (type == "integer") return value.is_int64() || value.is_uint64();
  return type == "number" && value.is_number();
}

std::string named(std::string_view type) {
  if (type == "object") return "a map";
  if (type == "array") return "a list";
  if (type == "string") return "a string";
  if (type == "boolean") return "true or false";
  if (type == "integer") return "a whole number";
  return fmt::format("a {}", type);
}

size_t characters(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

class Checker {
 public:
  Result<void> check(const Json& schema, const Json& value, const std::string& path) {
    if (!schema.is_object())
      return failf(ErrorKind::invalid, "the schema of {} must be an object", path);
    for (const auto& [word, unused] : schema.get_object()) {
      if (std::find(known_words.begin(), known_words.end(), std::string_view(word)) ==
          known_words.end()) {
        return failf(ErrorKind::unsupported, "unknown keyword \"{1}\" in the schema of {0}",
                     path.empty() ? "the values" : path, std::string_view(word));
      }
    }
    if (const Json* type = find(schema, "type");
        type != nullptr && !is_of_type(value, as_text(type))) {
      wrong(path, "must be " + named(as_text(type)), value);
      return {};
    }
    check_choice(schema, value, path);
    if (value.is_string()) LOCKSTEP_CHECK(check_text(schema, value, path));
    if (value.is_number()) check_number(schema, value, path);
    if (value.is_array()) LOCKSTEP_CHECK(check_list(schema, value.get_array(), path));
    if (value.is_object()) LOCKSTEP_CHECK(check_object(schema, value.get_object(), path));
    return {};
  }

  std::vector<std::string> take() { return std::move(problems_); }

 private:
  void wrong(const std::string& path, const std::string& what, const Json& value) {
    problems_.push_back(
        fmt::format("{} {}; it is {}", path.empty() ? "the whole" : path, what, print_json(value)));
  }

  void check_choice(const Json& schema, const Json& value, const std::string& path) {
    const Json* choice = find(schema, "enum");
    if (choice == nullptr || !choice->is_array()) return;
    std::vector<std::string> words;
    for (const Json& one : choice->get_array()) {
      if (json_equal(one, value)) return;
      words.push_back(one.is_string() ? std::string(as_text(&one)) : print_json(one));
    }
    wrong(path, "must be one of " + join(words, ", "), value);
  }

  Result<void> check_text(const Json& schema, const Json& value, const std::string& path) {
    std::string text(as_text(&value));
    auto length = static_cast<int64_t>(characters(text));
    if (const Json* least = find(schema, "minLength");
        least != nullptr && length < as_integer(least)) {
      wrong(path, fmt::format("must have at least {} characters", as_integer(least)), value);
    }
    if (const Json* most = find(schema, "maxLength");
        most != nullptr && length > as_integer(most)) {
      wrong(path, fmt::format("must have at most {} characters", as_integer(most)), value);
    }
    const Json* pattern = find(schema, "pattern");
    if (pattern == nullptr) return {};
    try {
      std::regex expression{std::string(as_text(pattern)), std::regex::ECMAScript};
      if (!std::regex_search(text, expression)) {
        wrong(path, fmt::format("must match {}", as_text(pattern)), value);
      }
    } catch (const std::regex_error& error) {
      return failf(ErrorKind::invalid, "invalid pattern of {}: {}", path, error.what());
    }
    return {};
  }

  void check_number(const Json& schema, const Json& value, const std::string& path) {
    auto number = as_number(value);
    if (const Json* least = find(schema, "minimum");
        least != nullptr && number < as_number(*least)) {
      wrong(path, fmt::format("must be at least {}", print_json(*least)), value);
    }
    if (const Json* most = find(schema, "maximum"); most != nullptr && number > as_number(*most)) {
      wrong(path, fmt::format("must be at most {}", print_json(*most)), value);
    }
  }

  Result<void> check_list(const Json& schema, const JsonArray& list, const std::string& path) {
    const Json* least = find(schema, "minItems");
    if (least != nullptr && static_cast<int64_t>(list.size()) < as_integer(least)) {
      wrong(path, fmt::format("must have at least {} entries", as_integer(least)), Json(list));
    }
    const Json* items = find(schema, "items");
    for (size_t i = 0; items != nullptr && i < list.size(); ++i) {
      LOCKSTEP_CHECK(check(*items, list[i], fmt::format("{}[{}]", path, i)));
    }
    return {};
  }

  Result<void> check_object(const Json& schema, const JsonObject& object, const std::string& path) {
    auto child_path = [&](std::string_view key) {
      return path.empty() ? std::string(key) : fmt::format("{}.{}", path, key);
    };
    if (const Json* required = find(schema, "required");
        required != nullptr && required->is_array()) {
      for (const Json& key : required->get_array()) {
        if (find(object, as_text(&key)) == nullptr)
          problems_.push_back(child_path(as_text(&key)) + " is missing");
      }
    }
    const Json* properties = find(schema, "properties");
    const Json* others = find(schema, "additionalProperties");
    for (const auto& [key, value] : object) {
      const Json* known = properties == nullptr ? nullptr : find(*properties, key);
      if (known == nullptr && others != nullptr && others->is_bool()) {
        if (!others->get_bool()) unknown(child_path(key), key, properties);
        continue;
      }
      if (known == nullptr) known = others;
      if (known != nullptr) LOCKSTEP_CHECK(check(*known, value, child_path(key)));
    }
    return {};
  }

  void unknown(const std::string& path, std::string_view key, const Json* properties) {
    std::vector<std::string> names;
    if (properties != nullptr && properties->is_object()) {
      for (const auto& [name, unused] : properties->get_object()) names.emplace_back(name);
    }
    problems_.push_back(fmt::format("{}: unknown field{}", path, suggestion(key, names)));
  }

  std::vector<std::string> problems_;
};

}  // namespace

Result<std::vector<std::string>> check_by_schema(const Json& schema, const Json& value) {
  Checker checker;
  LOCKSTEP_CHECK(checker.check(schema, value, ""));
  return checker.take();
}

}  // namespace lockstep::deploy
