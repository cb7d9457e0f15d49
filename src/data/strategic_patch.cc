// What Kubernetes does, including what it does not document, is in apimachinery's
// pkg/util/strategicpatch; strategic_patch_test.cc holds its answers.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "data/patch.h"
#include "data/strategic_list.h"

namespace lockstep {

namespace {

constexpr std::string_view directive_marker = "$patch";
constexpr std::string_view retain_keys_marker = "$retainKeys";
constexpr std::string_view delete_marker = "$deleteFromPrimitiveList";
constexpr std::string_view order_marker = "$setElementOrder";

bool is_directive(std::string_view key) {
  return key == directive_marker || key == retain_keys_marker || key.starts_with(delete_marker) ||
         key.starts_with(order_marker);
}

// "containers" of "$setElementOrder/containers".
Result<std::string_view> field_of(std::string_view directive, std::string_view marker) {
  const std::string_view rest = directive.substr(marker.size());
  if (rest.size() > 1 && rest.front() == '/') return rest.substr(1);
  return failf(ErrorKind::invalid, "invalid patch format: \"{}\" should be \"{}/\" and a field",
               directive, marker);
}

// Without null fields and directives, as nearly all patches are: it is copied as it is.
bool is_plain(const Json& value) {
  if (const JsonObject* object = value.if_object()) {
    return std::all_of(object->begin(), object->end(), [](const auto& field) {
      return !field.key().starts_with('$') && !field.value().is_null() && is_plain(field.value());
    });
  }
  const JsonArray* array = value.if_array();
  return array == nullptr || std::all_of(array->begin(), array->end(), is_plain);
}

// As Kubernetes' decoder leaves it: null fields are not there, directives are unknown fields.
Json decoded(const Json& value) {
  if (is_plain(value)) return Json(value);
  if (const JsonObject* object = value.if_object()) {
    JsonObject result;
    for (const auto& [key, child] : *object) {
      if (!child.is_null() && !is_directive(key)) result.emplace(key, decoded(child));
    }
    return result;
  }
  if (const JsonArray* array = value.if_array()) {
    JsonArray result;
    result.reserve(array->size());
    for (const Json& item : *array) result.push_back(decoded(item));
    return result;
  }
  return Json(value);
}

bool has_directive(const Json& value) {
  const Json* directive = find(value, directive_marker);
  return directive != nullptr && !directive->is_null();
}

// A part of the patch that meets nothing to merge with. Objects with a "$patch" are there to change
// something, so they vanish.
std::optional<Json> as_new(const Json& value) {
  if (is_plain(value)) return Json(value);
  if (has_directive(value)) return std::nullopt;
  if (const JsonObject* object = value.if_object()) {
    JsonObject result;
    for (const auto& [key, child] : *object) {
      if (child.is_null() || is_directive(key)) continue;
      if (auto kept = as_new(child)) result.emplace(key, std::move(*kept));
    }
    return result;
  }
  if (const JsonArray* array = value.if_array()) {
    JsonArray result;
    for (const Json& item : *array) {
      if (auto kept = as_new(item)) result.push_back(std::move(*kept));
    }
    return result;
  }
  return Json(value);
}

void set_new(JsonObject& original, std::string_view key, const Json& value) {
  if (auto kept = as_new(value)) {
    original.insert_or_assign(key, std::move(*kept));
  } else {
    erase_key(original, key);
  }
}

Error at_path(Error error, const std::string& path) {
  if (error.place.empty()) error.place = path;
  return error;
}

// Drops what $retainKeys does not list. It must list all that the patch itself sets.
Result<void> retain_keys(JsonObject& original, const JsonObject& patch) {
  const Json* directive = patch.if_contains(retain_keys_marker);
  if (directive == nullptr) return {};
  constexpr const char* problem = "invalid patch format of retainKeys";
  if (!directive->is_array()) return fail(ErrorKind::invalid, problem);
  std::set<std::string_view> retained;
  for (const Json& key : directive->get_array()) {
    if (!key.is_string()) return fail(ErrorKind::invalid, problem);
    retained.insert(as_text(&key));
  }
  for (const auto& [key, value] : patch) {
    if (value.is_null() || is_directive(key)) continue;
    if (!retained.contains(key)) {
      return failf(ErrorKind::invalid, "{}: it lacks \"{}\", which the patch sets", problem,
                   std::string_view(key));
    }
  }
  JsonObject kept;
  for (auto& [key, value] : original) {
    if (retained.contains(key)) kept.emplace(key, std::move(value));
  }
  original = std::move(kept);
  return {};
}

// The list of a patch, with its directives taken apart.
struct ListPatch {
  JsonArray items;
  std::set<std::string> deleted;  // by the text of their merge key
  bool replaces = false;
};

Result<ListPatch> take_apart(const JsonArray& patch, const std::string& key) {
  ListPatch result;
  for (const Json& item : patch) {
    const Json* directive = find(item, directive_marker);
    if (directive == nullptr) {
      result.items.push_back(item);
    } else if (as_text(directive) == "replace") {
      result.replaces = true;
    } else if (as_text(directive) == "delete") {
      LOCKSTEP_TRY(const Identities identity, identities_of(JsonArray{item}, key));
      result.deleted.insert(identity.front());
    } else if (as_text(directive) == "merge") {
      return fail(ErrorKind::invalid, "merging lists cannot yet be specified in the patch");
    } else {
      return failf(ErrorKind::invalid, "unknown patch type: {} in map: {}", print_json(*directive),
                   print_json(item));
    }
  }
  return result;
}

// The order of the live list after deletions. In Kubernetes, items that the patch adds then take
// the places that became free at the end of it (it is the same array in memory), and count as live.
Identities order_after(const Identities& before, const std::set<std::string>& deleted,
                       const Identities& added) {
  Identities after;
  std::set<std::string> seen;
  const auto append = [&](const std::string& identity) {
    after.push_back(identity);
    seen.insert(identity);
  };
  for (const std::string& identity : before) {
    if (!deleted.contains(identity)) append(identity);
  }
  for (const std::string& identity : added) {
    if (after.size() < before.size() && !seen.contains(identity)) append(identity);
  }
  return after;
}

// A patch of exactly the existing items in their order, as controllers send that write a whole
// status: nothing is added, removed or moved. Only for short lists of items with names.
bool names_same_items(const JsonArray& original, const JsonArray& patch, std::string_view key) {
  constexpr size_t longest = 12;
  if (original.size() != patch.size() || original.size() > longest) return false;
  for (size_t i = 0; i < original.size(); ++i) {
    const Json* name = find(patch[i], key);
    const Json* held = find(original[i], key);
    if (name == nullptr || held == nullptr || !name->is_string() || !held->is_string())
      return false;
    if (as_text(name) != as_text(held) || find(patch[i], directive_marker) != nullptr) return false;
    for (size_t j = 0; j < i; ++j) {
      if (text_at(original[j], key) == as_text(held)) return false;
    }
  }
  return true;
}

JsonArray plain_items(const JsonArray& patch) {
  JsonArray items;
  for (const Json& item : patch) {
    if (find(item, directive_marker) == nullptr) items.push_back(item);
  }
  return items;
}

class StrategicMerger {
 public:
  explicit StrategicMerger(const MergeSchema& schema) : schema_(schema) {}

  Result<void> merge(JsonObject& original, const JsonObject& patch, const std::string& path);

 private:
  // Nothing to do: merging a value into itself changes nothing. A controller that writes a status
  // writes all of it, mostly unchanged. Unchanged parts stay shared with the previous object.
  bool is_there(const Json& held, const Json& value, const std::string& path) const;
  bool is_there(const JsonArray& held, const JsonArray& value, const std::string& path) const;

  Result<void> merge_fields(JsonObject& original, const JsonObject& patch, const std::string& path);
  Result<void> merge_field(JsonObject& original, std::string_view key, const Json& value,
                           const std::string& path);
  Result<void> merge_ordered(JsonObject& original, const Json* patch, std::string_view key,
                             const Json& order, const std::string& path);
  Result<JsonArray> merge_list(JsonArray original, const JsonArray& patch, const std::string& path);
  Result<JsonArray> merge_set(const JsonArray& original, const JsonArray& patch);
  Result<JsonArray> merge_by_key(JsonArray original, const JsonArray& patch, const std::string& key,
                                 const std::string& path);

  const MergeSchema& schema_;
};

std::string child_path(const std::string& path, std::string_view key) {
  std::string child;
  child.reserve(path.size() + 1 + key.size());
  child += path;
  if (!path.empty()) child += '.';
  child += key;
  return child;
}

bool StrategicMerger::is_there(const Json& held, const Json& value, const std::string& path) const {
  if (held.kind() != value.kind() || held.is_double()) return false;
  if (const JsonArray* items = value.if_array()) return is_there(held.get_array(), *items, path);
  const JsonObject* fields = value.if_object();
  if (fields == nullptr) return held == value;
  return std::all_of(fields->begin(), fields->end(), [&](const auto& field) {
    if (field.value().is_null() || field.key().starts_with('$')) return false;
    const Json* child = find(held, field.key());
    if (child == nullptr) return false;
    // Only what holds something has a path below it.
    if (field.value().is_primitive()) return is_there(*child, field.value(), path);
    return is_there(*child, field.value(), child_path(path, field.key()));
  });
}

bool StrategicMerger::is_there(const JsonArray& held, const JsonArray& value,
                               const std::string& path) const {
  const ListMerge how = schema_.at(path);
  if (how.kind == ListMerge::Kind::atomic) {
    return held == value && std::all_of(value.begin(), value.end(), is_plain);
  }
  if (how.kind != ListMerge::Kind::by_key || !names_same_items(held, value, how.key)) return false;
  for (size_t i = 0; i < held.size(); ++i) {
    if (!is_there(held[i], value[i], path)) return false;
  }
  return true;
}

Result<void> StrategicMerger::merge(JsonObject& original, const JsonObject& patch,
                                    const std::string& path) {
  if (const Json* directive = patch.if_contains(directive_marker)) {
    if (as_text(directive) == "replace") {
      original = std::move(decoded(patch).get_object());
    } else if (as_text(directive) == "delete") {
      original.clear();
    } else {
      return failf(ErrorKind::invalid, "unknown patch type: {} in map: {}", print_json(*directive),
                   print_json(patch));
    }
    return {};
  }
  LOCKSTEP_CHECK(retain_keys(original, patch));
  return merge_fields(original, patch, path);
}

// Ordered lists first, then the other fields, then deletions from lists of primitives. Kubernetes
// takes the last two in any order; kubectl always sends an order along, and with it this is the
// order.
Result<void> StrategicMerger::merge_fields(JsonObject& original, const JsonObject& patch,
                                           const std::string& path) {
  std::set<std::string_view> done;
  for (const auto& [key, value] : patch) {
    if (!key.starts_with(order_marker)) continue;
    LOCKSTEP_TRY(const std::string_view field, field_of(key, order_marker));
    const std::string field_path = child_path(path, field);
    auto result = merge_ordered(original, patch.if_contains(field), field, value, field_path);
    if (!result) return fail(at_path(std::move(result).error(), field_path));
    done.insert(field);
  }
  for (const auto& [key, value] : patch) {
    if (is_directive(key) || done.contains(key)) continue;
    const std::string field_path = child_path(path, key);
    auto result = merge_field(original, key, value, field_path);
    if (!result) return fail(at_path(std::move(result).error(), field_path));
  }
  for (const auto& [key, value] : patch) {
    if (!key.starts_with(delete_marker)) continue;
    LOCKSTEP_TRY(const std::string_view field, field_of(key, delete_marker));
    Json* list = original.if_contains(field);
    if (value.is_null()) {
      erase_key(original, field);
    } else if (!value.is_array()) {
      return failf(ErrorKind::invalid, "invalid patch format of primitive list: \"{}\"",
                   std::string_view(key));
    } else if (list != nullptr && list->is_array()) {
      *list = without_items(list->get_array(), value.get_array());
    }
  }
  return {};
}

Result<void> StrategicMerger::merge_field(JsonObject& original, std::string_view key,
                                          const Json& value, const std::string& path) {
  if (value.is_null()) {
    erase_key(original, key);
    return {};
  }
  const Json* held = std::as_const(original).if_contains(key);
  if (held != nullptr && is_there(*held, value, path)) return {};
  Json* child = original.if_contains(key);
  if (child != nullptr && child->is_object() && value.is_object()) {
    return merge(child->get_object(), value.get_object(), path);
  }
  if (child != nullptr && child->is_array() && value.is_array()) {
    LOCKSTEP_TRY(*child, merge_list(std::move(child->get_array()), value.get_array(), path));
    return {};
  }
  set_new(original, key, value);
  return {};
}

// A list together with its $setElementOrder. `patch` is what the patch says of the list, if
// anything.
Result<void> StrategicMerger::merge_ordered(JsonObject& original, const Json* patch,
                                            std::string_view key, const Json& order,
                                            const std::string& path) {
  const Json* live = original.if_contains(key);
  if (live != nullptr && live->is_null()) live = nullptr;
  if (live == nullptr && patch == nullptr) return {};
  if (!order.is_array() || (patch != nullptr && !patch->is_array()) ||
      (live != nullptr && !live->is_array())) {
    return fail(ErrorKind::invalid, "invalid patch format of setElementOrder list");
  }
  const JsonArray live_items = live == nullptr ? JsonArray() : live->get_array();
  const JsonArray patch_items = patch == nullptr ? JsonArray() : patch->get_array();
  const ListMerge how = schema_.at(path);
  const std::string& merge_key = how.key;

  LOCKSTEP_TRY(const ItemKind kind, kind_of_items(live_items, patch_items));
  if (kind == ItemKind::none) {
    return fail(ErrorKind::invalid, "no elements in any of the given slices");
  }
  if (kind == ItemKind::object && merge_key.empty()) {
    return fail(ErrorKind::invalid, "$setElementOrder for a list of maps without a merge key");
  }
  LOCKSTEP_TRY(const Identities wanted, identities_of(order.get_array(), merge_key));
  LOCKSTEP_TRY(const Identities plain, identities_of(plain_items(patch_items), merge_key));
  LOCKSTEP_TRY(const Identities before, identities_of(live_items, merge_key));
  LOCKSTEP_CHECK(check_order(plain, wanted));

  JsonArray merged = live_items;
  Identities live_order = before;
  if (live == nullptr) {
    merged = as_new(*patch)->get_array();
  } else if (patch != nullptr) {
    LOCKSTEP_TRY(merged, merge_list(std::move(merged), patch_items, path));
    if (how.kind == ListMerge::Kind::by_key) {
      LOCKSTEP_TRY(const ListPatch list_patch, take_apart(patch_items, merge_key));
      if (!list_patch.replaces) live_order = order_after(before, list_patch.deleted, plain);
    }
  }
  LOCKSTEP_TRY(const Identities identities, identities_of(merged, merge_key));
  original.insert_or_assign(key, in_order(std::move(merged), identities, wanted, live_order));
  return {};
}

Result<JsonArray> StrategicMerger::merge_list(JsonArray original, const JsonArray& patch,
                                              const std::string& path) {
  const ListMerge how = schema_.at(path);
  if (how.kind == ListMerge::Kind::atomic) {
    return std::move(decoded(patch).get_array());
  }
  if (original.empty() && patch.empty()) return original;
  LOCKSTEP_TRY(const ItemKind kind, kind_of_items(original, patch));
  if (how.kind == ListMerge::Kind::by_key) {
    return merge_by_key(std::move(original), patch, how.key, path);
  }
  if (kind == ItemKind::object) {
    return fail(ErrorKind::invalid, "cannot merge lists of maps without merge key");
  }
  return merge_set(original, patch);
}

Result<JsonArray> StrategicMerger::merge_set(const JsonArray& original, const JsonArray& patch) {
  JsonArray both = original;
  both.insert(both.end(), patch.begin(), patch.end());
  JsonArray merged = without_duplicates(both);
  LOCKSTEP_TRY(const Identities identities, identities_of(merged, {}));
  LOCKSTEP_TRY(const Identities wanted, identities_of(patch, {}));
  LOCKSTEP_TRY(const Identities live, identities_of(original, {}));
  return in_order(std::move(merged), identities, wanted, live);
}

Result<JsonArray> StrategicMerger::merge_by_key(JsonArray original, const JsonArray& patch,
                                                const std::string& key, const std::string& path) {
  if (names_same_items(original, patch, key)) {
    for (size_t i = 0; i < original.size(); ++i) {
      if (is_there(std::as_const(original)[i], patch[i], path)) continue;
      LOCKSTEP_CHECK(merge(original[i].get_object(), patch[i].get_object(), path));
    }
    return original;
  }
  LOCKSTEP_TRY(const ListPatch list_patch, take_apart(patch, key));
  LOCKSTEP_TRY(const Identities wanted, identities_of(list_patch.items, key));
  if (list_patch.replaces) {
    return in_order(std::move(decoded(list_patch.items).get_array()), wanted, {}, wanted);
  }
  LOCKSTEP_TRY(const Identities before, identities_of(original, key));

  JsonArray merged;
  Identities live;
  std::map<std::string_view, size_t> places;
  for (size_t i = 0; i < original.size(); ++i) {
    if (list_patch.deleted.contains(before[i])) continue;
    places.emplace(before[i], merged.size());
    merged.push_back(std::move(original[i]));
    live.push_back(before[i]);
  }
  for (size_t i = 0; i < wanted.size(); ++i) {
    const Json& item = list_patch.items[i];
    auto [place, is_new] = places.emplace(wanted[i], merged.size());
    if (is_new) {
      merged.push_back(decoded(item));
    } else {
      LOCKSTEP_CHECK(merge(merged[place->second].get_object(), item.get_object(), path));
    }
  }
  LOCKSTEP_TRY(const Identities identities, identities_of(merged, key));
  return in_order(std::move(merged), identities, wanted, live);
}

}  // namespace

Result<Json> strategically_patched(const Json& document, const Json& patch,
                                   const MergeSchema& schema) {
  if (!patch.is_object() || !document.is_object()) {
    return fail(ErrorKind::invalid, "a strategic merge patch is an object, for an object");
  }
  JsonObject result = document.get_object();
  LOCKSTEP_CHECK(StrategicMerger(schema).merge(result, patch.get_object(), {}));
  return Json(std::move(result));
}

Result<void> apply_strategic_patch(Json& document, const Json& patch, const MergeSchema& schema) {
  LOCKSTEP_TRY(document, strategically_patched(document, patch, schema));
  return {};
}

}  // namespace lockstep
