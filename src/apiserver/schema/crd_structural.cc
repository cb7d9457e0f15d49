#include "apiserver/schema/crd_structural.h"

#include <algorithm>

#include "apiserver/schema/pattern.h"

namespace lockstep::apiserver {

namespace {

enum class Level { root, item, field };

std::string property_place(const std::string& place, std::string_view name) {
  return fmt::format("{}.properties[{}]", place, name);
}

// anyOf: [{type: integer}, {type: string}], the one place where a nested type is allowed.
bool is_int_or_string_any_of(const Json& schema) {
  const Json* any_of = find(schema, "anyOf");
  const JsonArray* parts = any_of == nullptr ? nullptr : any_of->if_array();
  if (parts == nullptr || parts->size() != 2) return false;
  auto is_type = [](const Json& part, std::string_view type) {
    return part.is_object() && part.get_object().size() == 1 && text_at(part, "type") == type;
  };
  return is_type((*parts)[0], "integer") && is_type((*parts)[1], "string");
}

bool is_int_or_string_all_of(const Json& schema) {
  const Json* all_of = find(schema, "allOf");
  const JsonArray* parts = all_of == nullptr ? nullptr : all_of->if_array();
  return parts != nullptr && !parts->empty() && is_int_or_string_any_of(parts->front());
}

class Check {
 public:
  std::vector<StatusCause> causes;

  void structure(const Json& schema, Level level, const std::string& place) {
    standard(schema, place);
    extensions(schema, place);
    type(schema, level, place);
    metadata(schema, level, place);
    lists(schema, place);
    if (const JsonObject* properties = object_at(schema, "properties")) {
      for (const auto& entry : *properties) {
        structure(entry.value(), Level::field, property_place(place, entry.key()));
      }
    }
    if (const Json* items = find(schema, "items"); items != nullptr && items->is_object()) {
      structure(*items, Level::item, place + ".items");
    }
    additional_properties(schema, level, place);
    values(schema, schema, place, place, is_int_or_string_any_of(schema),
           is_int_or_string_all_of(schema));
  }

 private:
  static const JsonObject* object_at(const Json& schema, std::string_view name) {
    const Json* value = find(schema, name);
    return value == nullptr ? nullptr : value->if_object();
  }

  static const JsonArray* array_at(const Json& schema, std::string_view name) {
    const Json* value = find(schema, name);
    return value == nullptr ? nullptr : value->if_array();
  }

  void forbid(const std::string& place, std::string_view why) {
    causes.push_back(cause_forbidden(place, why));
  }

  // What OpenAPI has and CRDs do not.
  void standard(const Json& schema, const std::string& place) {
    static const std::vector<std::string> types = {"array",  "boolean", "integer",
                                                   "number", "object",  "string"};
    std::string_view named = text_at(schema, "type");
    if (!named.empty() && std::find(types.begin(), types.end(), named) == types.end()) {
      causes.push_back(cause_unsupported(place + ".type", Json(named), types));
    }
    for (const char* name :
         {"id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref"}) {
      if (find(schema, name) != nullptr) {
        forbid(fmt::format("{}.{}", place, name), fmt::format("{} is not supported", name));
      }
    }
    if (named == "null") {
      forbid(place + ".type", "type cannot be set to null, use nullable as an alternative");
    }
    if (array_at(schema, "items") != nullptr) {
      forbid(place + ".items", "items must be a schema object and not an array");
    }
    if (is_set(schema, "uniqueItems")) {
      forbid(place + ".uniqueItems",
             "uniqueItems cannot be set to true since the runtime complexity becomes quadratic");
    }
  }

  void extensions(const Json& schema, const std::string& place) {
    bool int_or_string = is_set(schema, "x-kubernetes-int-or-string");
    const Json* preserve = find(schema, "x-kubernetes-preserve-unknown-fields");
    std::string preserve_place = place + ".x-kubernetes-preserve-unknown-fields";
    if (preserve != nullptr && preserve->is_bool() && !preserve->get_bool()) {
      causes.push_back(cause_invalid(preserve_place, *preserve, "must be true or undefined"));
    } else if (int_or_string && as_bool(preserve)) {
      causes.push_back(cause_invalid(preserve_place, *preserve,
                                     "must be false if x-kubernetes-int-or-string is true"));
    }
    if (int_or_string && is_set(schema, "x-kubernetes-embedded-resource")) {
      causes.push_back(cause_invalid(place + ".x-kubernetes-embedded-resource", true,
                                     "must be false if x-kubernetes-int-or-string is true"));
    }
    const Json* map_type = find(schema, "x-kubernetes-map-type");
    if (map_type == nullptr) return;
    if (std::string_view kind = as_text(map_type); kind != "atomic" && kind != "granular") {
      causes.push_back(
          cause_unsupported(place + ".x-kubernetes-map-type", *map_type, {"atomic", "granular"}));
    }
    must_be(schema, place, "object", "must be object if x-kubernetes-map-type is specified");
  }

  void must_be(const Json& schema, const std::string& place, std::string_view type,
               std::string_view why) {
    std::string_view named = text_at(schema, "type");
    if (named == type) return;
    if (named.empty()) {
      causes.push_back(cause_required(place + ".type", why));
    } else {
      causes.push_back(cause_invalid(place + ".type", Json(named), why));
    }
  }

  void type(const Json& schema, Level level, const std::string& place) {
    std::string_view named = text_at(schema, "type");
    bool embedded = is_set(schema, "x-kubernetes-embedded-resource");
    if (named == "array" && find(schema, "items") == nullptr) {
      causes.push_back(cause_required(place + ".items", "must be specified"));
    }
    if (embedded) {
      must_be(schema, place, "object", "must be object if x-kubernetes-embedded-resource is true");
    } else if (named.empty() && !is_set(schema, "x-kubernetes-int-or-string") &&
               !is_set(schema, "x-kubernetes-preserve-unknown-fields")) {
      const char* why = level == Level::root   ? "must not be empty at the root"
                        : level == Level::item ? "must not be empty for specified array items"
                                               : "must not be empty for specified object fields";
      causes.push_back(cause_required(place + ".type", why));
    }
    if (level == Level::root && !named.empty() && named != "object") {
      causes.push_back(cause_invalid(place + ".type", Json(named), "must be object at the root"));
    }
    if (level == Level::root && is_set(schema, "nullable")) {
      forbid(place + ".nullable", "nullable cannot be true at the root");
    }
    if (embedded && object_at(schema, "properties") == nullptr &&
        !is_set(schema, "x-kubernetes-preserve-unknown-fields")) {
      causes.push_back(
          cause_required(place + ".properties",
                         "must not be empty if x-kubernetes-embedded-resource is true without "
                         "x-kubernetes-preserve-unknown-fields"));
    }
  }

  void metadata(const Json& schema, Level level, const std::string& place) {
    const JsonObject* properties = object_at(schema, "properties");
    bool checked = level == Level::root || is_set(schema, "x-kubernetes-embedded-resource");
    if (properties == nullptr || !checked) return;
    for (const char* name : {"apiVersion", "kind"}) {
      const Json* property = properties->if_contains(name);
      if (property != nullptr && text_at(*property, "type") != "string") {
        causes.push_back(cause_invalid(property_place(place, name) + ".type",
                                       Json(text_at(*property, "type")), "must be string"));
      }
    }
    const Json* meta = properties->if_contains("metadata");
    if (meta == nullptr) return;
    std::string meta_place = property_place(place, "metadata");
    if (text_at(*meta, "type") != "object") {
      causes.push_back(
          cause_invalid(meta_place + ".type", Json(text_at(*meta, "type")), "must be object"));
    }
    const JsonObject* fields = object_at(*meta, "properties");
    if (level != Level::root || fields == nullptr) return;
    for (const auto& field : *fields) {
      if (field.key() != "name" && field.key() != "generateName") {
        forbid(meta_place,
               "must not specify anything other than name and generateName, but metadata is "
               "implicitly specified");
        return;
      }
    }
  }

  void lists(const Json& schema, const std::string& place) {
    const Json* kind = find(schema, "x-kubernetes-list-type");
    const JsonArray* keys = array_at(schema, "x-kubernetes-list-map-keys");
    bool has_keys = keys != nullptr && !keys->empty();
    std::string kind_place = place + ".x-kubernetes-list-type";
    if (kind == nullptr) {
      if (has_keys) {
        causes.push_back(
            cause_required(kind_place, "must be map if x-kubernetes-list-map-keys is non-empty"));
      }
      return;
    }
    must_be(schema, place, "array", "must be array if x-kubernetes-list-type is specified");
    std::string_view name = as_text(kind);
    if (name != "atomic" && name != "set" && name != "map") {
      causes.push_back(cause_unsupported(kind_place, *kind, {"atomic", "set", "map"}));
    }
    if (has_keys && name != "map") {
      causes.push_back(cause_invalid(kind_place, *kind,
                                     "must be map if x-kubernetes-list-map-keys is non-empty"));
    }
    const Json* items = find(schema, "items");
    if ((name == "set" || name == "map") && items != nullptr && is_set(*items, "nullable")) {
      forbid(place + ".items.nullable",
             fmt::format("cannot be nullable when x-kubernetes-list-type is {}", name));
    }
    if (name == "set" && items != nullptr) set_items(*items, place);
    if (name == "map") map_keys(keys, items, place);
  }

  void set_items(const Json& items, const std::string& place) {
    constexpr std::string_view why =
        "must be atomic as item of a list with x-kubernetes-list-type=set";
    std::string_view type = text_at(items, "type");
    const Json* list_type = find(items, "x-kubernetes-list-type");
    const Json* map_type = find(items, "x-kubernetes-map-type");
    if (type == "array" && list_type != nullptr && as_text(list_type) != "atomic") {
      causes.push_back(cause_invalid(place + ".items.x-kubernetes-list-type", *list_type, why));
    }
    if (type == "object" && as_text(map_type) != "atomic") {
      causes.push_back(cause_invalid(place + ".items.x-kubernetes-map-type",
                                     map_type == nullptr ? Json() : *map_type, why));
    }
  }

  void map_keys(const JsonArray* keys, const Json* items, const std::string& place) {
    if (keys == nullptr || keys->empty()) {
      causes.push_back(cause_required(place + ".x-kubernetes-list-map-keys",
                                      "must not be empty if x-kubernetes-list-type is map"));
      return;
    }
    if (items == nullptr) {
      causes.push_back(
          cause_required(place + ".items", "must have a schema if x-kubernetes-list-type is map"));
      return;
    }
    if (text_at(*items, "type") != "object") {
      causes.push_back(
          cause_invalid(place + ".items.type", Json(text_at(*items, "type")),
                        "must be object if parent array's x-kubernetes-list-type is map"));
      return;
    }
    for (size_t i = 0; i < keys->size(); ++i) map_key((*keys)[i], i, *items, place);
  }

  void map_key(const Json& key, size_t index, const Json& items, const std::string& place) {
    std::string name(as_text(&key));
    const Json* property = find(items, "properties", name);
    if (property == nullptr) {
      causes.push_back(cause_invalid(fmt::format("{}.x-kubernetes-list-map-keys[{}]", place, index),
                                     key, "entries must all be names of item properties"));
      return;
    }
    std::string_view type = text_at(*property, "type");
    std::string key_place = property_place(place + ".items", name);
    if (type == "array" || type == "object") {
      causes.push_back(
          cause_invalid(key_place + ".type", Json(type),
                        "must be a scalar type if parent array's x-kubernetes-list-type is map"));
    }
    const JsonArray* required = array_at(items, "required");
    bool is_required = required != nullptr &&
                       std::find(required->begin(), required->end(), Json(name)) != required->end();
    if (!is_required && find(*property, "default") == nullptr) {
      causes.push_back(cause_required(key_place + ".default",
                                      "this property is in x-kubernetes-list-map-keys, so it must "
                                      "have a default or be a required property"));
    }
    if (is_set(*property, "nullable")) {
      forbid(key_place + ".nullable",
             "this property is in x-kubernetes-list-map-keys, so it cannot be nullable");
    }
  }

  void additional_properties(const Json& schema, Level level, const std::string& place) {
    const Json* additional = find(schema, "additionalProperties");
    if (additional == nullptr || additional->is_null()) return;
    std::string here = place + ".additionalProperties";
    if (level == Level::root) forbid(here, "must not be used at the root");
    if (is_set(schema, "x-kubernetes-embedded-resource")) {
      forbid(here, "must not be used if x-kubernetes-embedded-resource is set");
    }
    const JsonObject* properties = object_at(schema, "properties");
    bool anything = additional->is_bool() && additional->get_bool();
    if (properties != nullptr && !properties->empty() && !anything) {
      forbid(here, "additionalProperties and properties are mutual exclusive");
    }
    if (additional->is_object()) structure(*additional, Level::field, here);
  }

  // Value validation (allOf, anyOf, oneOf, not) may only speak of what `structural` specifies.
  void values(const Json& schema, const Json& structural, const std::string& place,
              const std::string& structural_place, bool skip_any_of, bool skip_all_of_any_of) {
    if (std::string_view pattern = text_at(schema, "pattern"); !pattern.empty()) {
      if (auto compiled = Pattern::compile(pattern); !compiled) {
        causes.push_back(
            cause_invalid(place + ".pattern", Json(pattern),
                          fmt::format("must be a valid regular expression, but isn't: {}",
                                      compiled.error().message)));
      }
    }
    for (const char* name : {"anyOf", "allOf", "oneOf"}) {
      const JsonArray* parts = array_at(schema, name);
      if (parts == nullptr || (skip_any_of && std::string_view(name) == "anyOf")) continue;
      for (size_t i = 0; i < parts->size(); ++i) {
        bool skip = skip_all_of_any_of && i == 0 && std::string_view(name) == "allOf";
        nested((*parts)[i], structural, fmt::format("{}.{}[{}]", place, name, i), structural_place,
               skip);
      }
    }
    if (const Json* inner = find(schema, "not")) {
      nested(*inner, structural, place + ".not", structural_place, false);
    }
  }

  void nested(const Json& schema, const Json& structural, const std::string& place,
              const std::string& structural_place, bool skip_any_of) {
    values(schema, structural, place, structural_place, skip_any_of, false);
    nested_forbidden(schema, place);
    if (const Json* items = find(schema, "items"); items != nullptr && items->is_object()) {
      nested_child(*items, find(structural, "items"), place + ".items",
                   structural_place + ".items");
    }
    const JsonObject* properties = object_at(schema, "properties");
    if (properties == nullptr) return;
    for (const auto& entry : *properties) {
      std::string here = property_place(place, entry.key());
      if (entry.key() == "metadata") forbid(here, "must not be specified in a nested context");
      nested_child(entry.value(), find(structural, "properties", std::string_view(entry.key())),
                   here, property_place(structural_place, entry.key()));
    }
  }

  void nested_child(const Json& schema, const Json* structural, const std::string& place,
                    const std::string& structural_place) {
    if (structural == nullptr) {
      causes.push_back(cause_required(structural_place, "because it is defined in " + place));
      return;
    }
    nested(schema, *structural, place, structural_place, false);
  }

  void nested_forbidden(const Json& schema, const std::string& place) {
    static constexpr std::pair<const char*, const char*> forbidden[] = {
        {"type", "must be empty to be structural"},
        {"additionalProperties", "must be undefined to be structural"},
        {"default", "must be undefined to be structural"},
        {"title", "must be empty to be structural"},
        {"description", "must be empty to be structural"},
        {"nullable", "must be false to be structural"},
        {"x-kubernetes-preserve-unknown-fields", "must be false to be structural"},
        {"x-kubernetes-embedded-resource", "must be false to be structural"},
        {"x-kubernetes-int-or-string", "must be false to be structural"},
        {"x-kubernetes-list-map-keys", "must be empty to be structural"},
        {"x-kubernetes-list-type", "must be undefined to be structural"},
        {"x-kubernetes-map-type", "must be undefined to be structural"},
        {"x-kubernetes-validations", "must be empty to be structural"},
    };
    for (const auto& [name, why] : forbidden) {
      const Json* value = find(schema, name);
      if (value == nullptr || (value->is_bool() && !value->get_bool())) continue;
      forbid(fmt::format("{}.{}", place, name), why);
    }
  }
};

}  // namespace

std::vector<StatusCause> check_structural(const Json& schema, const std::string& place) {
  Check check;
  check.structure(schema, Level::root, place);
  return std::move(check.causes);
}

}  // namespace lockstep::apiserver
