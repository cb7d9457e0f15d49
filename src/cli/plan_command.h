// `lockstep plan`: the controller's own decisions run forward. Which node starts when, which pods
// are moved, what blocks and which setting would help, and how long it takes.
#pragma once

#include <string>
#include <vector>

#include "cli/cluster_session.h"
#include "operate/plan.h"

namespace lockstep::cli {

struct PlanFlags {
  ClusterFlags cluster;
  operate::PlanRequest asked;
  // Of the repositories that rollouts name, those that may be read from here.
  std::vector<std::string> git_repositories;
  std::string output = "table";
};
int run_plan(const PlanFlags& flags);

}  // namespace lockstep::cli
