// The fleet as the API shows it: what the watches hold, put together into one view per node and one
// tally per pool. The controller decides on it; `lockstep status`, `why` and `plan` show it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fleet/driver_clients.h"
#include "fleet/gpu_pods.h"
#include "fleet/node_view.h"
#include "fleet/tally.h"
#include "objects/event.h"
#include "upgrade/decision.h"
#include "upgrade/policy.h"
#include "view/driver_revisions.h"
#include "view/fleet_caches.h"
#include "view/fresh_reader.h"
#include "view/pool_rules.h"
#include "view/published_notes.h"

namespace lockstep::view {

struct FleetWatchOptions {
  std::string key_domain = "nvidia.com";
  fleet::GpuPodOptions gpu_pods;
  // Which DaemonSets' pods hold the driver open, and whether an upgrade restarts them.
  fleet::ClientOptions clients;
  bool restarts_clients = true;
  // Where the driver, its validators and NVIDIA's operator are.
  fleet::DriverOptions drivers;
  RolloutWatchOptions rollouts;
  // What only the controller knows is read from what it publishes. Off for the controller itself,
  // and beside NVIDIA's, which publishes nothing.
  bool reads_notes = true;
};

// A node's driver, as a rollout reads it.
struct DriverFacts {
  std::string set;  // "namespace/name"
  bool in_sync = false;
  bool out_of_sync = false;
  // Of the pod; empty: no pod.
  std::string revision = {};
  std::string image = {};
  Text pod;  // its uid
  Time pod_created;
};

class FleetWatch {
 public:
  FleetWatch(kube::Api& api, Loop& loop, Random& random, Log& log, FleetWatchOptions options);
  ~FleetWatch();
  FleetWatch(const FleetWatch&) = delete;
  FleetWatch& operator=(const FleetWatch&) = delete;

  // Since when this pool's nodes could be acted upon, too: upgrades were on, and no conflicting
  // controller was there.
  Duration acts_since(const std::string& pool) const;

  // The controller that leads knows by itself; null: what is published counts.
  void know_by(const KnowledgeSource* own) { own_knowledge_ = own; }
  void start();
  // As FleetCaches says it.
  bool synced() const { return caches_.synced(); }
  std::string missing() const { return caches_.missing(); }
  bool is_blind() const { return caches_.is_blind(); }
  Duration scheduler_sees_from() const { return caches_.scheduler_sees_from(); }
  void read_notes() { caches_.read_notes(); }
  DecodeContext& context() { return caches_.context(); }

  // What is shown, as it is.
  const FleetCaches& caches() const { return caches_; }
  const RolloutWatch& rollouts() const { return caches_.rollouts(); }
  RolloutWatch& rollouts() { return caches_.rollouts(); }
  // Null: no node has this name.
  std::shared_ptr<const Node> node(std::string_view name) const;
  void on_pod(kube::Cache<Pod>::Listener listener);
  // What was written is to be shown before it is acted upon again.
  void expect_node(const std::string& name, std::string_view version);
  void expect_pod(const ObjectKey& key, std::string_view version);
  void expect_pod_gone(const ObjectKey& key, std::string_view uid);
  bool is_node_current(const std::string& name) const;
  // The object that says which driver a rollout's nodes have; only if it is not a DaemonSet.
  const kube::Cache<GenericObject>& driver_objects(rollout::DriverKind kind) const;
  void expect_driver_object(const rollout::DriverTarget& driver, std::string_view version);

  // Something about this node changed, or about its pool: decide again. Not before synced().
  void on_node(std::function<void(const std::string& node)> listener);
  // A pool's counts or rules changed: slots may be free.
  void on_pool(std::function<void()> listener);

  // Nothing if the node does not exist. Counts and slots are the tally's, not the view's.
  std::optional<fleet::NodeView> view(const std::string& node) const;
  // The same of a node and pods that were read from the cluster itself. The node must be there.
  fleet::NodeView view(const FreshNode& fresh) const;
  // The driver's clients on the node, whatever its state.
  std::vector<fleet::ClientView> clients_on(const fleet::NodeView& view) const;
  // The DaemonSet that made the pod; null: none, or not known.
  std::shared_ptr<const DaemonSet> daemon_set_of(const Pod& pod) const;
  // False while a write of ours, to the node or to a pod on it, is not shown yet.
  bool is_current(const std::string& node) const;
  // Brings the tally up to date with the node; call it before deciding.
  void count(const fleet::NodeView& view);
  // The same for every node that changed since it was last counted; call it before giving slots.
  void count_changed();
  upgrade::PoolView pool(const std::string& name) const;
  const upgrade::Policy& policy(const std::string& pool) const { return *pool_rules_.policy(pool); }
  // Before what the open wave of a rollout adds.
  const upgrade::Policy& policy_before_waves(const std::string& pool) const {
    return *pool_rules_.policy_before_waves(pool);
  }
  const FleetWatchOptions& options() const { return options_; }
  // Names of the nodes that have a driver or should, in natural order.
  std::vector<std::string> nodes() const;

  // Of each node that is counted, while rollouts are on.
  const std::map<std::string, DriverFacts>& driver_facts() const { return driver_facts_; }
  // A pod that uses the node's GPUs runs there.
  bool runs_gpu_pods(const std::string& node) const;
  // Which driver versions the node's DRA plugins publish.
  std::vector<std::string> published_versions(const std::string& node) const;
  // Nothing: it is not known at this moment.
  std::optional<SetRevisions> revisions_of(const std::string& set) const {
    return driver_revisions_.of(set);
  }

  // NVIDIA's own upgrade controller would fight with us; what to do about it.
  const std::optional<fleet::Reason>& conflicting_controller() const {
    return pool_rules_.conflicting_controller();
  }
  // Drivers' DaemonSets whose pods Kubernetes replaces by itself.
  std::vector<std::string> rolled_driver_sets() const;
  // The object to which pool-wide events belong.
  std::optional<ObjectReference> policy_reference() const;

  fleet::Tally& tally() { return tally_; }
  const fleet::Tally& tally() const { return tally_; }
  const upgrade::Rules& rules() const { return rules_; }

 private:
  void listen();
  void touch(std::string_view node);
  void touch_all();
  void touch_daemon_set(const DaemonSet& set);
  std::shared_ptr<const DaemonSet> driver_set_of(const Node& node, const Pod* pod) const;
  bool is_driver_pod(const Pod& pod) const;
  std::vector<std::string> blocking_budgets(const Pod& pod) const;
  // The view but for its pods.
  fleet::NodeView begin_view(std::shared_ptr<const Node> node) const;
  void add_pod(const fleet::PodPtr& pod, const fleet::ClaimLookup& claims_of_pods, bool evicting,
               fleet::NodeView& view) const;
  const KnowledgeSource& knowledge() const;
  // What follows from the pods.
  void end_view(fleet::NodeView& view) const;
  // Of a controller that restarts clients.
  bool checks_clients() const;
  // Clients publish slices: a controller that restarts no clients does not wait for slices either.
  bool checks_slices(const Node& node) const;
  bool is_evicting(const Node& node) const;

  FleetCaches caches_;
  FleetWatchOptions options_;
  upgrade::Rules rules_;
  DriverRevisions driver_revisions_;
  PoolRules pool_rules_;
  fleet::Tally tally_;
  std::map<std::string, DriverFacts> driver_facts_;
  std::set<std::string> uncounted_;
  std::set<ObjectKey> driver_sets_;
  std::set<ObjectKey> client_sets_;
  PublishedNotes published_;
  const KnowledgeSource* own_knowledge_ = nullptr;
  std::vector<std::function<void(const std::string&)>> node_listeners_;
  std::vector<std::function<void()>> pool_listeners_;
};

}  // namespace lockstep::view
