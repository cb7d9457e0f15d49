// Unknown fields: found, and removed.
#include <utility>

#include "apiserver/schema/schema.h"

namespace lockstep::apiserver {

namespace {

constexpr std::string_view metadata_fields[] = {"apiVersion", "kind", "metadata"};

bool is_metadata_field(std::string_view name) {
  for (std::string_view field : metadata_fields) {
    if (field == name) return true;
  }
  return false;
}

// One walk for both: finds unknown fields, and removes them when it may change the object.
template <bool removing>
class UnknownWalk {
 public:
  using Value = std::conditional_t<removing, Json, const Json>;
  using Object = std::conditional_t<removing, JsonObject, const JsonObject>;

  explicit UnknownWalk(const TouchedFields& touched) : touched_(touched) {}

  void visit(const Schema& schema, Value& value) {
    if (auto* object = value.if_object()) return visit_object(schema, *object);
    auto* array = value.if_array();
    if (array == nullptr || schema.items == nullptr || schema.type != Schema::Type::array) return;
    const TouchedFields touched = touched_;
    for (size_t i = 0; i < array->size(); ++i) {
      const Json& item = std::as_const(*array)[i];
      if (item.is_primitive()) continue;
      const auto below = touched.below_item(i, item);
      if (!below) continue;
      path_.push_back({{}, i});
      touched_ = *below;
      visit(*schema.items, (*array)[i]);
      path_.pop_back();
    }
    touched_ = touched;
  }

  std::vector<std::string> found;
  bool null_found = false;  // of those that a typed server does not keep

 private:
  // A field, or without a name an item of a list. Most objects have no unknown field: paths become
  // text only where one is found.
  struct Step {
    std::string_view name;
    size_t index = 0;
  };

  void visit_object(const Schema& schema, Object& object) {
    if (schema.type == Schema::Type::map) return visit_map(schema, object);
    if (schema.type != Schema::Type::object) return;
    for (auto it = object.begin(); it != object.end();) {
      std::string_view name = it->key();
      const auto below = touched_.below(name, std::as_const(it->value()));
      if (!below) {
        ++it;
        continue;
      }
      const Schema* field = schema.field(name);
      if (field != nullptr) {
        if (drop_null(schema, object, it)) continue;
        descend(*field, name, it->value(), *below);
      } else if (!schema.preserve_unknown &&
                 !(schema.embedded_resource && is_metadata_field(name))) {
        if (unknown(object, it)) continue;
      }
      ++it;
    }
  }

  // A typed server decodes null as "not set" and does not write it back.
  template <typename Iterator>
  bool drop_null(const Schema& schema, Object& object, Iterator& it) {
    if (!schema.typed || !it->value().is_null()) return false;
    null_found = true;
    if constexpr (removing) {
      it = object.stable_erase(it);
      return true;
    }
    return false;
  }

  template <typename Iterator>
  bool unknown(Object& object, Iterator& it) {
    if constexpr (removing) {
      it = object.stable_erase(it);
      return true;
    } else {
      (void)object;
      path_.push_back({it->key()});
      found.push_back(path_text());
      path_.pop_back();
      return false;
    }
  }

  void visit_map(const Schema& schema, Object& object) {
    // additionalProperties: true. Scalars stay; objects have no known fields.
    static const Schema nothing = [] {
      Schema empty;
      empty.type = Schema::Type::object;
      return empty;
    }();
    const Schema& items = schema.items == nullptr ? nothing : *schema.items;
    for (auto& entry : object) {
      const auto below = touched_.below(entry.key(), std::as_const(entry.value()));
      if (!below) continue;
      if (schema.typed && entry.value().is_null() && items.type == Schema::Type::string) {
        null_found = true;
        if constexpr (removing) entry.value() = "";
      }
      descend(items, entry.key(), entry.value(), *below);
    }
  }

  void descend(const Schema& schema, std::string_view name, Value& value,
               const TouchedFields& below) {
    if (value.is_primitive()) return;
    path_.push_back({name});
    const TouchedFields touched = std::exchange(touched_, below);
    visit(schema, value);
    touched_ = touched;
    path_.pop_back();
  }

  std::string path_text() const {
    std::string text;
    for (const Step& step : path_) {
      if (step.name.data() == nullptr) {
        text += fmt::format("[{}]", step.index);
        continue;
      }
      if (!text.empty()) text += '.';
      text += step.name;
    }
    return text;
  }

  std::vector<Step> path_;
  TouchedFields touched_;
};

}  // namespace

std::vector<std::string> unknown_fields(const Schema& schema, const Json& object,
                                        const TouchedFields& touched) {
  return review_fields(schema, object, touched).unknown;
}

FieldReview review_fields(const Schema& schema, const Json& object, const TouchedFields& touched) {
  UnknownWalk<false> walk(touched);
  walk.visit(schema, object);
  bool is_pruned = walk.found.empty() && !walk.null_found;
  return {std::move(walk.found), is_pruned};
}

void prune(const Schema& schema, Json& object, const TouchedFields& touched) {
  UnknownWalk<true> walk(touched);
  walk.visit(schema, object);
}

}  // namespace lockstep::apiserver
