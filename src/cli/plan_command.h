// `lockstep plan`: the controller's own decisions run forward. Which node starts when, which pods
// are moved, what blocks and which setting would help, and how long it takes.
#pragma once

#include <string>
#include <vector>

#include "cli/cluster_session.h"
#include "cli/plan_text.h"
#include "controller/plan_snapshot.h"

namespace lockstep::cli {

struct PlanFlags {
  ClusterFlags cluster;
  bool assume_change = false;  // as if a new driver version came
  Duration node_time = minutes(5);
  bool node_time_given = false;  // or as long as in a rollout's waves before
  // Of the repositories that rollouts name, those that may be read from here.
  std::vector<std::string> git_repositories;
  std::string output = "table";
};
int run_plan(const PlanFlags& flags);

// The same for the dashboard. `matrix` may be null: then it is not asked.
PlanAnswer make_plan(controller::FleetWatch& watch, Time now, const PlanFlags& flags,
                     const controller::ReadMatrix& matrix = {});

}  // namespace lockstep::cli
