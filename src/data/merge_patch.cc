#include <algorithm>
#include <utility>

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

// Nothing to do; what is not touched stays shared with the document before.
bool is_there(const Json& held, const Json& patch) {
  const JsonObject* fields = patch.if_object();
  if (fields == nullptr) return held.kind() == patch.kind() && !held.is_double() && held == patch;
  return held.is_object() && std::all_of(fields->begin(), fields->end(), [&](const auto& field) {
           const Json* child = find(held, field.key());
           if (field.value().is_null()) return child == nullptr;
           return child != nullptr && is_there(*child, field.value());
         });
}

// What a patch leaves where there was nothing: its nulls have nothing to remove.
void add_without_nulls(JsonObject& object, std::string_view key, const Json& patch) {
  if (!has_nulls(patch)) {
    object.emplace(key, patch);
    return;
  }
  Json value;
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
    } else if (const Json* held = std::as_const(object).if_contains(key)) {
      if (!is_there(*held, value)) apply_merge_patch(*object.if_contains(key), value);
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
