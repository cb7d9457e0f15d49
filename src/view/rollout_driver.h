// Which driver a rollout is to bring, and which one was there before, as the watches show it.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "rollout/driver_fields.h"
#include "rollout/rollout_view.h"
#include "view/fleet_watch.h"

namespace lockstep::view {

// Which revision a rollout's nodes are to have, and what its driver's object says.
struct DriverOfRollout {
  rollout::DriverRevision target;
  std::string target_image;
  rollout::DriverRevision previous;
  std::optional<rollout::DriverFields> object;
};

// `sets`: the DaemonSets of its nodes, as "namespace/name".
void add_driver(const FleetWatch& watch, const rollout::RolloutSpec& spec,
                const std::set<std::string>& sets, DriverOfRollout& driver);

}  // namespace lockstep::view
