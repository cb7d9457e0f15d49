// The labels and annotations in which an upgrade keeps its memory. All but ours lie in a key
// domain: nvidia.com, so that existing dashboards and runbooks go on working, or lockstep.dev
// beside NVIDIA's own operator.
#pragma once

#include <string>
#include <string_view>

#include "objects/resource_type.h"

namespace lockstep::fleet {

struct Keys {
  explicit Keys(std::string_view key_domain = "nvidia.com");

  std::string domain;
  // Node labels.
  std::string state;
  std::string skip;
  // Pod label.
  std::string drain_skip;
  // The same two as users' runbooks write them, which count in every domain.
  std::string users_skip;
  std::string users_drain_skip;
  // Node annotations.
  std::string requested;
  std::string safe_load;
  std::string initially_unschedulable;
  std::string wait_start;
  std::string validation_start;
};

// Node annotations of our own.
inline constexpr std::string_view since_annotation = "lockstep.dev/upgrade-since";
inline constexpr std::string_view failure_annotation = "lockstep.dev/upgrade-failure";
// The revision that was being rolled out when the node failed: another one is a reason to try
// again. It stays through a retry, which must pass from the beginning although the pod may fit.
inline constexpr std::string_view failed_revision_annotation =
    "lockstep.dev/upgrade-failed-revision";
// The uid of the driver pod with which the upgrade began. Times cannot say whether a pod is from
// before: its own is the API server's, and ours may be another.
inline constexpr std::string_view began_with_annotation = "lockstep.dev/upgrade-began-with";
// The uid of the driver pod that was there when a retry began: broken, it is replaced. The upgrade
// itself began with an earlier pod, and only that one returns to service without a validation.
inline constexpr std::string_view retried_with_annotation = "lockstep.dev/upgrade-retried-with";
// The uid of the driver pod whose restart a user requested: another one is the restart.
inline constexpr std::string_view requested_with_annotation = "lockstep.dev/upgrade-requested-with";
// Since when a container of the new driver pod has been seen to wait for what may never come, such
// as its image: the time, and of which pod and container.
inline constexpr std::string_view waiting_since_annotation = "lockstep.dev/upgrade-waiting-since";
// The owner of the node's cordon. Written together with the cordon, so that our cordon does not
// look like a user's if the state label is lost or set by hand. Removed at the end of the upgrade.
inline constexpr std::string_view cordon_annotation = "lockstep.dev/upgrade-cordon";
inline constexpr std::string_view our_cordon = "ours";
// A user lifted our cordon while the upgrade was stopped: a later cordon belongs to the user.
inline constexpr std::string_view lifted_cordon = "lifted";
// The driver is being restarted, or was, and the node has not passed its validation since: whatever
// becomes of the state label, the upgrade is not over.
inline constexpr std::string_view unvalidated_annotation = "lockstep.dev/upgrade-unvalidated";
// The uid of the driver pod with which the node was last found fit for service.
inline constexpr std::string_view driver_pod_annotation = "lockstep.dev/upgrade-driver-pod";
// When the node returned a slot that it may not use. The time matters little. What counts is the
// change of the node: from then on its slot is void for every replica that still knows of it.
inline constexpr std::string_view slot_returned_annotation = "lockstep.dev/slot-returned";
// The rollout that decides when the node begins: written when it is required, gone when it has
// begun. The post-install hook, which may read nothing of rollouts, does not wait for such a node.
inline constexpr std::string_view awaits_rollout_annotation = "lockstep.dev/awaits-rollout";
// On a ClusterPolicy or NVIDIADriver: no new node starts while it is there; who, when and why.
inline constexpr std::string_view paused_annotation = "lockstep.dev/paused";
// On the same, where autoUpgrade is NVIDIA's switch (--key-domain lockstep.dev): "false" is off.
inline constexpr std::string_view auto_upgrade_annotation = "lockstep.dev/auto-upgrade";

// On the same: rules that NVIDIA's CRD does not know and prunes, as YAML.
inline constexpr std::string_view policy_annotation = "lockstep.dev/upgrade-policy";

// Where the rules of an upgrade are written.
extern const ResourceType cluster_policies;  // nvidia.com/v1
extern const ResourceType nvidia_drivers;    // nvidia.com/v1alpha1
// How a fleet is upgraded in waves; ours (src/rollout).
extern const ResourceType driver_rollouts;  // lockstep.dev/v1alpha1

// On the ConfigMaps that hold a rollout's waves: the rollout's name.
inline constexpr std::string_view rollout_label = "lockstep.dev/rollout";

// On a node that a rollout holds by the skip label: its name. A skip label without it is a user's.
inline constexpr std::string_view kept_back_annotation = "lockstep.dev/kept-back-by";

// Whose driver a node runs: the name of its NVIDIADriver. Pools of nodes are made by it.
inline constexpr std::string_view driver_owner_label = "nvidia.com/gpu-operator.driver.owner";
inline constexpr std::string_view revision_label = "controller-revision-hash";

}  // namespace lockstep::fleet
