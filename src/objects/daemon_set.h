// A DaemonSet and the revisions of its template.
#pragma once

#include <cstdint>
#include <optional>

#include "objects/int_or_percent.h"
#include "objects/kind.h"
#include "objects/meta.h"
#include "objects/pod.h"
#include "objects/selector.h"

namespace lockstep {

struct DaemonSet {
  struct Template : PodPlacement {
    StringMap labels;
    StringMap annotations;
    PodSpec spec;

    bool operator==(const Template&) const = default;
  };

  ObjectMeta meta;
  LabelSelector selector = LabelSelector::nothing();
  Template pod_template;
  Text update_strategy;  // "OnDelete" or "RollingUpdate"
  std::optional<IntOrPercent> max_unavailable;
  std::optional<IntOrPercent> max_surge;
  // Status.
  int64_t observed_generation = 0;
  int32_t desired = 0;
  int32_t current = 0;
  int32_t ready = 0;
  int32_t available = 0;
  int32_t updated = 0;
  int32_t misscheduled = 0;

  bool operator==(const DaemonSet&) const = default;
};

template <>
struct Kind<DaemonSet> {
  static const ResourceType& type() { return resource::daemon_sets; }
};
template <typename Reader>
void decode(Reader& in, DaemonSet& daemon_set, DecodeContext& context);

// A template of a DaemonSet as it once was. Pods carry its hash in the label
// controller-revision-hash, and so does the revision itself.
struct ControllerRevision {
  ObjectMeta meta;
  int64_t revision = 0;
  DaemonSet::Template pod_template;

  std::string_view hash() const { return meta.labels.get("controller-revision-hash"); }
  bool operator==(const ControllerRevision&) const = default;
};

template <>
struct Kind<ControllerRevision> {
  static const ResourceType& type() { return resource::controller_revisions; }
};
template <typename Reader>
void decode(Reader& in, ControllerRevision& revision, DecodeContext& context);

}  // namespace lockstep
