// The flags of `lockstep status`, `top`, `why` and `plan`.
#pragma once

#include "cli/plan_command.h"
#include "cli/status_command.h"
#include "cli/top_command.h"

namespace CLI {
class App;
}

namespace lockstep::cli {

struct LookingFlags {
  StatusFlags status;
  WhyFlags why;
  PlanFlags plan;
  TopFlags top;
  double node_minutes = 5;
};

// `result` becomes its exit code when it is the one that is asked for.
void add_looking(CLI::App& app, LookingFlags& flags, int& result);

}  // namespace lockstep::cli
