// A plan of what the controller would do: its own decisions run forward from the fleet as it is, at
// the pace that the rollouts' history shows.
#pragma once

#include "base/time.h"
#include "data/json.h"
#include "operate/plan_snapshot.h"
#include "rollout/forward_run.h"
#include "view/fleet_watch.h"

namespace lockstep::operate {

struct PlanRequest {
  bool assume_change = false;  // as if a new driver version came
  Duration node_time = minutes(5);
  bool node_time_given = false;  // or as long as in a rollout's waves before
};

struct PlanAnswer {
  rollout::Plan plan;
  rollout::Pace pace;
  bool from_history = false;  // a node takes as long as in the waves before
};

// `matrix` may be null: then Git is not asked.
PlanAnswer make_plan(view::FleetWatch& watch, Time now, const PlanRequest& asked,
                     const ReadMatrix& matrix = {});
// For pages and programs.
Json to_json(const PlanAnswer& answer);

}  // namespace lockstep::operate
