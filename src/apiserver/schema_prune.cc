// Unknown fields: found, and removed.
#include <utility>

#include "apiserver/schema.h"

namespace lockstep::apiserver {

namespace {

constexpr std::string_view metadata_fields[] = {"apiVersion", "kind", "metadata"};

bool is_metadata_field(std::string_view name) {
  for (std::string_view field : metadata_fields) {
    if (field == name) return true;
  }
  return false;
}

// One walk for both: reports unknown fields, and removes them when it may change the object.
template <bool removing>
class UnknownWalk {
 public:
  using Value = std::conditional_t<removing, Json, const Json>;
  using Object = std::conditional_t<removing, JsonObject, const JsonObject>;

  explicit UnknownWalk(const TouchedFields& touched) : touched_(&touched) {}

  void visit(const Schema& schema, Value& value) {
    if (auto* object = value.if_object()) return visit_object(schema, *object);
    auto* array = value.if_array();
    if (array == nullptr || schema.items == nullptr || schema.type != Schema::Type::array) return;
    for (size_t i = 0; i < array->size(); ++i) {
      Step step(*this);
      if constexpr (!removing) path_ += fmt::format("[{}]", i);
      visit(*schema.items, (*array)[i]);
    }
  }

  std::vector<std::string> found;

 private:
  struct Step {
    explicit Step(UnknownWalk& walk) : walk_(walk), length_(walk.path_.size()) {}
    ~Step() { walk_.path_.resize(length_); }
    UnknownWalk& walk_;
    size_t length_;
  };

  void visit_object(const Schema& schema, Object& object) {
    if (schema.type == Schema::Type::map) return visit_map(schema, object);
    if (schema.type != Schema::Type::object) return;
    for (auto it = object.begin(); it != object.end();) {
      std::string_view name = it->key();
      if (touched_ != nullptr && !touched_->contains(name)) {
        ++it;
        continue;
      }
      const Schema* field = schema.field(name);
      if (field != nullptr) {
        if (drop_null(schema, object, it)) continue;
        descend(*field, name, it->value());
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
    if constexpr (removing) {
      if (schema.typed && it->value().is_null()) {
        it = object.stable_erase(it);
        return true;
      }
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
      Step step(*this);
      enter(it->key());
      found.push_back(path_);
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
      if constexpr (removing) {
        if (schema.typed && entry.value().is_null() && items.type == Schema::Type::string) {
          entry.value() = "";
        }
      }
      descend(items, entry.key(), entry.value());
    }
  }

  void descend(const Schema& schema, std::string_view name, Value& value) {
    if (value.is_primitive()) return;
    Step step(*this);
    enter(name);
    const TouchedFields* touched = std::exchange(touched_, nullptr);
    visit(schema, value);
    touched_ = touched;
  }

  void enter(std::string_view name) {
    if constexpr (!removing) {
      if (!path_.empty()) path_ += '.';
      path_ += name;
    }
  }

  std::string path_;
  const TouchedFields* touched_;  // at the top only
};

}  // namespace

std::vector<std::string> unknown_fields(const Schema& schema, const Json& object,
                                        const TouchedFields& touched) {
  UnknownWalk<false> walk(touched);
  walk.visit(schema, object);
  return std::move(walk.found);
}

void prune(const Schema& schema, Json& object, const TouchedFields& touched) {
  UnknownWalk<true> walk(touched);
  walk.visit(schema, object);
}

}  // namespace lockstep::apiserver
