// A pod, as far as upgrades need it, and the part of its spec that a DaemonSet's template
// shares.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "objects/kind.h"
#include "objects/meta.h"
#include "objects/quantity.h"

namespace lockstep {

struct EnvironmentVariable {
  Text name;
  Text value;

  bool operator==(const EnvironmentVariable&) const = default;
};

struct Container {
  Text name;
  Text image;
  // Extended resources that are requested or limited; where both are given, the larger.
  ResourceAmounts resources;
  // Only what DecodeContext keeps.
  std::vector<EnvironmentVariable> environment;

  bool operator==(const Container&) const = default;
};

// spec.resourceClaims: a claim by name, or one that is made from a template.
struct PodResourceClaim {
  Text name;  // within the pod
  Text claim_name;
  Text template_name;

  bool operator==(const PodResourceClaim&) const = default;
};

// status.resourceClaimStatuses: the claim that was made from a template. An empty claim name: none
// was needed.
struct PodResourceClaimStatus {
  Text name;
  Text claim_name;

  bool operator==(const PodResourceClaimStatus&) const = default;
};

// What a pod's spec and a template's spec have in common.
struct PodSpec {
  std::vector<Container> containers;
  std::vector<Container> init_containers;
  std::vector<PodResourceClaim> resource_claims;
  Text runtime_class;
  bool has_empty_dir = false;

  // Init containers first; null when no container has it.
  const Text* find_environment(std::string_view name) const;
  bool operator==(const PodSpec&) const = default;
};

struct Toleration {
  Text key;  // empty with Exists: every key
  Text op;   // "Exists"; "Equal" or empty
  Text value;
  Text effect;  // empty: every effect

  bool operator==(const Toleration&) const = default;
};
template <typename Reader>
void decode(Reader& in, Toleration& toleration, DecodeContext& context);

// On which nodes the pods of a template may run.
struct PodPlacement {
  StringMap node_selector;
  std::vector<Toleration> tolerations;

  bool operator==(const PodPlacement&) const = default;
};

struct ContainerStatus {
  Text name;
  bool ready = false;
  int32_t restarts = 0;
  int32_t exit_code = 0;  // of the current termination, else of the last one
  Time started;           // of the running container; not set while it does not run
  Text waiting_reason;    // "ImagePullBackOff", …
  Text waiting_message;
  Text terminated_reason;  // "Error", "Completed", …, of the current termination, else of the last
                           // one
  bool terminated = false;

  bool running() const { return started.is_set(); }
  bool operator==(const ContainerStatus&) const = default;
};

enum class PodPhase : uint8_t { unknown, pending, running, succeeded, failed };
std::string_view to_string(PodPhase phase);
PodPhase pod_phase(std::string_view text);

struct Pod {
  ObjectMeta meta;
  PodSpec spec;
  Text node_name;
  PodPhase phase = PodPhase::unknown;
  bool ready = false;  // the condition Ready is True
  Time ready_since;    // when it last changed, to either side
  Time started;        // status.startTime
  int64_t termination_grace_seconds = 30;
  Text reason;
  Text message;
  std::vector<ContainerStatus> container_statuses;
  std::vector<ContainerStatus> init_container_statuses;
  std::vector<PodResourceClaimStatus> resource_claim_statuses;
  // The claim that the scheduler made for extended resources which a DRA driver provides
  // (status.extendedResourceClaimStatus); empty: none.
  Text extended_resource_claim;
  // Those of the kubelet's own conditions that say nothing beyond phase and ready are left out.
  std::vector<Condition> conditions;

  bool is_mirror() const;
  // Succeeded or Failed.
  bool is_finished() const { return phase == PodPhase::succeeded || phase == PodPhase::failed; }
  bool is_owned_by_daemon_set() const;
  bool operator==(const Pod&) const = default;
};

// The claims that the pod uses, by name in its namespace; `unresolved` counts those that are to be
// made from a template and are not known yet.
struct PodClaims {
  std::vector<Text> names;
  int unresolved = 0;
};
PodClaims claims_of(const Pod& pod);

template <>
struct Kind<Pod> {
  static const ResourceType& type() { return resource::pods; }
};
template <typename Reader>
void decode(Reader& in, Pod& pod, DecodeContext& context);
// `placement` may be null: only templates keep it.
template <typename Reader>
void decode_pod_spec(Reader& in, PodSpec& spec, PodPlacement* placement, DecodeContext& context);

}  // namespace lockstep
