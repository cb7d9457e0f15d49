// By which policy each pool is upgraded, and whether NVIDIA's own upgrade controller would fight
// over its nodes.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "objects/pod.h"
#include "upgrade/decision.h"
#include "upgrade/policy.h"
#include "view/fleet_caches.h"
#include "world/loop.h"

namespace lockstep::view {

class PoolRules {
 public:
  // `drivers`: where NVIDIA's operator is searched for.
  PoolRules(const Loop& loop, const std::string& key_domain, fleet::DriverOptions drivers);

  // Reads all policies: the ClusterPolicy's, those of NVIDIADrivers, and what rollouts make of
  // them. True: the conflicting controller has changed.
  bool read(const FleetCaches& caches);
  // A pod as it is now; `is_there`: not deleted. True: the conflicting controller has changed.
  bool see_pod(const Pod& pod, bool is_there);
  // The same of a Deployment.
  bool see_deployment(const Deployment& deployment, bool is_there);

  // A pool without an NVIDIADriver of its own goes by the ClusterPolicy.
  const std::shared_ptr<const upgrade::Policy>& policy(const std::string& pool) const;
  // The same before what the open wave of a rollout adds.
  const std::shared_ptr<const upgrade::Policy>& policy_before_waves(const std::string& pool) const;
  // Since when, on the loop's uptime, the pool's upgrades are on and no conflicting controller is
  // there; nothing: for as long as this process runs.
  std::optional<Duration> acts_since(const std::string& pool) const;
  // NVIDIA's own upgrade controller would fight with us; what to do about it.
  const std::optional<fleet::Reason>& conflicting_controller() const {
    return conflicting_controller_;
  }

 private:
  bool update_conflict();
  std::optional<fleet::Reason> find_conflicting_controller() const;
  bool acts(const upgrade::Policy& policy) const {
    return policy.auto_upgrade && !conflicting_controller_;
  }
  void note_idle_pools();

  const Loop& loop_;
  fleet::DriverOptions drivers_;
  bool own_switch_;  // beside NVIDIA's keys, with ours
  using Policies = std::map<std::string, std::shared_ptr<const upgrade::Policy>>;
  Policies policies_;                           // by pool; "" is the ClusterPolicy's
  Policies limited_;                            // to the wave that is open
  std::map<std::string, Duration> idle_until_;  // by pool, by the loop's uptime
  // The operator is there while its Deployment wants a pod, running or not, and while a pod runs.
  std::set<ObjectKey> operator_deployments_;
  std::set<ObjectKey> operator_pods_;
  std::optional<fleet::Reason> conflicting_controller_;
};

}  // namespace lockstep::view
