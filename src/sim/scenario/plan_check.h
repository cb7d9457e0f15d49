// Whether a run went as a plan had said before it: which nodes start, in which order and about
// when, what each comes to and why, the nodes of each wave, and how the rollout ends.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "rollout/forward_run.h"
#include "sim/actors/cluster.h"
#include "sim/oracle/witness.h"
#include "sim/scenario/rollout_part.h"
#include "view/fleet_watch.h"

namespace lockstep::sim {

class PlanCheck {
 public:
  // The fleet as a controller's watches show it, before its version changes.
  PlanCheck(const view::FleetWatch& watch, Time now);

  // What went otherwise, in sentences. How long a node took is taken from the run: of the plan, the
  // order of events is compared, and when each comes at that pace.
  std::vector<std::string> compare(Cluster& cluster, const Witness& witness,
                                   const RolloutPart& rollout,
                                   const std::map<std::string, fleet::Reason>& reasons) const;

 private:
  rollout::Snapshot snapshot_;
};

}  // namespace lockstep::sim
