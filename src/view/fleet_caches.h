// Watches of everything that an upgrade reads, and their progress.
#pragma once

#include <memory>
#include <string>

#include "fleet/node_view.h"
#include "kube/cache_feed.h"
#include "objects/config_map.h"
#include "objects/daemon_set.h"
#include "objects/deployment.h"
#include "objects/generic_object.h"
#include "objects/node.h"
#include "objects/pod.h"
#include "objects/pod_disruption_budget.h"
#include "objects/resource_claim.h"
#include "objects/resource_slice.h"
#include "view/rollout_watch.h"
#include "world/log.h"
#include "world/loop.h"
#include "world/random.h"

namespace lockstep::view {

class FleetCaches {
 public:
  FleetCaches(kube::Api& api, Loop& loop, Random& random, Log& log,
              RolloutWatchOptions rollout_options);
  ~FleetCaches();
  FleetCaches(const FleetCaches&) = delete;
  FleetCaches& operator=(const FleetCaches&) = delete;

  void start();
  // Everything has been listed once. Kinds that the cluster does not have count as empty.
  bool synced() const;
  // When the API last answered, by the kind of object that is the furthest behind; not set before
  // synced().
  Time last_heard() const;
  // Since when, on the loop's uptime, everything has been seen, but for moments.
  Duration sees_since() const;
  // At this moment one of them may show what is long past.
  bool is_blind() const;
  // From when on, on the loop's uptime, the scheduler may be expected to know of every cordon:
  // after an API that was away it may learn of it later than we do.
  Duration scheduler_sees_from() const { return nodes_.reflector.others_see_from(); }
  // What the controller knows besides (controller_notes.h) and which slots it has given: for every
  // process but the controller that leads, which knows it anyway.
  void read_notes();
  bool reads_notes() const { return reads_notes_; }
  // Why what the controller knows besides cannot be read; empty: it can.
  std::string unreadable_notes() const;
  // What is still missing, for messages.
  std::string missing() const;

  // The one that counts; null if not found.
  std::shared_ptr<const GenericObject> cluster_policy() const;
  DecodeContext& context() { return context_; }

  // What is shown of each kind.
  const kube::Cache<Node>& nodes() const { return nodes_.cache; }
  const kube::Cache<Pod>& pods() const { return pods_.cache; }
  const kube::Cache<DaemonSet>& daemon_sets() const { return daemon_sets_.cache; }
  const kube::Cache<ControllerRevision>& revisions() const { return revisions_.cache; }
  const kube::Cache<Deployment>& deployments() const { return deployments_.cache; }
  const kube::Cache<ResourceClaim>& claims() const { return claims_.cache; }
  const kube::Cache<ResourceSlice>& slices() const { return slices_.cache; }
  const kube::Cache<PodDisruptionBudget>& budgets() const { return budgets_.cache; }
  const kube::Cache<GenericObject>& cluster_policies() const { return cluster_policies_.cache; }
  const kube::Cache<GenericObject>& nvidia_drivers() const { return nvidia_drivers_.cache; }
  const RolloutWatch& rollouts() const { return rollouts_; }
  // The same to listen to, and to wait there for what was written.
  kube::Cache<Node>& nodes() { return nodes_.cache; }
  kube::Cache<Pod>& pods() { return pods_.cache; }
  kube::Cache<DaemonSet>& daemon_sets() { return daemon_sets_.cache; }
  kube::Cache<ControllerRevision>& revisions() { return revisions_.cache; }
  kube::Cache<Deployment>& deployments() { return deployments_.cache; }
  kube::Cache<ResourceClaim>& claims() { return claims_.cache; }
  kube::Cache<ResourceSlice>& slices() { return slices_.cache; }
  kube::Cache<GenericObject>& cluster_policies() { return cluster_policies_.cache; }
  kube::Cache<GenericObject>& nvidia_drivers() { return nvidia_drivers_.cache; }
  kube::Cache<ConfigMap>& notes() { return notes_.cache; }
  kube::Cache<ConfigMap>& ledger() { return ledger_.cache; }
  RolloutWatch& rollouts() { return rollouts_; }
  // Whether the API answers at all: every cluster has nodes.
  const kube::ReflectorStatus& contact() const { return nodes_.reflector.status(); }
  bool has_lost_contact() const;

 private:
  template <typename Visit>
  void for_each_watch(Visit visit) const;

  DecodeContext context_;
  kube::CachedResource<Node> nodes_;
  kube::CachedResource<Pod> pods_;
  kube::CachedResource<DaemonSet> daemon_sets_;
  kube::CachedResource<ControllerRevision> revisions_;
  kube::CachedResource<Deployment> deployments_;
  kube::CachedResource<ResourceClaim> claims_;
  kube::CachedResource<ResourceSlice> slices_;
  kube::CachedResource<PodDisruptionBudget> budgets_;
  kube::CachedResource<GenericObject> cluster_policies_;
  kube::CachedResource<GenericObject> nvidia_drivers_;
  kube::CachedResource<ConfigMap> notes_;
  kube::CachedResource<ConfigMap> ledger_;
  RolloutWatch rollouts_;
  bool reads_notes_ = false;
};

}  // namespace lockstep::view
