#include "apiserver/apply/go_structs.h"

#include <algorithm>

namespace lockstep::apiserver {

namespace {

struct Part {
  std::string_view path;
  bool is_null = false;              // null at worst, not an empty object
  std::string_view only_kind = {};   // else every kind that has the field
  std::string_view other_kind = {};  // but for this one, where it is a pointer
};

constexpr Part struct_parts[] = {
    {"metadata"},
    {"spec"},
    {"status"},
    {"spec.template", false, {}, "/v1/ReplicationController"},
    {"spec.template.metadata", false, {}, "/v1/ReplicationController"},
    {"spec.template.spec", false, {}, "/v1/ReplicationController"},
    {"spec.template.spec.containers", true, {}, "/v1/ReplicationController"},
    {"spec.selector", true, {}, "/v1/ReplicationController"},
    {"spec.containers", true},
    {"spec.strategy"},
    {"spec.updateStrategy"},
    {"spec.jobTemplate"},
    {"spec.jobTemplate.metadata"},
    {"spec.jobTemplate.spec"},
    {"spec.jobTemplate.spec.template"},
    {"spec.jobTemplate.spec.template.metadata"},
    {"spec.jobTemplate.spec.template.spec"},
    {"spec.jobTemplate.spec.template.spec.containers", true},
    {"spec.resources"},
    {"spec.podSelector"},
    {"spec.names"},
    {"spec.pool"},
    {"spec.devices", false, {}, "resource.k8s.io/v1/ResourceSlice"},
    {"spec.drivers", true},
    {"spec.metadata"},
    {"spec.spec"},
    {"spec.spec.devices"},
    {"status.nodeInfo"},
    {"status.daemonEndpoints"},
    {"status.daemonEndpoints.kubeletEndpoint"},
    {"status.loadBalancer"},
    {"status.acceptedNames"},
    {"status.conditions", true, "apiextensions.k8s.io/v1/CustomResourceDefinition"},
    {"involvedObject"},
    {"regarding"},
    {"source"},
    {"deprecatedSource"},
    {"roleRef"},
    {"rules", true},
    {"template"},
    {"template.metadata"},
    {"template.spec"},
    {"template.spec.containers", true},
    {"endpoints", true},
    {"ports", true},
};

bool is_event(std::string_view kind) { return kind.ends_with("/Event"); }

}  // namespace

const Json* value_when_missing(std::string_view kind, std::string_view path) {
  static const Json empty = JsonObject();
  static const Json null;
  const auto part =
      std::find_if(std::begin(struct_parts), std::end(struct_parts), [&](const Part& candidate) {
        return candidate.path == path && candidate.other_kind != kind &&
               (candidate.only_kind.empty() || candidate.only_kind == kind);
      });
  if (part == std::end(struct_parts)) return nullptr;
  return part->is_null ? &null : &empty;
}

bool is_zero_value(std::string_view kind, std::string_view path, const Json& value) {
  if (value.is_null()) return true;
  // Counters and names in a status, and most fields of an event, are plain values that the server
  // always writes. Elsewhere zero is often a pointer's target: a client's choice.
  if (!path.starts_with("status.") && !is_event(kind)) return false;
  if (value.is_string()) return value.get_string().empty();
  if (value.is_number()) return json_equal(value, Json(0));
  return value.is_bool() && !value.get_bool();
}

}  // namespace lockstep::apiserver
