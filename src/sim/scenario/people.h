// The steps of a scenario that users take: they change versions, policies and rollouts, pause,
// cordon, skip, retry and repair, and submit and remove work.
#pragma once

#include <string>

#include "base/result.h"
#include "fleet/keys.h"
#include "sim/actors/cluster.h"
#include "sim/scenario/rollout_part.h"
#include "sim/scenario/scenario.h"

namespace lockstep::sim {

class People {
 public:
  People(Cluster& cluster, const Scenario& scenario, RolloutPart& rollout)
      : cluster_(cluster), scenario_(scenario), rollout_(rollout), keys_(scenario.key_domain) {}

  // Takes a step in a fleet that began with `nodes` nodes.
  Result<void> take(const Interference& step, int nodes);
  // Of several NVIDIADrivers the one that the rollout is for.
  Result<void> set_version(const std::string& version);
  // Users who repair everything also retry what failed.
  Result<void> retry_failed();

 private:
  // False: the step is about nodes.
  bool take_for_all(const Interference& step, int nodes, Result<void>& taken);
  Result<void> steer(const std::string& action, const std::string& node);
  Result<void> taint(const std::string& node, const Json& effects);
  Result<void> patch_node(const std::string& node, Json patch);
  Result<void> patch_policy(Json patch);
  Result<void> set_matrix(const Json& values);
  Result<void> add_claims(int pods);
  Result<void> restore_ledger();
  // All of a namespace, or those with this label `app`.
  Result<void> remove_pods(const std::string& ns, std::string_view app = {});

  Cluster& cluster_;
  const Scenario& scenario_;
  RolloutPart& rollout_;
  fleet::Keys keys_;
};

}  // namespace lockstep::sim
