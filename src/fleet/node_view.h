// Everything that a decision about one node reads, as one value: put together from the caches by
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
#include "fleet/reason.h"
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
  // Budgets that cover it and allow no disruption now. Set for pods that may be evicted.
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

// What no object of the cluster says of a node. The controller that leads knows it by itself and
// publishes it (view/controller_notes.h); every other process reads it there.
struct NodeKnowledge {
  // Uids of pods that are certain to have started after the driver became ready, even in the same
  // second.
  std::vector<Text> renewed;
  // Since when the controller has been there to see and to act, without a gap. Not set: always.
  Time seen_since;
  // At this moment, and for longer than a moment, a watch is silent: what is shown may be
  // stale.
  bool blind = false;
  // How much further the clock went than time did, since the node was first seen in its state: a
  // user set it. Negative: it was set back.
  Duration clock_gained{0};
  // Until then a scheduler may not know of the cordon, and sends pods here. Not set: it
  // knows.
  Time scheduler_sees_from;
  // It was given a slot (see upgrade/slots.h) at just this version of the node.
  bool granted = false;
  // The controller's next step waits for something of its own: it could not read the node, or its
  // watches are behind.
  std::optional<Reason> delay;
};

// Complete wherever it comes from: a FleetWatch makes it of what the cluster shows and of what is
// known besides.
struct NodeView {
  std::shared_ptr<const Node> node;
  std::string pool;
  DriverView driver;
  std::vector<PodOnNode> pods;  // all on the node but the driver's, by namespace and name
  std::vector<ClientView> clients;
  std::vector<PodPtr> validators;
  // driverVersion of the ResourceSlices that this node publishes, without repeats.
  std::vector<std::string> slice_versions;
  // The rollout whose waves decide when the node begins. Empty: there is no rollout, or its answer
  // for the newest revision is not known at this moment.
  std::string rollout;
  // Its wave is not open, or no maintenance window is.
  std::optional<Reason> held_by_rollout;
  // Its driver pod is of a revision that no open wave of its rollout allows it, and it has not been
  // in service with this pod before.
  std::optional<Reason> outside_wave;
  // Nodes of one group begin together or not at all; empty: the node is by itself.
  std::string group;
  std::optional<Reason> held_by_group;
  NodeKnowledge known;

  const std::string_view name() const { return node->meta.name.view(); }
};

// Pods that use its GPUs now.
int64_t gpu_pods_on(const NodeView& view);

State state_of(const Node& node, const Keys& keys);
// A label exists, but its value is not the name of a state.
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
