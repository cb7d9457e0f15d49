// The plan of a rollout, wave by wave: who would be in it, what it moves, what blocks it, what it
// costs, how long it takes, and why a start would be refused.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/plan_command.h"
#include "controller/rollout_watch.h"
#include "data/json.h"

namespace lockstep::cli {

struct PlannedWave {
  std::string name;
  std::string selection;  // "10% of all"
  std::vector<std::string> nodes;
  std::vector<std::string> left_out;  // skipped by a person
  int64_t gpus = 0;
  int64_t moved_pods = 0;
  std::vector<std::string> blocked;
  std::vector<std::string> gates;
  double gpu_hours_lost = 0;
  Duration upgrade{0};
  Duration bake{0};
  bool needs_approval = false;
};

struct RolloutPlan {
  std::string rollout;
  std::string phase;
  std::vector<std::string> refused;  // why it would not begin
  std::string way_back;
  std::vector<PlannedWave> waves;
};

// For every rollout that the watch knows. `assumed` is the plan as if a new version came.
std::vector<RolloutPlan> plan_rollouts(controller::FleetWatch& watch, const Plan& assumed,
                                       Duration node_time);
std::string rollout_plan_text(const RolloutPlan& plan);
Json to_json(const RolloutPlan& plan);

}  // namespace lockstep::cli
