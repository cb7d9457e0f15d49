// Everything that a decision about one node looks at, as one value: put together from the caches by
// the controller, by `lockstep plan` and by tests.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "fleet/driver.h"
#include "fleet/keys.h"
#include "fleet/state.h"
#include "objects/node.h"
#include "objects/pod.h"
#include "objects/pod_disruption_budget.h"

namespace lockstep::fleet {

using PodPtr = std::shared_ptr<const Pod>;

// What became of our tries to move a pod. Lives in the process: it only spaces the tries out.
struct EvictionTries {
  uint32_t refusals = 0;
  Duration not_before{0};  // the next try, on the loop's uptime: a clock that is set moves it not
  bool by_budget = false;  // the last refusal was a disruption budget's (429)
  std::string message;     // what the server said
  bool forced = false;     // deleted with grace period zero
};

struct PodOnNode {
  PodPtr pod;
  bool uses_gpu = false;
  // Budgets that cover it and allow no disruption now. Filled in where somebody may be evicted.
  std::vector<std::string> blocking_budgets;
  std::optional<EvictionTries> tries;
  // How long to wait for the next try, at the moment of the view.
  Duration pause{0};
};

// A DaemonSet whose pods hold the driver open (section 8), and its pod on this node.
struct ClientView {
  std::string daemon_set;  // "namespace/name"
  bool wanted = false;     // the DaemonSet wants a pod here
  PodPtr pod;
};

// What a rollout, or the group that the node belongs to, keeps it from beginning.
struct RolloutHold {
  std::string name;  // "WaveNotOpen"
  std::string text;
  std::string remedy;
  std::string rollout = {};  // its name; empty: a group, or not known

  bool operator==(const RolloutHold&) const = default;
};

// Complete wherever it comes from (controller/fleet_watch.h): what no object of the cluster says,
// from `renewed` to `delay`, the controller publishes, and every other process reads it there.
struct NodeView {
  std::shared_ptr<const Node> node;
  std::string pool;
  DriverView driver;
  std::vector<PodOnNode> pods;  // all on the node but the driver's, by namespace and name
  std::vector<ClientView> clients;
  std::vector<PodPtr> validators;
  // Uids of pods that are certain to have started after the driver became ready, even in the same
  // second.
  std::vector<Text> renewed;
  // driverVersion of the ResourceSlices that this node publishes, without repeats.
  std::vector<std::string> slice_versions;
  // Since when somebody has been there to see and to act, without a gap. Not set: always.
  Time seen_since;
  // At this moment, and for longer than a moment, a watch tells nothing: what is shown may be long
  // past.
  bool blind = false;
  // How much further the clock went than time did, since the node was first seen in its state:
  // somebody set it. Negative: it was set back.
  Duration clock_gained{0};
  // Until then a scheduler may not have heard of the cordon yet, and sends pods here. Not set: it
  // has.
  Time scheduler_sees_from;
  // It was given a slot (see upgrade/slots.h) at just this version of the node.
  bool granted = false;
  // Its wave is not open, or no maintenance window is.
  std::optional<RolloutHold> held_by_rollout;
  // Its driver pod is of a revision that no open wave of its rollout allows it, and it has not been
  // in service with this pod before.
  std::optional<RolloutHold> outside_wave;
  // The controller's next step waits for something of its own: it could not read the node, or its
  // watches are behind.
  std::optional<RolloutHold> delay;
  // Nodes of one group begin together or not at all; empty: the node is by itself.
  std::string group;
  std::optional<RolloutHold> held_by_group;

  const std::string_view name() const { return node->meta.name.view(); }
};

State state_of(const Node& node, const Keys& keys);
// A label that is there and is no state's name.
bool has_strange_state(const Node& node, const Keys& keys);
bool is_skipped(const Node& node, const Keys& keys);
// The label that says so: in our key domain, or a user's in nvidia.com. Empty: none does.
std::string_view skip_label_of(const Node& node, const Keys& keys);
// A user wants no drain to touch the pod.
bool is_left_by_drains(const Pod& pod, const Keys& keys);
bool is_requested(const Node& node, const Keys& keys);
bool waits_for_safe_load(const Node& node, const Keys& keys);
// Cordoned, and we wrote down that we did it.
bool is_cordoned_by_us(const Node& node);
// Cordoned, and by a user who wants it to stay so when the upgrade is over; also where it was
// uncordoned in the middle of that.
bool was_cordoned_by_others(const Node& node, const Keys& keys);
// Its driver was restarted, or may have been, and was not validated since.
bool is_unvalidated(const Node& node);
// When the state was entered; not set when the annotation is missing or no time.
Time state_since(const Node& node);

}  // namespace lockstep::fleet
