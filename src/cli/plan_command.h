// `lockstep plan`: a dry run of the same decisions. Who goes when, who is moved, who blocks and
// which setting would let it pass, and about how long it takes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/cluster_session.h"
#include "fleet/node_view.h"
#include "upgrade/decision.h"

namespace lockstep::cli {

struct PlanFlags {
  ClusterFlags cluster;
  bool assume_change = false;  // as if a new driver version came
  Duration node_time = minutes(5);
  bool node_time_given = false;  // or as long as in a rollout's waves before
  std::string output = "table";
};
int run_plan(const PlanFlags& flags);

struct PlannedNode {
  std::string name;
  std::string pool;
  fleet::State state = fleet::State::unknown;
  int batch = 0;     // in which turn; 0: not at all
  std::string held;  // why not at all
  bool restart_only = false;
  bool stays_cordoned = false;
  std::vector<std::string> moved;    // pods that would be evicted
  std::vector<std::string> waited;   // pods that are waited for first
  std::vector<std::string> blocked;  // pods that may not be evicted, and why
};

struct Plan {
  std::vector<PlannedNode> nodes;   // in the order in which they would start
  std::vector<std::string> failed;  // that are not tried again by themselves
  int batches = 0;
  int64_t parallel = 0;
  Duration duration{0};
};

Json plan_to_json(const Plan& plan);
Plan make_plan(controller::FleetWatch& watch, bool assume_change, Duration node_time);

}  // namespace lockstep::cli
