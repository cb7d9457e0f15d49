// The rules by which a pool of nodes is upgraded, as ClusterPolicy and NVIDIADriver objects carry
// them under upgradePolicy.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "data/json.h"
#include "objects/int_or_percent.h"
#include "objects/selector.h"

namespace lockstep::upgrade {

// What to do with nodes that a user has cordoned.
enum class CordonedNodes { wait, upgrade, ignore };

struct WaitPolicy {
  LabelSelector pods = LabelSelector::nothing();
  Duration timeout{0};  // zero: indefinitely
};

struct EvictionPolicy {
  bool force = false;             // also pods without a controller
  bool delete_empty_dir = false;  // also pods with data in an emptyDir
  Duration timeout = seconds(300);
  LabelSelector pods = LabelSelector::nothing();
};

struct DrainPolicy {
  bool enable = false;
  EvictionPolicy eviction;  // its selector: empty matches all
};

struct Deadlines {
  Duration restart = minutes(30);
  Duration image_pull = minutes(5);
  Duration validation = seconds(600);
  int32_t restarts = 10;
};

struct Policy {
  // The source of the rules, for messages: "ClusterPolicy cluster-policy". Empty if not found.
  std::string source;
  bool auto_upgrade = true;
  // Not empty: upgrades are not requested, as NVIDIA's controller also sees it. Says which field
  // disables them or is missing, and what would request them.
  std::string not_asked;
  std::string asks_if;
  // The ClusterPolicy is for virtual machines, which no driver on the host serves.
  bool serves_machines = false;
  // NVIDIA's own controller is set to upgrade; differs from ours only outside its key domain.
  bool nvidia_auto_upgrade = false;
  std::optional<std::string> paused;  // why a user paused it
  int64_t max_parallel = 1;           // zero: no limit
  IntOrPercent max_unavailable = IntOrPercent::percentage(25);
  IntOrPercent max_failures = IntOrPercent::percentage(10);
  CordonedNodes cordoned_nodes = CordonedNodes::wait;
  WaitPolicy wait;
  EvictionPolicy pod_deletion;
  DrainPolicy drain;
  Deadlines deadlines;
  // Not empty: the policy is invalid. No new upgrade starts. Upgrades in progress continue with the
  // defaults for the values that could not be read. An invalid selector matches no pod.
  std::vector<std::string> problems;
  // What was not understood and does not matter: unknown keys.
  std::vector<std::string> warnings;

  // Upgrades are not requested: nothing is done.
  static Policy none();
};

// `object` is a ClusterPolicy (spec.driver.upgradePolicy) or an NVIDIADriver (spec.upgradePolicy),
// or null where neither is there. A problem names the field by its path.
Policy read_policy(const Json* upgrade_policy, std::string source);

// The switch and the rules of a whole object: what its upgradePolicy says, over that what its
// annotation lockstep.dev/upgrade-policy says, over that `over` (a DriverRollout's policy, or
// null); and whether it is paused. `own_switch`: autoUpgrade is NVIDIA's switch, ours is the
// annotation lockstep.dev/auto-upgrade.
Policy policy_of_cluster_policy(const Json& object, bool own_switch = false,
                                const Json* over = nullptr);
// `fallback`: the ClusterPolicy's, for an NVIDIADriver that has no upgradePolicy of its own.
Policy policy_of_nvidia_driver(const Json& object, const Policy& fallback, bool own_switch = false,
                               const Json* over = nullptr);

// Fields of upgradePolicy that a manifest sets (kubectl.kubernetes.io/last-applied-configuration)
// and that the object has not: its CRD does not know them, and the API server drops them. By their
// paths, such as "podDeletion.podSelector".
std::vector<std::string> pruned_fields(const Json& object);

}  // namespace lockstep::upgrade
