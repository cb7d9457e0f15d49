// What every Kubernetes object carries: metadata, as far as we use it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "base/time.h"
#include "objects/decode_context.h"
#include "objects/kind.h"
#include "objects/resource_type.h"
#include "objects/string_map.h"

namespace lockstep {

struct OwnerReference {
  Text api_version;
  Text kind;
  Text name;
  Text uid;
  bool controller = false;

  bool operator==(const OwnerReference&) const = default;
};

struct ObjectMeta {
  Text name;
  Text ns;
  Text uid;
  Text resource_version;
  int64_t generation = 0;
  Time created;
  Time deleted;  // set: the object is on its way out
  int64_t deletion_grace_seconds = 0;
  StringMap labels;
  StringMap annotations;
  std::vector<OwnerReference> owners;
  std::vector<Text> finalizers;

  ObjectKey key() const { return {ns.str(), name.str()}; }
  bool is_deleting() const { return deleted.is_set(); }
  // The owner that manages the object, or null.
  const OwnerReference* controller() const;
  bool operator==(const ObjectMeta&) const = default;
};

// Nothing but the metadata: a watch's bookmark, or an object of which no more is of interest.
struct PartialObject {
  ObjectMeta meta;
  bool operator==(const PartialObject&) const = default;
};

// One entry of status.conditions, of any kind of object.
struct Condition {
  Text type;
  Text status;  // "True", "False", "Unknown"
  Text reason;
  Text message;
  Time last_transition;

  bool is_true() const { return status == "True"; }
  bool operator==(const Condition&) const = default;
};

template <>
struct Kind<PartialObject> {
  // A placeholder for messages; the caller that requests the objects gives the real type.
  static const ResourceType& type();
};

const Condition* find_condition(const std::vector<Condition>& conditions, std::string_view type);

template <typename Reader>
void decode(Reader& in, ObjectMeta& meta, DecodeContext& context);
template <typename Reader>
void decode(Reader& in, PartialObject& object, DecodeContext& context);
template <typename Reader>
void decode(Reader& in, Condition& condition, DecodeContext& context);

// The order of two resource versions. They are opaque by contract and integers in practice: two
// integers are ordered, anything else is only equal or not comparable.
enum class VersionOrder { older, same, newer, unknown };
VersionOrder compare_versions(std::string_view a, std::string_view b);

// metadata as JSON, empty fields left out; for the objects that we create.
JsonObject meta_to_json(const ObjectMeta& meta);

}  // namespace lockstep
