#include "apiserver/apply/apply.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "apiserver/apply/field_changes.h"
#include "apiserver/apply/managed_fields.h"
#include "apiserver/apply/ownership.h"
#include "apiserver/apply/structure.h"

namespace lockstep::apiserver {

namespace {

constexpr std::string_view last_applied_annotation =
    "kubectl.kubernetes.io/last-applied-configuration";
constexpr size_t most_annotation_bytes = 256 << 10;

struct Conflict {
  const ManagedEntry* owner;
  FieldPath path;
};

// "x" using v1: an updating manager is shown with its version, an applying one by name alone.
std::string describe(const ManagedEntry& owner) {
  std::string text = fmt::format("\"{}\"", owner.manager());
  if (!owner.subresource().empty()) {
    text += fmt::format(" with subresource \"{}\"", owner.subresource());
  }
  if (!owner.is_apply()) text += " using " + owner.api_version();
  return text;
}

std::string conflict_message(const std::vector<Conflict>& conflicts) {
  if (conflicts.size() == 1) {
    return fmt::format("Apply failed with 1 conflict: conflict with {}: {}",
                       describe(*conflicts[0].owner), readable(conflicts[0].path));
  }
  std::string lines;
  const ManagedEntry* owner = nullptr;
  for (const Conflict& conflict : conflicts) {
    if (conflict.owner != owner) {
      if (owner != nullptr) lines += '\n';
      owner = conflict.owner;
      lines += fmt::format("conflicts with {}:", describe(*owner));
    }
    lines += "\n- " + readable(conflict.path);
  }
  return fmt::format("Apply failed with {} conflicts: {}", conflicts.size(), lines);
}

StatusError conflict_error(const std::vector<Conflict>& conflicts) {
  StatusError error;
  error.code = 409;
  error.reason = "Conflict";
  error.message = conflict_message(conflicts);
  for (const Conflict& conflict : conflicts) {
    error.causes.push_back({"FieldManagerConflict", "conflict with " + describe(*conflict.owner),
                            readable(conflict.path)});
  }
  return error;
}

// Fields of other managers that the change would overwrite, by manager.
std::vector<Conflict> find_conflicts(ManagedFields& managed, const FieldChanges& changes,
                                     const ManagedEntry& own) {
  FieldSet written = changes.modified;
  written.unite(changes.added);
  std::vector<ManagedEntry*> owners;
  for (ManagedEntry& entry : managed.entries()) {
    if (&entry != &own && entry.overlaps(written)) owners.push_back(&entry);
  }
  std::sort(owners.begin(), owners.end(), [](const ManagedEntry* a, const ManagedEntry* b) {
    return a->identity() < b->identity();
  });
  std::vector<Conflict> conflicts;
  for (ManagedEntry* owner : owners) {
    FieldSet shared = owner->fields();
    shared.intersect(written);
    shared.for_each([&](const FieldPath& path) { conflicts.push_back({owner, path}); });
  }
  return conflicts;
}

// What the endpoint never writes, for any manager: the status of a built-in object by its main
// endpoint, its spec by the status endpoint.
void drop_unwritable(FieldSet& fields, const FieldManager& manager, const Schema* schema) {
  if (schema == nullptr || !schema->typed) return;
  if (manager.subresource.empty()) fields.erase(PathElement::field("status"));
  if (manager.subresource == "status") fields.erase(PathElement::field("spec"));
}

FieldSet with_parents(FieldSet fields, const Schema* schema) {
  fields.add_named_parents(schema);
  return fields;
}

// Removes what the manager applied last time and not this time, unless it has another owner.
Json pruned(const Json& merged, ManagedFields& managed, const FieldSet& last,
            const Schema* schema) {
  const FieldSet last_fields = with_parents(last, schema);
  const FieldSet merged_fields = with_parents(fields_of(merged, schema), schema);
  Json rest = without_fields(merged, last_fields, schema);

  // Add back what any manager owns now, this one included.
  FieldSet owned;
  for (ManagedEntry& entry : managed.entries()) owned.unite(entry.fields());
  FieldSet gone = merged_fields;
  gone.subtract(with_parents(fields_of(rest, schema), schema));
  gone.subtract(with_parents(std::move(owned), schema));
  rest = without_fields(merged, gone, schema);

  // And remove only what this manager had: fields without an owner are not ours to remove.
  FieldSet removed = merged_fields;
  removed.subtract(with_parents(fields_of(rest, schema), schema));
  removed.intersect(last_fields);
  if (removed.empty()) return merged;
  return without_fields(merged, removed, schema);
}

// A part that lost all its fields is null by now; in the real server's structs it is simply not
// there.
void drop_nulls(Json& value, const Schema* schema) {
  if (JsonArray* items = value.if_array()) {
    for (Json& item : *items) drop_nulls(item, item_schema(schema));
    return;
  }
  JsonObject* object = value.if_object();
  if (object == nullptr || schema == nullptr || schema->type == Schema::Type::any) return;
  for (auto member = object->begin(); member != object->end();) {
    const Schema* declared = field_schema(schema, member->key());
    if (member->value().is_null() && (declared == nullptr || !declared->nullable)) {
      member = object->stable_erase(member);
    } else {
      drop_nulls(member->value(), declared);
      ++member;
    }
  }
}

struct Attempt {
  Json object;  // without managedFields
  ManagedFields managed;
  bool changed = false;
  std::vector<Conflict> conflicts;
};

class Apply {
 public:
  Apply(const Json& live, const Json& applied, const FieldManager& manager, const Schema* schema,
        Time now)
      : live_(live), applied_(applied), manager_(manager), schema_(schema), now_(now) {}

  // `managed` is that of the live object. With conflicts (and no force) nothing else in the result
  // counts.
  void run(bool force, Attempt& attempt) const {
    ManagedFields& managed = attempt.managed;
    ManagedEntry own(manager_, true);
    std::optional<FieldSet> last;
    if (ManagedEntry* existing = managed.find(own)) {
      last = existing->fields();
      own.set_time_of(*existing);
    }
    FieldSet fields = fields_of(applied_, schema_);
    drop_unwritable(fields, manager_, schema_);
    own.set_fields(std::move(fields));
    ManagedEntry* entry = &managed.put(std::move(own));

    attempt.object = merge_objects(live_, applied_, schema_);
    if (last && !last->empty()) attempt.object = pruned(attempt.object, managed, *last, schema_);

    const FieldChanges changes = writable_changes(attempt.object);
    if (!force) attempt.conflicts = find_conflicts(managed, changes, *entry);
    if (!attempt.conflicts.empty()) return;
    disown(managed, changes, entry);
    FieldSet kept = entry->fields();
    strip_identity(kept);
    entry->set_fields(std::move(kept));
    attempt.changed = !same_value(live_, attempt.object);
    if (attempt.changed) entry->set_time(now_);
    managed.drop_empty();
    drop_nulls(attempt.object, schema_);
  }

  // What kubectl's client-side apply last wrote and is still as it wrote it: kubectl may overwrite
  // that when it changes over to server-side apply, though it is owned by another name.
  FieldSet allowed_by_last_applied() const {
    const std::string_view text =
        text_at(live_, "metadata", "annotations", last_applied_annotation);
    const Result<Json> last = parse_json(text);
    if (!last || text_at(*last, "apiVersion") != manager_.api_version) return {};
    FieldSet allowed = fields_of(*last, schema_);
    const FieldChanges changes = changed_fields(*last, live_, schema_);
    for (const FieldSet* fields : {&changes.modified, &changes.added, &changes.removed}) {
      allowed.subtract(*fields);
    }
    return allowed;
  }

  // The annotation of client-side apply, where there is one, follows what kubectl applies.
  void update_last_applied(Json& object) const {
    Json* annotations = find(object, "metadata", "annotations");
    if (annotations == nullptr || as_text(find(*annotations, last_applied_annotation)).empty())
      return;
    Json applied = applied_;
    if (Json* own = find(applied, "metadata", "annotations"); own != nullptr && own->is_object()) {
      erase_key(own->get_object(), last_applied_annotation);
    }
    annotations->get_object()[last_applied_annotation] = canonical_json(applied) + "\n";
    size_t bytes = 0;
    for (const auto& member : annotations->get_object()) {
      bytes += member.key().size() + as_text(&member.value()).size();
    }
    if (bytes > most_annotation_bytes)
      erase_key(annotations->get_object(), last_applied_annotation);
  }

 private:
  FieldChanges writable_changes(const Json& object) const {
    FieldChanges changes = changed_fields(live_, object, schema_);
    for (FieldSet* fields : {&changes.modified, &changes.added, &changes.removed}) {
      drop_unwritable(*fields, manager_, schema_);
    }
    return changes;
  }

  const Json& live_;  // without managedFields
  const Json& applied_;
  const FieldManager& manager_;
  const Schema* schema_;
  const Time now_;
};

// "apps/v1, Kind=Deployment", as Go prints a group, version and kind.
std::string kind_text(std::string_view api_version, std::string_view kind) {
  const bool is_core = api_version.find('/') == std::string_view::npos;
  return fmt::format("{}{}, Kind={}", is_core ? "/" : "", api_version, kind);
}

std::optional<StatusError> find_error(const Json& applied, const FieldManager& manager,
                                      const Schema* schema, const ResourceType& type) {
  const std::string_view api_version = text_at(applied, "apiVersion");
  const std::string_view kind = text_at(applied, "kind");
  if (api_version != manager.api_version || kind != type.kind) {
    return bad_request("invalid object type: " + kind_text(api_version, kind));
  }
  const Json* managed = find(applied, "metadata", "managedFields");
  if (managed != nullptr && !managed->is_null()) {
    return bad_request("metadata.managedFields must be nil");
  }
  if (const auto problem = find_structural_error(applied, schema)) {
    StatusError error;
    error.code = 500;
    error.message =
        fmt::format("failed to create typed patch object ({}/{}; {}): {}",
                    text_at(applied, "metadata", "namespace"), text_at(applied, "metadata", "name"),
                    kind_text(api_version, kind), *problem);
    return error;
  }
  return std::nullopt;
}

// The object was made before field managers were tracked.
void claim_untracked(ManagedFields& managed, const Json& live, const FieldManager& manager,
                     const Schema* schema, Time now) {
  const FieldManager unknown{"before-first-apply", manager.api_version, manager.subresource};
  record_update(managed, nullptr, live, unknown, schema, now);
  for (ManagedEntry& entry : managed.entries()) {
    FieldSet fields = entry.fields();
    drop_unwritable(fields, manager, schema);
    entry.set_fields(std::move(fields));
  }
  managed.drop_empty();
}

}  // namespace

Outcome<Json> server_side_apply(const Json* live, const Json& applied, const FieldManager& manager,
                                bool force, const Schema* schema, const ResourceType& type,
                                Time now) {
  if (auto error = find_error(applied, manager, schema, type)) return Refusal(std::move(*error));
  Json current = live == nullptr ? Json(JsonObject()) : *live;
  Json* metadata = find(current, "metadata");
  Json given;
  if (metadata != nullptr && metadata->is_object()) {
    if (Json* slot = find(*metadata, "managedFields")) given = std::move(*slot);
    erase_key(metadata->get_object(), "managedFields");
  }
  ManagedFields managed = ManagedFields::decode(std::move(given), true).value_or(ManagedFields());
  if (managed.empty() && live != nullptr) {
    claim_untracked(managed, current, manager, schema, now);
  }

  const Apply apply(current, applied, manager, schema, now);
  const bool is_kubectl = manager.name == "kubectl";
  Attempt attempt;
  attempt.managed = managed;
  apply.run(force, attempt);
  if (!attempt.conflicts.empty() && is_kubectl) {
    const FieldSet allowed = apply.allowed_by_last_applied();
    std::erase_if(attempt.conflicts,
                  [&](const Conflict& conflict) { return allowed.has(conflict.path); });
    if (attempt.conflicts.empty()) {
      attempt.managed = std::move(managed);
      apply.run(true, attempt);
    }
  }
  if (!attempt.conflicts.empty()) return Refusal(conflict_error(attempt.conflicts));
  if (is_kubectl) apply.update_last_applied(attempt.object);
  Json encoded = std::move(attempt.managed).encode();
  if (!encoded.is_null()) {
    ensure_object(attempt.object.as_object(), "metadata")["managedFields"] = std::move(encoded);
  }
  return std::move(attempt.object);
}

}  // namespace lockstep::apiserver
