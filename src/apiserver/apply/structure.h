// How a schema divides an object into fields that can be owned, and what server-side apply does
// with them: list them, merge two objects, take fields out. Follows Kubernetes' structured merge.
//
// A null schema, or one of type any, is deduced from the value: maps by field, lists as a whole.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "apiserver/apply/field_set.h"
#include "apiserver/schema/schema.h"
#include "data/json.h"

namespace lockstep::apiserver {

enum class ValueShape { leaf, list, map };

ValueShape shape_of(const Schema* schema, const Json& value);
// Owned as a whole.
bool is_atomic(const Schema* schema, ValueShape shape);
bool is_declared_field(const Schema* schema, std::string_view name);
const Schema* field_schema(const Schema* schema, std::string_view name);
const Schema* item_schema(const Schema* list);
// Which item of a list this is. Nothing if it lacks every key field, or has no value that could
// distinguish it.
std::optional<PathElement> item_element(const Schema* list, const Json& item);

// Every leaf of a (partial) object, and every item of its lists and maps.
FieldSet fields_of(const Json& object, const Schema* schema);

// `applied` over `live`. Nothing is removed. Lists take the order of `applied` where it names
// items.
Json merge_objects(const Json& live, const Json& applied, const Schema* schema);

// The object without those fields. What loses all it had becomes null.
Json without_fields(const Json& object, const FieldSet& fields, const Schema* schema);

// What is wrong with an applied object, in Kubernetes' words: fields that the schema does not have,
// items twice in a list, items without their key.
std::optional<std::string> find_structural_error(const Json& object, const Schema* schema);

}  // namespace lockstep::apiserver
