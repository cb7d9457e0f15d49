#include "apiserver/apply/structure.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/strings.h"

namespace lockstep::apiserver {

namespace {

bool is_deduced(const Schema* schema) {
  return schema == nullptr || schema->type == Schema::Type::any;
}

// A part of a built-in object that may hold anything (RawExtension): owned as a whole.
bool is_opaque(const Schema* schema) {
  return schema != nullptr && schema->typed && schema->preserve_unknown && schema->fields.empty();
}

const JsonObject* map_of(const Json* value) {
  return value == nullptr ? nullptr : value->if_object();
}
const JsonArray* list_of(const Json* value) {
  return value == nullptr ? nullptr : value->if_array();
}

template <typename Container>
bool is_empty(const Container* container) {
  return container == nullptr || container->empty();
}

}  // namespace

ValueShape shape_of(const Schema* schema, const Json& value) {
  if (is_opaque(schema)) return ValueShape::leaf;
  if (is_deduced(schema)) {
    if (value.is_array()) return ValueShape::list;
    return value.is_object() || value.is_null() ? ValueShape::map : ValueShape::leaf;
  }
  switch (schema->type) {
    case Schema::Type::object:
    case Schema::Type::map:
      return ValueShape::map;
    case Schema::Type::array:
      return ValueShape::list;
    default:
      return ValueShape::leaf;
  }
}

bool is_atomic(const Schema* schema, ValueShape shape) {
  if (shape == ValueShape::leaf) return true;
  if (shape == ValueShape::map) return schema != nullptr && schema->atomic;
  return is_deduced(schema) || schema->list_kind == Schema::ListKind::atomic;
}

bool is_declared_field(const Schema* schema, std::string_view name) {
  return !is_deduced(schema) && schema->type == Schema::Type::object &&
         schema->field(name) != nullptr;
}

const Schema* field_schema(const Schema* schema, std::string_view name) {
  if (is_deduced(schema)) return nullptr;
  if (schema->type == Schema::Type::map) return schema->items;
  const Schema* declared = schema->field(name);
  return declared != nullptr ? declared : schema->items;
}

const Schema* item_schema(const Schema* list) { return is_deduced(list) ? nullptr : list->items; }

namespace {

std::optional<PathElement> keyed_element(const Schema& list, const Json& item) {
  if (!item.is_object()) return std::nullopt;
  JsonObject key;
  for (const std::string& name : list.list_keys) {
    if (const Json* value = find(item, name)) {
      key.emplace(name, *value);
      continue;
    }
    const Schema* declared = list.items == nullptr ? nullptr : list.items->field(name);
    if (declared != nullptr && declared->default_value) key.emplace(name, *declared->default_value);
  }
  if (key.empty()) return std::nullopt;
  return PathElement{PathElement::Kind::key, canonical_json(key)};
}

}  // namespace

std::optional<PathElement> item_element(const Schema* list, const Json& item) {
  if (list->list_kind == Schema::ListKind::map) return keyed_element(*list, item);
  if (item.is_object() || item.is_array() || item.is_null()) return std::nullopt;
  return PathElement::value(item);
}

// ---- listing ----

namespace {

class FieldLister {
 public:
  FieldSet take() { return std::move(set_); }

  void visit(const Json& value, const Schema* schema) {
    const ValueShape shape = shape_of(schema, value);
    if (is_atomic(schema, shape)) {
      set_.insert(path_);
    } else if (shape == ValueShape::map && value.is_object()) {
      visit_map(value.get_object(), schema);
    } else if (shape == ValueShape::list && value.is_array()) {
      visit_list(value.get_array(), schema);
    }
  }

 private:
  void visit_map(const JsonObject& object, const Schema* schema) {
    for (const auto& [name, value] : object) {
      path_.push_back(PathElement::field(name));
      visit(value, field_schema(schema, name));
      const bool is_bare = value.is_null() || (value.is_object() && value.get_object().empty());
      if (is_bare || !is_declared_field(schema, name)) set_.insert(path_);
      path_.pop_back();
    }
  }

  void visit_list(const JsonArray& items, const Schema* schema) {
    std::map<std::string, int> seen;
    for (const Json& item : items) {
      if (const auto element = item_element(schema, item)) ++seen[element->text];
    }
    for (const Json& item : items) {
      const std::optional<PathElement> element = item_element(schema, item);
      if (!element) continue;
      path_.push_back(*element);
      // Items that cannot be distinguished are owned together, not field by field.
      if (seen[element->text] == 1) visit(item, item_schema(schema));
      set_.insert(path_);
      path_.pop_back();
    }
  }

  FieldSet set_;
  FieldPath path_;
};

}  // namespace

FieldSet fields_of(const Json& object, const Schema* schema) {
  FieldLister lister;
  lister.visit(object, schema);
  return lister.take();
}

// ---- merging ----

namespace {

std::optional<Json> merge(const Json* live, const Json* applied, const Schema* schema);

std::optional<Json> merge_maps(const JsonObject* live, const JsonObject* applied,
                               const Schema* schema) {
  JsonObject merged;
  const auto add = [&](std::string_view name, const Json* ours, const Json* theirs) {
    if (auto value = merge(ours, theirs, field_schema(schema, name))) {
      merged.emplace(name, std::move(*value));
    }
  };
  if (live != nullptr) {
    for (const auto& [name, value] : *live) {
      add(name, &value, applied == nullptr ? nullptr : applied->if_contains(name));
    }
  }
  if (applied != nullptr) {
    for (const auto& [name, value] : *applied) {
      if (live == nullptr || !live->contains(name)) add(name, nullptr, &value);
    }
  }
  if (merged.empty()) return std::nullopt;
  return merged;
}

// A list's items by element, in order. An element that occurs twice has no item to merge with.
struct ItemIndex {
  std::vector<std::pair<PathElement, const Json*>> items;
  std::map<std::string, const Json*> by_text;

  ItemIndex(const JsonArray* list, const Schema* schema) {
    if (list == nullptr) return;
    for (const Json& item : *list) {
      std::optional<PathElement> element = item_element(schema, item);
      if (!element) continue;
      const auto [position, inserted] = by_text.emplace(element->text, &item);
      if (!inserted) position->second = nullptr;
      items.emplace_back(std::move(*element), &item);
    }
  }

  bool has(const PathElement& element) const { return by_text.contains(element.text); }
  const Json* find(const PathElement& element) const {
    const auto found = by_text.find(element.text);
    return found == by_text.end() ? nullptr : found->second;
  }
};

// Merges two keyed lists. Items of `applied` come in its order; items only in `live` stay where
// they are relative to the shared ones around them.
class ListMerger {
 public:
  ListMerger(const JsonArray* live, const JsonArray* applied, const Schema* schema)
      : live_(live, schema), applied_(applied, schema), schema_(schema) {
    for (const auto& [element, item] : applied_.items) {
      if (live_.has(element)) shared_.push_back(&element);
    }
  }

  std::optional<Json> merged() {
    while (has_live() || has_applied()) step();
    if (out_.empty()) return std::nullopt;
    return std::move(out_);
  }

 private:
  bool has_live() const { return next_live_ < live_.items.size(); }
  bool has_applied() const { return next_applied_ < applied_.items.size(); }
  const PathElement* next_shared() const {
    return next_shared_ < shared_.size() ? shared_[next_shared_] : nullptr;
  }

  void step() {
    if (has_live()) {
      const auto& [element, item] = live_.items[next_live_];
      if (has_applied()) {
        if (element == applied_.items[next_applied_].first) {
          ++next_live_;
          ++next_shared_;
          take_applied();
          return;
        }
        if (applied_.has(element) && next_shared() != nullptr && *next_shared() != element) {
          ++next_live_;  // shared, and its turn comes later
          return;
        }
      }
      if (!applied_.has(element)) {
        add(item, nullptr);
        ++next_live_;
        return;
      }
      if (done_.contains(element.text)) ++next_live_;
    }
    if (!has_applied()) return;
    const PathElement& element = applied_.items[next_applied_].first;
    if (next_shared() != nullptr && *next_shared() == element) ++next_shared_;
    take_applied();
  }

  void take_applied() {
    const auto& [element, item] = applied_.items[next_applied_++];
    done_.insert(element.text);
    add(live_.find(element), item);
  }

  void add(const Json* live, const Json* applied) {
    if (auto value = merge(live, applied, item_schema(schema_))) out_.push_back(std::move(*value));
  }

  ItemIndex live_, applied_;
  const Schema* schema_;
  std::vector<const PathElement*> shared_;
  size_t next_live_ = 0, next_applied_ = 0, next_shared_ = 0;
  std::set<std::string> done_;
  JsonArray out_;
};

std::optional<Json> merge(const Json* live, const Json* applied, const Schema* schema) {
  if (applied == nullptr) return *live;
  const ValueShape shape = shape_of(schema, *applied);
  if (is_atomic(schema, shape)) return *applied;
  if (shape == ValueShape::map) {
    if (is_empty(map_of(live)) && is_empty(map_of(applied))) return *applied;
    return merge_maps(map_of(live), map_of(applied), schema);
  }
  if (is_empty(list_of(live)) && is_empty(list_of(applied))) return *applied;
  return ListMerger(list_of(live), list_of(applied), schema).merged();
}

}  // namespace

Json merge_objects(const Json& live, const Json& applied, const Schema* schema) {
  return merge(&live, &applied, schema).value_or(JsonObject());
}

// ---- removing ----

namespace {

Json map_without(const JsonObject& object, const FieldSet& fields, const Schema* schema) {
  JsonObject kept;
  for (const auto& [name, value] : object) {
    const PathElement element = PathElement::field(name);
    if (fields.has(element)) continue;
    const FieldSet* below = fields.below(element);
    kept.emplace(
        name, below == nullptr ? value : without_fields(value, *below, field_schema(schema, name)));
  }
  return kept.empty() ? Json(nullptr) : Json(std::move(kept));
}

Json list_without(const JsonArray& items, const FieldSet& fields, const Schema* schema) {
  JsonArray kept;
  for (const Json& item : items) {
    const std::optional<PathElement> element = item_element(schema, item);
    if (element && fields.has(*element)) continue;
    const FieldSet* below = element ? fields.below(*element) : nullptr;
    kept.push_back(below == nullptr ? item : without_fields(item, *below, item_schema(schema)));
  }
  return kept.empty() ? Json(nullptr) : Json(std::move(kept));
}

}  // namespace

Json without_fields(const Json& object, const FieldSet& fields, const Schema* schema) {
  const ValueShape shape = shape_of(schema, object);
  if (shape == ValueShape::leaf) return object;
  if (is_atomic(schema, shape)) return nullptr;
  if (const JsonObject* map = object.if_object()) return map_without(*map, fields, schema);
  if (const JsonArray* list = object.if_array()) return list_without(*list, fields, schema);
  return nullptr;
}

// ---- checking ----

namespace {

std::optional<std::string> find_list_error(const JsonArray& items, const Schema* schema,
                                           const std::string& place) {
  std::set<std::string> seen;
  for (size_t i = 0; i < items.size(); ++i) {
    const std::optional<PathElement> element = item_element(schema, items[i]);
    if (!element) {
      return fmt::format(
          "{}: element {}: associative list with keys has an element that omits all key fields "
          "[\"{}\"] (and doesn't have default values for any key fields)",
          place, i, join(schema->list_keys, "\" \""));
    }
    if (!seen.insert(element->text).second) {
      return fmt::format("{}: duplicate entries for key {}", place, element->readable());
    }
  }
  return std::nullopt;
}

std::optional<std::string> find_error(const Json& value, const Schema* schema,
                                      const std::string& place) {
  if (is_deduced(schema)) return std::nullopt;
  if (const JsonObject* object = value.if_object()) {
    if (shape_of(schema, value) != ValueShape::map) return std::nullopt;
    const bool is_closed = schema->type == Schema::Type::object && !schema->fields.empty() &&
                           !schema->preserve_unknown;
    for (const auto& [name, child] : *object) {
      const std::string child_place = place + "." + std::string(name);
      if (is_closed && !is_declared_field(schema, name)) {
        return child_place + ": field not declared in schema";
      }
      if (auto error = find_error(child, field_schema(schema, name), child_place)) return error;
    }
    return std::nullopt;
  }
  const JsonArray* items = value.if_array();
  if (items == nullptr || shape_of(schema, value) != ValueShape::list) return std::nullopt;
  const bool is_keyed = !is_atomic(schema, ValueShape::list);
  if (is_keyed) {
    if (auto error = find_list_error(*items, schema, place)) return error;
  }
  for (size_t i = 0; i < items->size(); ++i) {
    const std::string item_place =
        place + (is_keyed ? item_element(schema, (*items)[i])->readable() : fmt::format("[{}]", i));
    if (auto error = find_error((*items)[i], item_schema(schema), item_place)) return error;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> find_structural_error(const Json& object, const Schema* schema) {
  return find_error(object, schema, "");
}

}  // namespace lockstep::apiserver
