#include <algorithm>

#include "data/patch.h"

namespace lockstep {

namespace {

// Nulls in objects; those in lists stay, as a patch replaces a list whole.
bool has_nulls(const Json& patch) {
  const JsonObject* object = patch.if_object();
  if (object == nullptr) return false;
  return std::any_of(object->begin(), object->end(), [](const auto& field) {
    return field.value().is_null() || has_nulls(field.value());
  });
}

// What a patch leaves where there was nothing: its nulls have nothing to remove.
void add_without_nulls(JsonObject& object, std::string_view key, const Json& patch) {
  if (!has_nulls(patch)) {
    object.emplace(key, patch);
    return;
  }
  Json value(object.storage());
  apply_merge_patch(value, patch);
  object.emplace(key, std::move(value));
}

JsonObject difference(const JsonObject& before, const JsonObject& after) {
  JsonObject patch;
  for (const auto& [key, value] : before) {
    if (!after.contains(key)) patch.emplace(key, nullptr);
  }
  for (const auto& [key, value] : after) {
    const Json* old = before.if_contains(key);
    if (old == nullptr) {
      patch.emplace(key, value);
    } else if (!json_equal(*old, value)) {
      patch.emplace(key, make_merge_patch(*old, value));
    }
  }
  return patch;
}

}  // namespace

void apply_merge_patch(Json& document, const Json& patch) {
  if (&document == &patch) {
    const Json copy = patch;  // NOLINT: the patch changes while it is applied
    return apply_merge_patch(document, copy);
  }
  if (!patch.is_object()) {
    document = patch;
    return;
  }
  if (!document.is_object()) document.emplace_object();
  JsonObject& object = document.get_object();
  for (const auto& [key, value] : patch.get_object()) {
    if (value.is_null()) {
      erase_key(object, key);
    } else if (Json* child = object.if_contains(key)) {
      apply_merge_patch(*child, value);
    } else {
      add_without_nulls(object, key, value);
    }
  }
}

Json make_merge_patch(const Json& before, const Json& after) {
  if (!before.is_object() || !after.is_object()) return after;
  return difference(before.get_object(), after.get_object());
}

}  // namespace lockstep
