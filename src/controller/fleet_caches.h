// Watches of everything that an upgrade looks at, and how far they are.
#pragma once

#include <memory>
#include <string>

#include "controller/rollout_watch.h"
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
#include "world/log.h"
#include "world/loop.h"
#include "world/random.h"

namespace lockstep::controller {

using fleet::cluster_policies;
using fleet::nvidia_drivers;

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
  // When the API was last heard of, by the kind of object that is the furthest behind; not set
  // before synced().
  Time last_heard() const;
  // Since when, on the loop's uptime, everything has been seen, but for moments.
  Duration sees_since() const;
  // At this moment one of them may show what is long past.
  bool is_blind() const;
  // From when on, on the loop's uptime, the scheduler may be expected to know of every cordon:
  // after an API that was away it may learn of it later than we do.
  Duration scheduler_sees_from() const { return nodes_watch.reflector.others_see_from(); }
  // What the controller knows besides (controller_notes.h) and which slots it has given: for every
  // process but the controller that leads, which knows it anyway.
  void read_notes();
  bool reads_notes() const { return reads_notes_; }
  // Why what the controller knows besides cannot be read; empty: it can.
  std::string unreadable_notes() const;
  // What is still missing, for messages.
  std::string missing() const;

  // The one that counts; null when there is none.
  std::shared_ptr<const GenericObject> cluster_policy() const;
  DecodeContext& context() { return context_; }

 private:
  DecodeContext context_;

 public:
  kube::CachedResource<Node> nodes_watch;
  kube::CachedResource<Pod> pods;
  kube::CachedResource<DaemonSet> daemon_sets;
  kube::CachedResource<ControllerRevision> revisions;
  kube::CachedResource<Deployment> deployments;
  kube::CachedResource<ResourceClaim> claims;
  kube::CachedResource<ResourceSlice> slices;
  kube::CachedResource<PodDisruptionBudget> budgets;
  kube::CachedResource<GenericObject> cluster_policy_objects;
  kube::CachedResource<GenericObject> nvidia_driver_objects;
  kube::CachedResource<ConfigMap> notes;
  kube::CachedResource<ConfigMap> ledger;
  RolloutWatch rollouts;

 private:
  bool reads_notes_ = false;
};

}  // namespace lockstep::controller
