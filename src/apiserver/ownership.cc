#include "apiserver/ownership.h"

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
  if (!entry.overlaps(fields)) return;
  FieldSet rest = entry.fields();
  rest.subtract(fields);
  entry.set_fields(std::move(rest));
}

// The managedFields that an update starts from: those of the request where it has any that can be
// read, else those of the live object, so that clients that know nothing of them do not lose them.
ManagedFields starting_fields(const Json* before, Json given, const FieldManager& manager) {
  const Json* live = before == nullptr ? nullptr : find(*before, "metadata", "managedFields");
  if (manager.subresource.empty()) {
    if (is_reset(&given)) return {};
    const bool is_unchanged = live != nullptr && same_value(*live, given);
    auto managed = ManagedFields::decode(std::move(given), is_unchanged);
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
      if (!fields->empty()) subtract(entry, *fields);
    }
  }
}

void record_update(ManagedFields& managed, const Json* before, const Json& after,
                   const FieldManager& manager, const Schema* schema, Time now) {
  static const Json nothing = JsonObject();
  FieldChanges changes = changed_fields(before == nullptr ? nothing : *before, after, schema);
  // The manager's own earlier claim too: what it changed comes back below.
  disown(managed, changes, nullptr);
  managed.drop_empty();
  FieldSet taken = std::move(changes.modified);
  taken.unite(changes.added);
  strip_identity(taken);
  if (taken.empty()) return;
  ManagedEntry entry(manager, false);
  ManagedEntry* existing = managed.find(entry);
  if (existing == nullptr) existing = &managed.put(std::move(entry));
  taken.unite(existing->fields());
  existing->set_fields(std::move(taken));
  existing->set_time(now);
}

void track_update(const Json* before, Json& after, const FieldManager& manager,
                  const Schema* schema, Time now) {
  if (!after.is_object()) return;
  JsonObject& metadata = ensure_object(after.get_object(), "metadata");
  // Emptied in its place, so that the order of the keys does not change with every write.
  Json* slot = metadata.if_contains("managedFields");
  Json given = slot == nullptr ? Json(nullptr) : std::exchange(*slot, nullptr);
  ManagedFields managed = starting_fields(before, std::move(given), manager);
  // Nobody tracks an object whose owners were forgotten, until somebody applies to it.
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
