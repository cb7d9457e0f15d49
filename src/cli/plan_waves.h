// The plan of a rollout, wave by wave: who would be in it, what it moves, what blocks it, what it
// costs, how long it takes, and why a start would be refused.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "cli/plan_command.h"
#include "controller/rollout_watch.h"
#include "data/json.h"
#include "rollout/matrix_file.h"

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
  Duration node_time{0};
  bool from_history = false;  // as long as nodes took in its waves before
};

// For every rollout that the watch knows. `assumed` is the plan as if a new version came.
// `read` reads a version matrix from Git. A node takes as long as it did in the rollout's waves
// before, or `node_time` where there are none or it `is_given`.
using ReadMatrix = std::function<Result<rollout::Matrix>(const rollout::MatrixPlace&)>;
std::vector<RolloutPlan> plan_rollouts(controller::FleetWatch& watch, const Plan& assumed,
                                       Duration node_time, bool is_given, const ReadMatrix& read);
std::string rollout_plan_text(const RolloutPlan& plan);
Json to_json(const RolloutPlan& plan);

}  // namespace lockstep::cli
