// What the post-install hook has to do, node by node: which nodes' driver is not done yet, which
// nodes it does not wait for, and which pods of the DRA plugin are from before their node's driver
// and so hold a module that is gone. Decided from the current state alone, again after every
// change, so that it may be killed and run again.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "fleet/keys.h"
#include "fleet/node_view.h"
#include "objects/daemon_set.h"
#include "objects/generic_object.h"
#include "objects/int_or_percent.h"
#include "objects/node.h"
#include "objects/pod.h"
#include "objects/selector.h"

namespace lockstep::upgrade {

struct RerollRules {
  fleet::Keys keys;
  // By the labels of its pods; none: as NVIDIA's chart names and labels it.
  std::optional<LabelSelector> plugin_selector;
  // What was delivered, where the caller knows it; empty: not known. Deployers that apply all at
  // once may begin with the hook: until the cluster says the same, the migration has not begun.
  std::string driver_version;
  std::string chart_version;  // of gpu-operator, as the ClusterPolicy's label helm.sh/chart ends
  fleet::DriverOptions drivers = {};
};

// The DaemonSet brings the kubelet plugin of NVIDIA's DRA driver.
bool is_plugin_daemon_set(const DaemonSet& set, const RerollRules& rules);

// A plugin pod that this run has deleted, and the driver that it was too old for. A successor under
// the same driver is new enough, whatever a clock that was set back makes of its times.
struct Reroll {
  std::string old_uid;
  std::string driver_uid;
  Time driver_ready;
};
// By uid of the plugin's DaemonSet and name of the node.
using RerollKey = std::pair<std::string, std::string>;

// Everything that it reads. It may include objects of the two namespaces that are neither driver
// nor plugin.
struct RerollWorld {
  std::vector<std::shared_ptr<const Node>> nodes;
  std::vector<std::shared_ptr<const GenericObject>> cluster_policies;
  std::vector<std::shared_ptr<const DaemonSet>> driver_sets;
  std::vector<fleet::PodPtr> driver_pods;
  std::vector<std::shared_ptr<const DaemonSet>> plugin_sets;
  std::vector<fleet::PodPtr> plugin_pods;
  std::map<RerollKey, Reroll> rerolled;
};

// Something that is waited for.
struct RerollWait {
  std::string where;  // a node, or "DaemonSet a/b"
  std::string why;    // "the driver pod is not ready"

  bool operator==(const RerollWait&) const = default;
};

struct StalePlugin {
  RerollKey key;
  fleet::PodPtr pod;
  Reroll reroll;  // what to remember once it is deleted
};

struct RerollView {
  // Why there is nothing to do at all; empty: there is.
  std::string nothing_to_do;
  int64_t gpu_nodes = 0;
  // Of the driver's migration. Nodes in their natural order.
  std::vector<RerollWait> migrating;
  // Nodes that are not done and not waited for, and why: "skipped by its label".
  std::vector<RerollWait> left;
  // What the operator says about itself, where it is not "ready": to be shown, never waited for.
  std::string operator_state;

  int64_t plugin_pods = 0;  // on these nodes
  // Older than their node's driver, where that is done.
  std::vector<StalePlugin> stale;
  // Of the plugin: not there, on its way out, or not ready.
  std::vector<RerollWait> starting;
  int64_t outstanding = 0;  // of those that this run has deleted, without a ready successor yet

  bool migrated() const { return migrating.empty(); }
  bool finished() const { return migrating.empty() && stale.empty() && starting.empty(); }
};

RerollView look_at_reroll(const RerollWorld& world, const RerollRules& rules);

// Which of the stale ones may be deleted now: as many at a time as `parallel` says, at least one.
std::vector<StalePlugin> choose_rerolls(const RerollView& view, const IntOrPercent& parallel);

// "3 of 48 nodes are not done: gpu-7 (the driver pod is not ready), …": what is missing, ten by
// name.
std::string describe_migration(const RerollView& view);
// "gpu-3 (held by rollout driver), …"; empty: all nodes are waited for.
std::string describe_left(const RerollView& view);
// "2 plugin pods are older than their driver: gpu-1 (ns/name); 1 is not ready: gpu-3 (…)".
std::string describe_rollout(const RerollView& view);

}  // namespace lockstep::upgrade
