// A plan as people read it, and as JSON for the dashboard and for programs.
#pragma once

#include <string>

#include "data/json.h"
#include "rollout/forward_run.h"

namespace lockstep::cli {

struct PlanAnswer {
  rollout::Plan plan;
  rollout::Pace pace;
  bool from_history = false;  // a node takes as long as in the waves before
};

std::string plan_text(const PlanAnswer& answer);
Json plan_to_json(const PlanAnswer& answer);

}  // namespace lockstep::cli
