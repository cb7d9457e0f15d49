#include "apiserver/apply/field_changes.h"

#include <algorithm>
#include <map>

#include "apiserver/apply/go_structs.h"
#include "apiserver/apply/structure.h"

namespace lockstep::apiserver {

namespace {

// The member of the same name, first looked for at the same place.
const Json* counterpart(const JsonObject& object, std::string_view name, size_t place) {
  if (place < object.size()) {
    const auto& member = object.begin()[place];
    if (std::string_view(member.key()) == name) return &member.value();
  }
  return object.if_contains(name);
}

}  // namespace

bool same_value(const Json& a, const Json& b) {
  if (a.is_object() && b.is_object()) {
    const JsonObject &left = a.get_object(), &right = b.get_object();
    if (left.size() != right.size()) return false;
    size_t place = 0;
    for (const auto& member : left) {
      const Json* other = counterpart(right, member.key(), place++);
      if (other == nullptr || !same_value(member.value(), *other)) return false;
    }
    return true;
  }
  if (a.is_array() && b.is_array()) {
    const JsonArray &left = a.get_array(), &right = b.get_array();
    return std::equal(left.begin(), left.end(), right.begin(), right.end(), same_value);
  }
  return json_equal(a, b);
}

namespace {

// The way to a value, as a chain on the stack: only fields that changed are ever written out.
struct ChangeStep {
  const ChangeStep* parent = nullptr;
  PathElement::Kind kind = PathElement::Kind::field;
  std::string_view text;

  FieldPath path() const {
    FieldPath path;
    for (const ChangeStep* step = this; step->parent != nullptr; step = step->parent) {
      path.push_back({step->kind, std::string(step->text)});
    }
    std::reverse(path.begin(), path.end());
    return path;
  }

  // "spec.template"; empty where list items are on the way.
  std::string dotted() const {
    if (parent == nullptr || kind != PathElement::Kind::field) return "";
    if (parent->parent == nullptr) return std::string(text);
    std::string before = parent->dotted();
    if (!before.empty()) before.append(".").append(text);
    return before;
  }
};

class Comparer {
 public:
  // `kind` of a built-in object; empty for others.
  explicit Comparer(std::string_view kind) : kind_(kind) {}

  FieldChanges take() { return std::move(changes_); }

  // One of the two may be missing.
  void compare(const ChangeStep& step, const Json* before, const Json* after,
               const Schema* schema) {
    if ((before == nullptr || after == nullptr) && !fill_in(step, before, after)) return;
    if (before != nullptr && after != nullptr && same_value(*before, *after)) return;
    const ValueShape shape = shape_of(schema, after != nullptr ? *after : *before);
    if (before != nullptr && after != nullptr) {
      // A value whose schema is unknown may turn from a map into a string.
      const ValueShape old_shape = shape_of(schema, *before);
      if (old_shape != shape) visit(step, before, after, schema, old_shape);
    }
    const bool is_leaf = visit(step, before, after, schema, shape);
    if (!is_leaf) note_presence(step, before, after);
  }

 private:
  // The meaning of a missing side of a built-in object. False: the value on the other side is a
  // default too.
  bool fill_in(const ChangeStep& step, const Json*& before, const Json*& after) const {
    if (kind_.empty()) return true;
    const std::string dotted = step.dotted();
    if (dotted.empty()) return true;
    if (before == nullptr && is_zero_value(kind_, dotted, *after)) return false;
    const Json* filler = value_when_missing(kind_, dotted);
    if (filler != nullptr) (before == nullptr ? before : after) = filler;
    return true;
  }

  void note_presence(const ChangeStep& step, const Json* before, const Json* after) {
    if (before == nullptr) changes_.added.insert(step.path());
    if (after == nullptr) changes_.removed.insert(step.path());
  }

  void compare_leaf(const ChangeStep& step, const Json* before, const Json* after) {
    note_presence(step, before, after);
    if (before != nullptr && after != nullptr && !json_equal(*before, *after)) {
      changes_.modified.insert(step.path());
    }
  }

  // True when the value is owned as a whole.
  bool visit(const ChangeStep& step, const Json* before, const Json* after, const Schema* schema,
             ValueShape shape) {
    if (shape == ValueShape::map) {
      const JsonObject* left = before == nullptr ? nullptr : before->if_object();
      const JsonObject* right = after == nullptr ? nullptr : after->if_object();
      const bool is_bare =
          (left == nullptr || left->empty()) && (right == nullptr || right->empty());
      if (!is_bare && !is_atomic(schema, shape)) {
        visit_map(step, left, right, schema);
        return false;
      }
    } else if (shape == ValueShape::list) {
      const JsonArray* left = before == nullptr ? nullptr : before->if_array();
      const JsonArray* right = after == nullptr ? nullptr : after->if_array();
      const bool is_bare =
          (left == nullptr || left->empty()) && (right == nullptr || right->empty());
      if (!is_bare && !is_atomic(schema, shape)) {
        visit_list(step, left, right, schema);
        return false;
      }
    }
    compare_leaf(step, before, after);
    return true;
  }

  void visit_map(const ChangeStep& step, const JsonObject* before, const JsonObject* after,
                 const Schema* schema) {
    const bool is_metadata =
        step.parent != nullptr && step.parent->parent == nullptr && step.text == "metadata";
    size_t place = 0, shared = 0;
    const auto is_skipped = [&](std::string_view name) {
      return is_metadata && name == "managedFields";
    };
    if (after != nullptr) {
      for (const auto& member : *after) {
        const std::string_view name = member.key();
        const Json* old = before == nullptr ? nullptr : counterpart(*before, name, place);
        ++place;
        if (old != nullptr) ++shared;
        if (is_skipped(name) || (old != nullptr && same_value(*old, member.value()))) continue;
        const ChangeStep child{&step, PathElement::Kind::field, name};
        compare(child, old, &member.value(), field_schema(schema, name));
      }
    }
    if (before == nullptr || shared == before->size()) return;
    for (const auto& member : *before) {
      const std::string_view name = member.key();
      if (is_skipped(name) || (after != nullptr && after->contains(name))) continue;
      const ChangeStep child{&step, PathElement::Kind::field, name};
      compare(child, &member.value(), nullptr, field_schema(schema, name));
    }
  }

  struct Pair {
    PathElement element;
    std::vector<const Json*> before, after;
  };

  void visit_list(const ChangeStep& step, const JsonArray* before, const JsonArray* after,
                  const Schema* schema) {
    std::map<std::string, Pair> pairs;
    const auto gather = [&](const JsonArray* items, std::vector<const Json*> Pair::* side) {
      if (items == nullptr) return;
      for (const Json& item : *items) {
        std::optional<PathElement> element = item_element(schema, item);
        if (!element) continue;
        Pair& pair = pairs[element->text];
        (pair.*side).push_back(&item);
        pair.element = std::move(*element);
      }
    };
    gather(before, &Pair::before);
    gather(after, &Pair::after);
    for (const auto& [text, pair] : pairs) compare_items(step, pair, item_schema(schema));
  }

  void compare_items(const ChangeStep& parent, const Pair& pair, const Schema* schema) {
    const ChangeStep step{&parent, pair.element.kind, pair.element.text};
    const auto first = [](const std::vector<const Json*>& items) {
      return items.empty() ? nullptr : items.front();
    };
    if (pair.before.size() <= 1 && pair.after.size() <= 1) {
      compare(step, first(pair.before), first(pair.after), schema);
      return;
    }
    // The same item twice: owned together, as one leaf.
    if (pair.before.size() > 1 && pair.after.size() > 1) {
      const bool is_same =
          std::equal(pair.before.begin(), pair.before.end(), pair.after.begin(), pair.after.end(),
                     [](const Json* a, const Json* b) { return same_value(*a, *b); });
      if (!is_same) changes_.modified.insert(step.path());
    } else if (pair.before.size() > 1) {
      if (!pair.after.empty()) compare(step, nullptr, first(pair.after), schema);
      changes_.removed.insert(step.path());
    } else {
      if (!pair.before.empty()) compare(step, first(pair.before), nullptr, schema);
      changes_.added.insert(step.path());
    }
  }

  const std::string_view kind_;
  FieldChanges changes_;
};

}  // namespace

FieldChanges changed_fields(const Json& before, const Json& after, const Schema* schema) {
  Comparer comparer(schema != nullptr && schema->typed ? schema->kind : std::string_view());
  comparer.compare(ChangeStep{}, &before, &after, schema);
  return comparer.take();
}

}  // namespace lockstep::apiserver
