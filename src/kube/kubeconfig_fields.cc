#include "kube/kubeconfig_fields.h"

#include <utility>

#include "base/strings.h"

namespace lockstep::kube {

namespace {

std::string_view name_of_type(const Json& value) {
  switch (value.kind()) {
    case JsonKind::null:
      return "null";
    case JsonKind::bool_:
      return "a boolean";
    case JsonKind::string:
      return "a string";
    case JsonKind::array:
      return "a list";
    case JsonKind::object:
      return "a mapping";
    default:
      return "a number";
  }
}

}  // namespace

ConfigFields::ConfigFields(const Json& value, std::string where) : where_(std::move(where)) {
  if (value.is_object()) {
    object_ = &value.get_object();
  } else if (!value.is_null()) {
    error_ = Error{ErrorKind::invalid,
                   fmt::format("must be a mapping, but is {}", name_of_type(value)), where_};
  }
}

const Json* ConfigFields::raw(std::string_view key) const {
  if (object_ == nullptr) return nullptr;
  const Json* value = find(*object_, key);
  return value == nullptr || value->is_null() ? nullptr : value;
}

void ConfigFields::wrong(std::string_view key, std::string_view wanted, const Json& found) {
  if (error_) return;
  std::string message = fmt::format("{} must be {}, but is {}", key, wanted, name_of_type(found));
  if (wanted == "a string") message += ": put it in quotes";
  error_ = Error{ErrorKind::invalid, std::move(message), where_};
}

std::string ConfigFields::text_of(const Json& value, std::string_view key) {
  if (value.is_string()) return std::string(as_text(&value));
  if (!value.is_null()) wrong(key, "a string", value);
  return {};
}

std::string ConfigFields::text(std::string_view key) {
  const Json* value = raw(key);
  return value == nullptr ? std::string() : text_of(*value, key);
}

bool ConfigFields::flag(std::string_view key) {
  const Json* value = raw(key);
  if (value == nullptr) return false;
  if (!value->is_bool()) wrong(key, "true or false", *value);
  return as_bool(value);
}

std::string ConfigFields::data(std::string_view key) {
  auto decoded = base64_decode(text(key));
  if (decoded) return std::move(*decoded);
  if (!error_) {
    error_ = Error{ErrorKind::invalid,
                   fmt::format("{} must be base64: {}", key, decoded.error().message), where_};
  }
  return {};
}

std::vector<std::string> ConfigFields::texts(std::string_view key) {
  std::vector<std::string> result;
  const Json* value = raw(key);
  if (value == nullptr) return result;
  if (!value->is_array()) {
    wrong(key, "a list of strings", *value);
    return result;
  }
  for (const Json& item : value->get_array()) result.push_back(text_of(item, key));
  return result;
}

std::map<std::string, std::vector<std::string>> ConfigFields::text_lists(std::string_view key) {
  std::map<std::string, std::vector<std::string>> result;
  const Json* value = raw(key);
  if (value == nullptr) return result;
  ConfigFields lists(*value, fmt::format("{}.{}", where_, key));
  if (value->is_object()) {
    for (const auto& entry : value->get_object()) {
      result.emplace(entry.key(), lists.texts(entry.key()));
    }
  }
  check(lists);
  return result;
}

std::string ConfigFields::path(std::string_view key, std::string_view folder) {
  return resolve_path(text(key), folder);
}

ConfigFields ConfigFields::object(std::string_view key) {
  static const Json nothing;
  const Json* value = raw(key);
  return ConfigFields(value == nullptr ? nothing : *value, fmt::format("{}.{}", where_, key));
}

std::vector<ConfigFields> ConfigFields::objects(std::string_view key) {
  std::vector<ConfigFields> result;
  const Json* value = raw(key);
  if (value == nullptr) return result;
  if (!value->is_array()) {
    wrong(key, "a list", *value);
    return result;
  }
  // The top of the file is named by its path alone, everything below as "path: field".
  const std::string_view separator = where_.find(": ") == std::string::npos ? ": " : ".";
  for (const Json& item : value->get_array()) {
    result.emplace_back(item, fmt::format("{}{}{}[{}]", where_, separator, key, result.size()));
  }
  return result;
}

Result<void> ConfigFields::check() const {
  if (error_) return fail(*error_);
  return {};
}

void ConfigFields::check(const ConfigFields& child) {
  if (!error_) error_ = child.error_;
}

std::string resolve_path(std::string_view path, std::string_view folder) {
  if (path.empty() || path.starts_with('/') || folder.empty()) return std::string(path);
  return fmt::format("{}{}{}", folder, folder.ends_with('/') ? "" : "/", path);
}

std::string folder_of(std::string_view path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return {};
  return std::string(slash == 0 ? "/" : path.substr(0, slash));
}

}  // namespace lockstep::kube
