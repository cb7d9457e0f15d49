// Defaults of a schema, filled in where a field is absent.
#include "apiserver/schema/schema.h"

namespace lockstep::apiserver {

namespace {

void fill_object(const Schema& schema, JsonObject& object);

void fill(const Schema& schema, Json& value) {
  if (JsonObject* object = value.if_object()) {
    if (schema.type == Schema::Type::object) return fill_object(schema, *object);
    if (schema.type != Schema::Type::map || schema.items == nullptr) return;
    for (auto& entry : *object) fill(*schema.items, entry.value());
  } else if (JsonArray* array = value.if_array()) {
    if (schema.type != Schema::Type::array || schema.items == nullptr) return;
    for (Json& item : *array) fill(*schema.items, item);
  }
}

// A null where none is allowed counts as absent: it gives way to the default, or goes.
void settle_null(const Schema& field, JsonObject& object, std::string_view name) {
  if (field.default_value) {
    object[name] = *field.default_value;
  } else {
    erase_key(object, name);
  }
}

void fill_object(const Schema& schema, JsonObject& object) {
  for (const auto& [name, field] : schema.fields) {
    Json* value = object.if_contains(name);
    if (value == nullptr) {
      if (!field->default_value) continue;
      value = &object.emplace(name, *field->default_value).first->value();
    } else if (value->is_null() && !field->nullable && !field->preserve_unknown) {
      settle_null(*field, object, name);
      value = object.if_contains(name);
      if (value == nullptr) continue;
    }
    if (value->is_structured()) fill(*field, *value);
  }
}

}  // namespace

void apply_defaults(const Schema& schema, Json& object) { fill(schema, object); }

}  // namespace lockstep::apiserver
