// What differs between two versions of an object, field by field.
#pragma once

#include "apiserver/apply/field_set.h"
#include "apiserver/schema/schema.h"
#include "data/json.h"

namespace lockstep::apiserver {

// No field is in more than one of them.
struct FieldChanges {
  FieldSet removed;
  FieldSet modified;
  FieldSet added;

  bool empty() const { return removed.empty() && modified.empty() && added.empty(); }
};

// metadata.managedFields is left out: it is about fields, not one of them.
FieldChanges changed_fields(const Json& before, const Json& after, const Schema* schema);

// As json_equal, and quick where both have their keys in the same order, as two versions of one
// object nearly always have.
bool same_value(const Json& a, const Json& b);

}  // namespace lockstep::apiserver
