// Built-in types are decoded, not validated, by the real server: a wrong type is a 400 in the words
// of its JSON decoder.
#include <cmath>
#include <limits>
#include <utility>

#include "apiserver/schema/formats.h"
#include "apiserver/schema/schema.h"

namespace lockstep::apiserver {

namespace {

// "io.k8s.api.core.v1.PodSpec": "PodSpec", or "v1.PodSpec" with its package.
std::string_view last_part(std::string_view name, int parts) {
  size_t start = name.size();
  for (int i = 0; i < parts; ++i) start = name.rfind('.', start == 0 ? 0 : start - 1);
  return start == std::string_view::npos ? name : name.substr(start + 1);
}

std::string go_type(const Schema& schema) {
  switch (schema.type) {
    case Schema::Type::any:
      return "interface {}";
    case Schema::Type::object:
      return std::string(last_part(schema.name, 2));
    case Schema::Type::map:
      return "map[string]" + go_type(*schema.items);
    case Schema::Type::array:
      return "[]" + go_type(*schema.items);
    case Schema::Type::string:
      return schema.format == "byte" ? "[]uint8" : "string";
    case Schema::Type::integer:
      return schema.format.empty() ? "int64" : schema.format;
    case Schema::Type::number:
      return "float64";
    case Schema::Type::boolean:
      return "bool";
    case Schema::Type::int_or_string:
      return "int32";
  }
  return "interface {}";
}

std::string_view go_kind(const Json& value) {
  if (value.is_bool()) return "bool";
  if (value.is_number()) return "number";
  return json_type_name(value);
}

class Decoding {
 public:
  explicit Decoding(const TouchedFields& touched) : touched_(touched) {}

  // False at the first value that does not fit.
  bool check(const Schema& schema, const Json& value) {
    if (value.is_null() || schema.type == Schema::Type::any) return true;
    switch (schema.type) {
      case Schema::Type::object:
        return check_object(schema, value);
      case Schema::Type::map:
        return check_map(schema, value);
      case Schema::Type::array:
        return check_array(schema, value);
      case Schema::Type::string:
        return check_string(schema, value);
      case Schema::Type::integer:
        return check_integer(schema, value);
      case Schema::Type::number:
        return value.is_number() || mismatch(schema, value);
      case Schema::Type::boolean:
        return value.is_bool() || mismatch(schema, value);
      case Schema::Type::int_or_string:
        return check_int_or_string(value);
      case Schema::Type::any:
        break;
    }
    return true;
  }

  std::string error;

 private:
  bool mismatch(const Schema& schema, const Json& value) {
    return mismatch(schema, std::string(go_kind(value)));
  }

  bool mismatch(const Schema& schema, const std::string& value) {
    if (struct_ == nullptr) {
      error =
          fmt::format("json: cannot unmarshal {} into Go value of type {}", value, go_type(schema));
    } else {
      error = fmt::format("json: cannot unmarshal {} into Go struct field {}.{} of type {}", value,
                          last_part(struct_->name, 1), path_, go_type(schema));
    }
    return false;
  }

  bool refuse(std::string text) {
    error = std::move(text);
    return false;
  }

  bool check_object(const Schema& schema, const Json& value) {
    const JsonObject* object = value.if_object();
    if (object == nullptr) return mismatch(schema, value);
    const TouchedFields touched = touched_;
    for (const auto& entry : *object) {
      const auto below = touched.below(entry.key(), entry.value());
      if (!below) continue;
      const Schema* field = schema.field(entry.key());
      if (field == nullptr) continue;
      touched_ = *below;
      const Schema* outer = struct_;
      size_t length = path_.size();
      struct_ = &schema;
      if (!path_.empty()) path_ += '.';
      path_ += std::string_view(entry.key());
      if (!check(*field, entry.value())) return false;
      path_.resize(length);
      struct_ = outer;
    }
    touched_ = touched;
    return true;
  }

  bool check_map(const Schema& schema, const Json& value) {
    const JsonObject* object = value.if_object();
    if (object == nullptr) return mismatch(schema, value);
    const TouchedFields touched = touched_;
    for (const auto& entry : *object) {
      const auto below = touched.below(entry.key(), entry.value());
      if (!below) continue;
      touched_ = *below;
      if (!check(*schema.items, entry.value())) return false;
    }
    touched_ = touched;
    return true;
  }

  bool check_array(const Schema& schema, const Json& value) {
    const JsonArray* array = value.if_array();
    if (array == nullptr) return mismatch(schema, value);
    const TouchedFields touched = touched_;
    for (size_t i = 0; i < array->size(); ++i) {
      const auto below = touched.below_item(i, (*array)[i]);
      if (!below) continue;
      touched_ = *below;
      if (!check(*schema.items, (*array)[i])) return false;
    }
    touched_ = touched;
    return true;
  }

  bool check_string(const Schema& schema, const Json& value) {
    if (schema.format == "quantity") return check_quantity(value);
    if (!value.is_string()) return mismatch(schema, value);
    std::string_view text = value.get_string();
    if (schema.format == "date-time") {
      // Go's zero time is written as null or, by old clients, as an empty string.
      if (has_format(text, schema.format)) return true;
      return refuse(fmt::format(
          "parsing time {0} as \"2006-01-02T15:04:05Z07:00\": cannot parse {0} as \"2006\"",
          go_quote(text)));
    }
    if (schema.format == "byte" && !has_format(text, "byte")) {
      return refuse(fmt::format("illegal base64 data at input byte {}", bad_base64_byte(text)));
    }
    return true;
  }

  static size_t bad_base64_byte(std::string_view text) {
    static constexpr std::string_view alphabet =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=";
    size_t bad = text.find_first_not_of(alphabet);
    return bad == std::string_view::npos ? text.size() / 4 * 4 : bad;
  }

  bool check_quantity(const Json& value) {
    if (value.is_number()) return true;
    if (value.is_string() && is_quantity(value.get_string())) return true;
    return refuse(
        "quantities must match the regular expression "
        "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
  }

  bool check_integer(const Schema& schema, const Json& value) {
    if (!value.is_number()) return mismatch(schema, value);
    bool fits = value.is_int64();
    if (fits && schema.format == "int32") {
      fits = value.get_int64() <= std::numeric_limits<int32_t>::max() &&
             value.get_int64() >= std::numeric_limits<int32_t>::min();
    }
    return fits || mismatch(schema, "number " + print_json(value));
  }

  bool check_int_or_string(const Json& value) {
    if (value.is_string() || value.is_int64()) return true;
    return refuse(
        fmt::format("json: cannot unmarshal {} into Go value of type int32", go_kind(value)));
  }

  std::string path_;
  const Schema* struct_ = nullptr;
  TouchedFields touched_;
};

}  // namespace

std::optional<std::string> decode_error(const Schema& schema, const Json& object,
                                        const TouchedFields& touched) {
  Decoding decoding(touched);
  if (decoding.check(schema, object)) return std::nullopt;
  return std::move(decoding.error);
}

}  // namespace lockstep::apiserver
