// Values against their schema, with the messages of the real server's OpenAPI validator.
#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_set>

#include "apiserver/schema/formats.h"
#include "apiserver/schema/schema.h"
#include "base/strings.h"

namespace lockstep::apiserver {

namespace {

// The first of hundreds of mistakes in a list say enough.
constexpr size_t most_causes = 200;

std::string_view type_word(Schema::Type type) {
  switch (type) {
    case Schema::Type::any:
      return "any";
    case Schema::Type::object:
    case Schema::Type::map:
      return "object";
    case Schema::Type::array:
      return "array";
    case Schema::Type::string:
      return "string";
    case Schema::Type::integer:
      return "integer";
    case Schema::Type::number:
      return "number";
    case Schema::Type::boolean:
      return "boolean";
    case Schema::Type::int_or_string:
      return "integer,string";
  }
  return "any";
}

bool is_integral(const Json& value) {
  if (value.is_int64() || value.is_uint64()) return true;
  return value.is_double() && std::isfinite(value.get_double()) &&
         std::floor(value.get_double()) == value.get_double();
}

bool has_type(const Schema& schema, const Json& value) {
  switch (schema.type) {
    case Schema::Type::any:
      return true;
    case Schema::Type::object:
    case Schema::Type::map:
      return value.is_object();
    case Schema::Type::array:
      return value.is_array();
    case Schema::Type::string:
      return value.is_string() || (schema.format == "quantity" && value.is_number());
    case Schema::Type::integer:
      return is_integral(value);
    case Schema::Type::number:
      return value.is_number();
    case Schema::Type::boolean:
      return value.is_bool();
    case Schema::Type::int_or_string:
      return value.is_string() || is_integral(value);
  }
  return false;
}

// Characters, as the real validator counts them.
size_t length_of(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

class Validation {
 public:
  explicit Validation(const std::string& place) : path_(place) {}

  void check(const Schema& schema, const Json& value) {
    if (causes.size() >= most_causes) return;
    if (value.is_null() && (schema.nullable || schema.typed || schema.type == Schema::Type::any))
      return;
    if (!has_type(schema, value)) {
      causes.push_back(cause_type(path_, value, type_word(schema.type)));
      return;
    }
    check_combinations(schema, value);
    if (value.is_string()) check_string(schema, value);
    if (value.is_number()) check_number(schema, value);
    if (!schema.allowed.empty()) check_allowed(schema, value);
    if (const JsonArray* array = value.if_array()) check_array(schema, value, *array);
    if (const JsonObject* object = value.if_object()) check_object(schema, value, *object);
  }

  std::vector<StatusCause> causes;

 private:
  struct Step {
    Step(std::string& path, std::string_view added) : path_(path), length_(path.size()) {
      if (!path.empty() && !added.starts_with('[')) path += '.';
      path += added;
    }
    ~Step() { path_.resize(length_); }
    std::string& path_;
    size_t length_;
  };

  void refuse(const Json& value, std::string_view why) {
    causes.push_back(cause_invalid(path_, value, fmt::format("{} in body {}", path_, why)));
  }

  // The real validator loses the place of these, down to the word "<nil>".
  void refuse_combination(std::string_view why) {
    causes.push_back(cause_invalid("<nil>", "", fmt::format("{} {}", go_quote(path_), why)));
  }

  std::vector<StatusCause> try_schema(const Schema& schema, const Json& value) const {
    Validation inner(path_);
    inner.check(schema, value);
    return std::move(inner.causes);
  }

  void take(std::vector<StatusCause> more) {
    std::move(more.begin(), more.end(), std::back_inserter(causes));
  }

  void check_combinations(const Schema& schema, const Json& value) {
    if (!schema.any_of.empty()) check_any_of(schema, value);
    if (!schema.one_of.empty()) check_one_of(schema, value);
    size_t failed = 0;
    for (const Schema* part : schema.all_of) {
      std::vector<StatusCause> found = try_schema(*part, value);
      failed += found.empty() ? 0 : 1;
      take(std::move(found));
    }
    if (failed > 0) {
      bool none = failed == schema.all_of.size();
      refuse_combination(none ? "must validate all the schemas (allOf). None validated"
                              : "must validate all the schemas (allOf)");
    }
    if (schema.not_schema != nullptr && try_schema(*schema.not_schema, value).empty()) {
      refuse_combination("must not validate the schema (not)");
    }
  }

  void check_any_of(const Schema& schema, const Json& value) {
    std::vector<StatusCause> best;
    for (const Schema* part : schema.any_of) {
      std::vector<StatusCause> found = try_schema(*part, value);
      if (found.empty()) return;
      if (best.empty() || found.size() < best.size()) best = std::move(found);
    }
    refuse_combination("must validate at least one schema (anyOf)");
    take(std::move(best));
  }

  void check_one_of(const Schema& schema, const Json& value) {
    std::vector<StatusCause> best;
    size_t matching = 0;
    for (const Schema* part : schema.one_of) {
      std::vector<StatusCause> found = try_schema(*part, value);
      matching += found.empty() ? 1 : 0;
      if (best.empty() || found.size() < best.size()) best = std::move(found);
    }
    if (matching == 1) return;
    refuse_combination(
        matching == 0
            ? "must validate one and only one schema (oneOf). Found none valid"
            : fmt::format(
                  "must validate one and only one schema (oneOf). Found {} valid alternatives",
                  matching));
    if (matching == 0) take(std::move(best));
  }

  void check_string(const Schema& schema, const Json& value) {
    std::string_view text = value.get_string();
    if (schema.max_length && length_of(text) > static_cast<size_t>(*schema.max_length)) {
      causes.push_back(
          cause_too_long(path_, fmt::format("may not be more than {} byte{}", *schema.max_length,
                                            *schema.max_length == 1 ? "" : "s")));
    }
    if (schema.min_length && length_of(text) < static_cast<size_t>(*schema.min_length)) {
      refuse(value, fmt::format("should be at least {} chars long", *schema.min_length));
    }
    if (schema.compiled_pattern && !schema.compiled_pattern->matches(text)) {
      refuse(value, fmt::format("should match '{}'", schema.pattern));
    }
    if (schema.type == Schema::Type::string && !has_format(text, schema.format)) {
      std::string why =
          fmt::format("{} in body must be of type {}: {}", path_, schema.format, go_quote(text));
      StatusCause cause = cause_invalid(path_, value, why);
      cause.reason = "FieldValueTypeInvalid";
      causes.push_back(std::move(cause));
    }
  }

  void check_number(const Schema& schema, const Json& value) {
    double number = as_number(value);
    if (schema.maximum &&
        (number > *schema.maximum || (schema.exclusive_maximum && number == *schema.maximum))) {
      refuse(value, fmt::format("should be less than {}{}",
                                schema.exclusive_maximum ? "" : "or equal to ", *schema.maximum));
    }
    if (schema.minimum &&
        (number < *schema.minimum || (schema.exclusive_minimum && number == *schema.minimum))) {
      refuse(value, fmt::format("should be greater than {}{}",
                                schema.exclusive_minimum ? "" : "or equal to ", *schema.minimum));
    }
    if (schema.multiple_of && *schema.multiple_of > 0) {
      double factor = number / *schema.multiple_of;
      if (std::abs(factor - std::round(factor)) > 1e-9) {
        refuse(value, fmt::format("should be a multiple of {}", *schema.multiple_of));
      }
    }
    bool is_32_bits = schema.format == "int32" || schema.type == Schema::Type::int_or_string;
    if (is_32_bits && (number > std::numeric_limits<int32_t>::max() ||
                       number < std::numeric_limits<int32_t>::min())) {
      causes.push_back(
          cause_invalid(path_, value, "Checked value must be of type integer with format int32"));
    }
  }

  void check_allowed(const Schema& schema, const Json& value) {
    std::vector<std::string> texts;
    for (const Json& choice : schema.allowed) {
      if (json_equal(choice, value)) return;
      texts.push_back(choice.is_string() ? std::string(choice.get_string()) : print_json(choice));
    }
    causes.push_back(cause_unsupported(path_, value, texts));
  }

  void check_array(const Schema& schema, const Json& value, const JsonArray& array) {
    if (schema.max_items && array.size() > static_cast<size_t>(*schema.max_items)) {
      causes.push_back(cause_too_many(path_, array.size(), static_cast<size_t>(*schema.max_items)));
    }
    if (schema.min_items && array.size() < static_cast<size_t>(*schema.min_items)) {
      refuse(value, fmt::format("should have at least {} items", *schema.min_items));
    }
    if (!schema.typed) check_unique(schema, array);
    if (schema.items == nullptr) return;
    for (size_t i = 0; i < array.size(); ++i) {
      Step step(path_, fmt::format("[{}]", i));
      check(*schema.items, array[i]);
    }
  }

  // Lists of type set and map hold nothing twice. Their keys as text make that quick.
  void check_unique(const Schema& schema, const JsonArray& array) {
    if (schema.list_kind == Schema::ListKind::atomic && !schema.unique_items) return;
    std::unordered_set<std::string> seen;
    for (size_t i = 0; i < array.size(); ++i) {
      Json key = array[i];
      if (schema.list_kind == Schema::ListKind::map) key = key_of(schema, array[i]);
      if (!seen.insert(print_json(key)).second) {
        causes.push_back(cause_duplicate(fmt::format("{}[{}]", path_, i), key));
      }
    }
  }

  static Json key_of(const Schema& schema, const Json& item) {
    JsonObject key;
    for (const std::string& name : schema.list_keys) {
      const Json* part = find(item, name);
      if (part != nullptr) key[name] = *part;
    }
    return key;
  }

  void check_object(const Schema& schema, const Json& value, const JsonObject& object) {
    if (schema.max_properties && object.size() > static_cast<size_t>(*schema.max_properties)) {
      causes.push_back(
          cause_too_many(path_, object.size(), static_cast<size_t>(*schema.max_properties)));
    }
    if (schema.min_properties && object.size() < static_cast<size_t>(*schema.min_properties)) {
      refuse(value, fmt::format("should have at least {} properties", *schema.min_properties));
    }
    if (!schema.typed) check_required(schema, object);
    for (const auto& entry : object) {
      const Schema* field =
          schema.type == Schema::Type::map ? schema.items : schema.field(entry.key());
      if (field == nullptr) continue;
      Step step(path_, entry.key());
      check(*field, entry.value());
    }
  }

  void check_required(const Schema& schema, const JsonObject& object) {
    for (const std::string& name : schema.required) {
      if (object.contains(name)) continue;
      Step step(path_, name);
      causes.push_back(cause_required(path_));
    }
  }

  std::string path_;
};

}  // namespace

std::vector<StatusCause> validate(const Schema& schema, const Json& object,
                                  const std::string& place) {
  Validation validation(place);
  validation.check(schema, object);
  return std::move(validation.causes);
}

}  // namespace lockstep::apiserver
