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

#include "controller/controller_notes.h"
#include "controller/fleet_caches.h"
#include "controller/fresh_reader.h"
#include "controller/pool_rules.h"
#include "fleet/driver_clients.h"
#include "fleet/gpu_pods.h"
#include "fleet/node_view.h"
#include "fleet/tally.h"
#include "objects/event.h"
#include "upgrade/decision.h"
#include "upgrade/policy.h"

namespace lockstep::controller {

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

// A node's driver, as a rollout looks at it.
struct DriverFacts {
  std::string set;  // "namespace/name"
  bool in_sync = false;
  bool out_of_sync = false;
  // Of the pod; empty: there is none.
  std::string revision = {};
  std::string image = {};
  Text pod;  // its uid
  Time pod_created;
};

class FleetWatch : public FleetCaches {
 public:
  FleetWatch(kube::Api& api, Loop& loop, Random& random, Log& log, FleetWatchOptions options);
  ~FleetWatch();
  // Since when this pool's nodes could be acted upon, too: nobody had switched upgrades off, and no
  // rival was there.
  Duration acts_since(const std::string& pool) const;

  // The controller that leads tells it by itself; null: what is published counts.
  using TellNotes = std::function<void(fleet::NodeView& view)>;
  void tell_notes_by(TellNotes own) { own_notes_ = std::move(own); }
  void start();

  // Something about this node changed, or about its pool: decide again. Not before synced().
  void on_node(std::function<void(const std::string& node)> listener);
  // A pool's counts or rules changed: slots may be free.
  void on_pool(std::function<void()> listener);

  // Nothing when there is no such node. Counts and slots are the tally's, not the view's.
  std::optional<fleet::NodeView> view(const std::string& node) const;
  // The same of a node and pods that were read from the cluster itself. The node must be there.
  fleet::NodeView view(const FreshNode& fresh) const;
  // The driver's clients on the node, whatever its state.
  std::vector<fleet::ClientView> clients_on(const fleet::NodeView& view) const;
  // The DaemonSet that made the pod; null: none, or not known.
  std::shared_ptr<const DaemonSet> daemon_set_of(const Pod& pod) const;
  // The driver's template has changed, and perhaps back: until the watches show it, which revision
  // is the newest is not known.
  static bool is_behind_on_driver(const FreshNode& fresh, const fleet::NodeView& view);
  // False while a write of ours, to the node or to a pod on it, is not shown yet.
  bool is_current(const std::string& node) const;
  // Brings the tally up to date with the node; call it before deciding.
  void count(const fleet::NodeView& view);
  // The same for every node that changed since it was last counted; call it before giving slots.
  void count_changed();
  upgrade::PoolView pool(const std::string& name) const;
  const upgrade::Policy& policy(const std::string& pool) const { return pool_rules_.policy(pool); }
  // Before what the open wave of a rollout adds.
  const upgrade::Policy& policy_before_waves(const std::string& pool) const {
    return pool_rules_.policy_before_waves(pool);
  }
  const FleetWatchOptions& options() const { return options_; }
  // Names of the nodes that have a driver or should, in natural order.
  std::vector<std::string> nodes() const;

  // Of each node that is counted, while rollouts are looked at.
  const std::map<std::string, DriverFacts>& driver_facts() const { return driver_facts_; }
  // A pod that uses the node's GPUs runs there.
  bool runs_gpu_pods(const std::string& node) const;
  // Which driver versions the node's DRA plugins tell the scheduler.
  std::vector<std::string> published_versions(const std::string& node) const;
  // The newest revision of a driver's DaemonSet and the one before it, with their images. Not set:
  // it is not known at this moment.
  struct SetRevisions {
    std::string newest;
    std::string newest_image;
    std::string previous;
    std::string previous_image;
  };
  std::optional<SetRevisions> revisions_of(const std::string& set) const;

  // NVIDIA's own upgrade controller would fight with us; what to do about it.
  const std::optional<upgrade::Reason>& rival() const { return pool_rules_.rival(); }
  // Drivers' DaemonSets whose pods Kubernetes replaces by itself.
  std::vector<std::string> rolled_driver_sets() const;
  // The object to which pool-wide events belong.
  std::optional<ObjectReference> policy_reference() const;

  fleet::Tally& tally() { return tally_; }
  const fleet::Tally& tally() const { return tally_; }
  const upgrade::Rules& rules() const { return rules_; }

  // What the caches hold of our tries to move pods, by uid.
  std::map<std::string, fleet::EvictionTries>& tries() { return tries_; }

 private:
  void listen();
  void touch(std::string_view node);
  void touch_all();
  void touch_daemon_set(const DaemonSet& set);
  void read_revision(const ControllerRevision& revision);
  std::shared_ptr<const DaemonSet> driver_set_of(const Node& node, const Pod* pod) const;
  bool is_driver_pod(const Pod& pod) const;
  // In the driver namespaces: elsewhere a tenant may have named the DaemonSet as its owner.
  std::vector<std::shared_ptr<const ControllerRevision>> revisions_owned_by(const Text& uid) const;
  std::vector<std::string> blocking_budgets(const Pod& pod) const;
  // The view but for its pods.
  fleet::NodeView begin_view(std::shared_ptr<const Node> node) const;
  void add_pod(const fleet::PodPtr& pod, const fleet::ClaimLookup& claims_of_pods, bool evicting,
               fleet::NodeView& view) const;
  void add_tries(std::string_view node, fleet::PodOnNode& entry) const;
  void add_notes(fleet::NodeView& view) const;
  void take_notes(const kube::Cache<ConfigMap>::Change& change);
  void take_ledger(const kube::Cache<ConfigMap>::Change& change);
  // What follows from the pods.
  void end_view(fleet::NodeView& view) const;
  bool is_evicting(const Node& node) const;

  FleetWatchOptions options_;
  upgrade::Rules rules_;
  PoolRules pool_rules_;
  fleet::Tally tally_;
  // Uid of a driver DaemonSet -> its newest revision.
  struct Newest {
    Text hash;
    Text digest;  // of the driver's configuration, in its template
    Time created;
    std::vector<Text> hashes;  // of all its revisions

    bool operator==(const Newest&) const = default;
  };
  static bool is_behind_on_revisions(const FreshNode& fresh, const fleet::DriverView& driver);
  static bool is_of_later_revision(const fleet::DriverView& driver, const Newest& newest);
  std::map<std::string, Newest, std::less<>> newest_;
  std::map<std::string, DriverFacts> driver_facts_;
  std::set<std::string> uncounted_;
  std::set<ObjectKey> driver_sets_;
  std::set<ObjectKey> client_sets_;
  std::map<std::string, fleet::EvictionTries> tries_;
  TellNotes own_notes_;
  ControllerNotes published_;
  std::map<std::string, std::string> slots_;  // node -> its version, as the ledger says
  const Loop& loop_;
  std::vector<std::function<void(const std::string&)>> node_listeners_;
  std::vector<std::function<void()>> pool_listeners_;
};

}  // namespace lockstep::controller
