// What an apply and an update have in common: how fields change hands.
#pragma once

#include "apiserver/apply/apply.h"
#include "apiserver/apply/field_changes.h"
#include "apiserver/apply/managed_fields.h"

namespace lockstep::apiserver {

// Fields that identify an object or belong to the server: apiVersion, metadata.name, …
void strip_identity(FieldSet& fields);

// Takes what changed away from every manager but `except` (which may be null).
void disown(ManagedFields& managed, const FieldChanges& changes, const ManagedEntry* except);

// Ownership after a manager turned `before` (null: nothing) into `after` by an update.
void record_update(ManagedFields& managed, const Json* before, const Json& after,
                   const FieldManager& manager, const Schema* schema, Time now);

}  // namespace lockstep::apiserver
