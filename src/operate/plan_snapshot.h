// Where a plan begins: the fleet as the watches show it, as values for rollout/forward_run.
#pragma once

#include <functional>
#include <string>

#include "rollout/forward_run.h"
#include "rollout/matrix_file.h"
#include "view/fleet_watch.h"

namespace lockstep::operate {

// Reads a version matrix from Git.
using ReadMatrix = std::function<Result<rollout::Matrix>(const rollout::MatrixPlace&)>;

// The watch has counted its nodes. `matrix`: where the version comes from Git, whether a rollback
// is possible; null: it is assumed to be. A matrix that cannot be read from here refuses nothing:
// the controller reads it itself.
rollout::Snapshot plan_snapshot(const view::FleetWatch& watch, Time now,
                                const ReadMatrix& matrix = {});

}  // namespace lockstep::operate
