#include "apiserver/schema/schema.h"

#include <algorithm>

namespace lockstep::apiserver {

namespace {

// Steps over arrays: a path names no indexes.
const Schema* item_of(const Schema* schema) {
  while (schema != nullptr && schema->type == Schema::Type::array) schema = schema->items;
  return schema;
}

const Schema* child_of(const Schema* schema, std::string_view name) {
  if (schema == nullptr) return nullptr;
  return schema->type == Schema::Type::map ? schema->items : schema->field(name);
}

const Json* item_at(const Json* list, size_t at) {
  if (list == nullptr || !list->is_array()) return nullptr;
  return list->get_array().if_contains(at);
}

// Two versions of a document that share this part of it.
bool is_shared(const Json* before, const Json& value) {
  if (before == nullptr || before->kind() != value.kind()) return false;
  if (value.is_object()) return before->get_object().is_same(value.get_object());
  return value.is_array() && before->get_array().is_same(value.get_array());
}

}  // namespace

TouchedFields TouchedFields::by(const JsonObject& patch, const Json* before) {
  TouchedFields touched;
  touched.before_ = before;
  bool has_directive = std::any_of(patch.begin(), patch.end(),
                                   [](const auto& field) { return field.key().starts_with('$'); });
  if (!has_directive) touched.patch_ = &patch;
  return touched;
}

bool TouchedFields::contains(std::string_view field) const {
  return patch_ == nullptr || (is_top_ && field == "metadata") || patch_->contains(field);
}

std::optional<TouchedFields> TouchedFields::below(std::string_view field, const Json& value) const {
  static const JsonObject nothing;
  TouchedFields touched;
  if (patch_ != nullptr) {
    const Json* patch = patch_->if_contains(field);
    if (patch == nullptr && !(is_top_ && field == "metadata")) return std::nullopt;
    if (patch == nullptr) {
      touched.patch_ = &nothing;
    } else if (patch->is_object()) {
      touched = by(patch->get_object());
    }
  }
  touched.is_top_ = false;
  if (before_ == nullptr || value.is_primitive()) return touched;
  touched.before_ = find(*before_, field);
  if (is_shared(touched.before_, value)) return std::nullopt;
  return touched;
}

std::optional<TouchedFields> TouchedFields::below_item(size_t at, const Json& value) const {
  TouchedFields touched;
  touched.before_ = item_at(before_, at);
  touched.is_top_ = false;
  if (is_shared(touched.before_, value)) return std::nullopt;
  return touched;
}

bool TouchedFields::only_status() const {
  if (patch_ == nullptr) return false;
  return std::all_of(patch_->begin(), patch_->end(), [](const auto& field) {
    std::string_view key = field.key();
    return key == "status" || key == "metadata" || key == "apiVersion" || key == "kind";
  });
}

ListMerge SchemaMerge::at(std::string_view path) const {
  const Schema* schema = root_;
  while (!path.empty()) {
    size_t dot = path.find('.');
    schema = child_of(item_of(schema), path.substr(0, dot));
    if (schema == nullptr) return {};
    path = dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
  }
  return schema == nullptr ? ListMerge{} : schema->patch;
}

}  // namespace lockstep::apiserver
