#include "apiserver/kinds/builtin_rules.h"

#include <algorithm>

#include "base/strings.h"

namespace lockstep::apiserver {

const Json& object_at(const Json& parent, std::string_view key) {
  static const Json nothing = JsonObject();
  const Json* value = find(parent, key);
  return value != nullptr && value->is_object() ? *value : nothing;
}

const JsonArray& array_at(const Json& object, std::string_view key) {
  static const JsonArray none;
  const Json* value = find(object, key);
  return value != nullptr && value->is_array() ? value->get_array() : none;
}

void take_complaints(const Complaints& complaints, std::string_view value, const std::string& place,
                     Causes& causes) {
  for (const std::string& why : complaints)
    causes.push_back(cause_invalid(place, Json(value), why));
}

void check_not_negative(const Json& object, std::string_view key, const std::string& place,
                        Causes& causes) {
  const Json* value = find(object, key);
  if (value == nullptr || !value->is_int64() || value->get_int64() >= 0) return;
  causes.push_back(cause_invalid(fmt::format("{}.{}", place, key), *value,
                                 "must be greater than or equal to 0"));
}

void check_int_or_percent(const Json& value, const std::string& place, Causes& causes) {
  if (value.is_int64()) {
    if (value.get_int64() < 0) {
      causes.push_back(cause_invalid(place, value, "must be greater than or equal to 0"));
    }
    return;
  }
  take_complaints(check_percent(as_text(&value)), as_text(&value), place, causes);
  if (value.is_string() && check_percent(as_text(&value)).empty() && int_or_percent(&value) > 100) {
    causes.push_back(cause_invalid(place, value, "must not be greater than 100%"));
  }
}

int64_t int_or_percent(const Json* value) {
  if (value == nullptr) return 0;
  if (value->is_int64()) return value->get_int64();
  std::string_view text = as_text(value);
  if (text.ends_with('%')) text.remove_suffix(1);
  return parse_integer(text).value_or(0);
}

void check_one_of(const Json& value, const std::string& place,
                  const std::vector<std::string>& allowed, Causes& causes) {
  if (std::find(allowed.begin(), allowed.end(), as_text(&value)) != allowed.end()) return;
  causes.push_back(cause_unsupported(place, value, allowed));
}

void check_unchanged(const Json& object, const Json& before, std::string_view parent,
                     std::string_view key, Causes& causes) {
  static const Json nothing;
  const Json* is = find(object, parent, key);
  const Json* was = find(before, parent, key);
  if (json_equal(is == nullptr ? nothing : *is, was == nullptr ? nothing : *was)) return;
  causes.push_back(cause_invalid(fmt::format("{}.{}", parent, key), is == nullptr ? nothing : *is,
                                 immutable_message));
}

void check_port(const Json& value, const std::string& place, Causes& causes) {
  int64_t port = as_integer(&value);
  if (port >= 1 && port <= 65535) return;
  causes.push_back(cause_invalid(place, value, "must be between 1 and 65535, inclusive"));
}

std::vector<StatusCause> validate_builtin(const ResourceInfo& info, const Json& object,
                                          const Json* before) {
  Causes causes;
  if (!object.is_object()) return causes;
  check_metadata(info, object, before, causes);
  if (info.custom) return causes;
  const Kind& kind = kind_of(info);
  if (kind.check != nullptr) kind.check(object, before, causes);
  return causes;
}

}  // namespace lockstep::apiserver
