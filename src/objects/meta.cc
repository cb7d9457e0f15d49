#include "objects/meta.h"

#include "objects/reading.h"

namespace lockstep {

namespace {

template <typename Reader>
void decode(Reader& in, OwnerReference& owner, DecodeContext& context) {
  in.object([&](std::string_view key) {
    if (key == "apiVersion") {
      owner.api_version = in.text(context.pool);
    } else if (key == "kind") {
      owner.kind = in.text(context.pool);
    } else if (key == "name") {
      owner.name = in.text(context.pool);
    } else if (key == "uid") {
      owner.uid = in.text(context.pool);
    } else if (key == "controller") {
      owner.controller = in.boolean();
    } else {
      in.skip();
    }
  });
}

template <typename Reader>
void read_owners(Reader& in, std::vector<OwnerReference>& owners, DecodeContext& context) {
  owners.clear();
  in.array([&] { decode(in, owners.emplace_back(), context); });
  owners.shrink_to_fit();
}

// A positive decimal number in its one spelling.
bool is_number(std::string_view version) {
  if (version.empty() || version.front() == '0') return false;
  return std::all_of(version.begin(), version.end(), [](char c) { return c >= '0' && c <= '9'; });
}

JsonObject map_to_json(const StringMap& map) {
  JsonObject object;
  for (const auto& [key, value] : map) object[key.view()] = value.view();
  return object;
}

}  // namespace

const OwnerReference* ObjectMeta::controller() const {
  for (const OwnerReference& owner : owners) {
    if (owner.controller) return &owner;
  }
  return nullptr;
}

const ResourceType& Kind<PartialObject>::type() {
  static const ResourceType any{"", "", "object", "objects", true};
  return any;
}

const Condition* find_condition(const std::vector<Condition>& conditions, std::string_view type) {
  for (const Condition& condition : conditions) {
    if (condition.type == type) return &condition;
  }
  return nullptr;
}

template <typename Reader>
void decode(Reader& in, ObjectMeta& meta, DecodeContext& context) {
  in.object([&](std::string_view key) {
    if (key == "name") {
      meta.name = read_unique(in);
    } else if (key == "namespace") {
      meta.ns = in.text(context.pool);
    } else if (key == "uid") {
      meta.uid = read_unique(in);
    } else if (key == "resourceVersion") {
      meta.resource_version = read_unique(in);
    } else if (key == "generation") {
      meta.generation = in.integer();
    } else if (key == "creationTimestamp") {
      meta.created = read_time(in, context);
    } else if (key == "deletionTimestamp") {
      meta.deleted = read_time(in, context);
    } else if (key == "deletionGracePeriodSeconds") {
      meta.deletion_grace_seconds = in.integer();
    } else if (key == "labels") {
      meta.labels = read_string_map(in, context);
    } else if (key == "annotations") {
      meta.annotations = read_string_map(in, context, context.drop_annotations);
    } else if (key == "ownerReferences") {
      read_owners(in, meta.owners, context);
    } else if (key == "finalizers") {
      read_texts(in, meta.finalizers, context);
    } else {
      in.skip();
    }
  });
}
LOCKSTEP_INSTANTIATE_DECODE(ObjectMeta);

template <typename Reader>
void decode(Reader& in, PartialObject& object, DecodeContext& context) {
  in.object([&](std::string_view key) {
    if (key == "metadata") {
      decode(in, object.meta, context);
    } else {
      in.skip();
    }
  });
}
LOCKSTEP_INSTANTIATE_DECODE(PartialObject);

template <typename Reader>
void decode(Reader& in, Condition& condition, DecodeContext& context) {
  in.object([&](std::string_view key) {
    if (key == "type") {
      condition.type = in.text(context.pool);
    } else if (key == "status") {
      condition.status = in.text(context.pool);
    } else if (key == "reason") {
      condition.reason = in.text(context.pool);
    } else if (key == "message") {
      condition.message = in.text(context.pool);
    } else if (key == "lastTransitionTime") {
      condition.last_transition = read_time(in, context);
    } else {
      in.skip();
    }
  });
}
LOCKSTEP_INSTANTIATE_DECODE(Condition);

VersionOrder compare_versions(std::string_view a, std::string_view b) {
  if (a.empty() || b.empty()) return VersionOrder::unknown;
  if (a == b) return VersionOrder::same;
  if (!is_number(a) || !is_number(b)) return VersionOrder::unknown;
  // More digits are more; so no number is too long.
  bool less = a.size() != b.size() ? a.size() < b.size() : a < b;
  return less ? VersionOrder::older : VersionOrder::newer;
}

JsonObject meta_to_json(const ObjectMeta& meta) {
  JsonObject object;
  if (!meta.name.empty()) object["name"] = meta.name.view();
  if (!meta.ns.empty()) object["namespace"] = meta.ns.view();
  if (!meta.uid.empty()) object["uid"] = meta.uid.view();
  if (!meta.resource_version.empty()) object["resourceVersion"] = meta.resource_version.view();
  if (meta.created.is_set()) object["creationTimestamp"] = format_rfc3339(meta.created);
  if (!meta.labels.empty()) object["labels"] = map_to_json(meta.labels);
  if (!meta.annotations.empty()) object["annotations"] = map_to_json(meta.annotations);
  if (!meta.owners.empty()) {
    JsonArray owners;
    for (const OwnerReference& owner : meta.owners) {
      JsonObject entry;
      entry["apiVersion"] = owner.api_version.view();
      entry["kind"] = owner.kind.view();
      entry["name"] = owner.name.view();
      entry["uid"] = owner.uid.view();
      if (owner.controller) entry["controller"] = true;
      owners.push_back(std::move(entry));
    }
    object["ownerReferences"] = std::move(owners);
  }
  if (!meta.finalizers.empty()) {
    JsonArray finalizers;
    for (const Text& finalizer : meta.finalizers) {
      finalizers.emplace_back(JsonString(finalizer.view()));
    }
    object["finalizers"] = std::move(finalizers);
  }
  return object;
}

}  // namespace lockstep
