// A rollout under way as a tree for the terminal: each wave with its progress, about how long it
// takes, its gates and its bake in numbers. What the dashboard shows as a pipeline.
#pragma once

#include <string>

#include "cli/fleet_status.h"
#include "cli/terminal.h"
#include "controller/fleet_watch.h"

namespace lockstep::cli {

std::string rollout_tree(const controller::FleetWatch& watch,
                         const controller::KnownRollout& rollout, const FleetStatus& status,
                         const Terminal& terminal);

}  // namespace lockstep::cli
