#include "apiserver/apply/ownership.h"

#include <utility>

namespace lockstep::apiserver {

namespace {

FieldSet identity_fields() {
  FieldSet fields;
  for (const char* name : {"apiVersion", "kind", "metadata"}) {
    fields.insert({PathElement::field(name)});
  }
  for (const char* name : {"name", "namespace", "creationTimestamp", "selfLink", "uid",
                           "clusterName", "generation", "managedFields", "resourceVersion"}) {
    fields.insert({PathElement::field("metadata"), PathElement::field(name)});
  }
  return fields;
}

void subtract(ManagedEntry& entry, const FieldSet& fields) {
  if (fields.empty() || !entry.overlaps(fields)) return;
  FieldSet rest = entry.fields();
  rest.subtract(fields);
  entry.set_fields(std::move(rest));
}

// The managedFields that an update starts from: those of the request where it has any that can be
// read, else those of the live object, so that clients that know nothing of them do not lose them.
ManagedFields starting_fields(const Json* before, Json given, const FieldManager& manager) {
  const Json* live = before == nullptr ? nullptr : find(*before, "metadata", "managedFields");
  // Nearly always: the object was read, changed and sent back.
  if (live != nullptr && same_value(*live, given)) {
    return ManagedFields::decode(std::move(given), true).value_or(ManagedFields());
  }
  if (manager.subresource.empty()) {
    if (is_reset(&given)) return {};
    auto managed = ManagedFields::decode(std::move(given), false);
    if (managed && !managed->empty()) return std::move(*managed);
  }
  if (live == nullptr) return {};
  return ManagedFields::decode(*live, true).value_or(ManagedFields());
}

}  // namespace

void strip_identity(FieldSet& fields) {
  static const FieldSet identity = identity_fields();
  fields.subtract(identity);
}

void disown(ManagedFields& managed, const FieldChanges& changes, const ManagedEntry* except) {
  for (ManagedEntry& entry : managed.entries()) {
    if (&entry == except) continue;
    for (const FieldSet* fields : {&changes.modified, &changes.added, &changes.removed}) {
      subtract(entry, *fields);
    }
  }
}

void record_update(ManagedFields& managed, const Json* before, const Json& after,
                   const FieldManager& manager, const Schema* schema, Time now) {
  static const Json nothing = JsonObject();
  const FieldChanges changes = changed_fields(before == nullptr ? nothing : *before, after, schema);
  FieldSet taken = changes.modified;
  taken.unite(changes.added);
  FieldSet unowned = taken;
  strip_identity(taken);
  unowned.subtract(taken);

  ManagedEntry own(manager, false);
  ManagedEntry* earlier = managed.find(own);
  disown(managed, changes, earlier);
  if (earlier != nullptr) {
    // What it changed again stays its own: mostly that is everything, and its set need not be
    // read.
    subtract(*earlier, changes.removed);
    subtract(*earlier, unowned);
  }
  managed.drop_empty();
  if (taken.empty()) return;
  earlier = managed.find(own);
  if (earlier == nullptr) earlier = &managed.put(std::move(own));
  if (!earlier->contains(taken)) {
    taken.unite(earlier->fields());
    earlier->set_fields(std::move(taken));
  }
  earlier->set_time(now);
}

void track_update(const Json* before, Json& after, const FieldManager& manager,
                  const Schema* schema, Time now) {
  if (!after.is_object()) return;
  JsonObject& metadata = ensure_object(after.get_object(), "metadata");
  // Emptied in its place, so that the order of the keys does not change with every write.
  Json* slot = metadata.if_contains("managedFields");
  Json given = slot == nullptr ? Json(nullptr) : std::exchange(*slot, nullptr);
  ManagedFields managed = starting_fields(before, std::move(given), manager);
  // An object whose owners were forgotten is not tracked until a client applies to it.
  if (!managed.empty() || before == nullptr) {
    record_update(managed, before, after, manager, schema, now);
    managed.cap_updates();
  }
  Json encoded = std::move(managed).encode();
  if (encoded.is_null()) {
    erase_key(metadata, "managedFields");
  } else {
    metadata["managedFields"] = std::move(encoded);
  }
}

}  // namespace lockstep::apiserver
