// The demo's rollout: its waves with gates and a bake that is shortened for the screen, and what is
// said of it meanwhile.
#pragma once

#include <optional>
#include <string>

#include "cli/demo_command.h"
#include "sim/actors/health_reporter.h"
#include "sim/actors/simulated_fleet.h"
#include "view/fleet_watch.h"

namespace lockstep::cli {

inline constexpr std::string_view demo_rollout_name = "driver";

// Which nodes are the canary: a few, and not the one that is made to fail.
void label_canary(const DemoFlags& flags, sim::FleetOptions& fleet);
// How long the bake is here, instead of two days.
Duration demo_bake(const DemoFlags& flags);
// `repository`: of the version matrix; empty: no matrix.
Json demo_rollout(const DemoFlags& flags, const std::string& repository);
// How often fatal XIDs happen on busy nodes.
sim::EventRates demo_rates(const DemoFlags& flags);

// The rollout of the watch, once it is there.
const view::KnownRollout* find_rollout(const view::FleetWatch& watch);

}  // namespace lockstep::cli
