// The fault-free run of a run: the same fleet, work, policy, machines, accidents and users, and one
// controller that is never killed, cut off or shown stale data. Both runs must have the same end:
// faults between a controller and its API may cost time, never the result.
//
// What users and machines do stays in the fault-free run, because it decides where the fleet ends:
// a version that is rolled back, a node that is deleted. Without stale data every invariant is
// strict, so the fault-free run is a test of its own.
#pragma once

#include <string>
#include <vector>

#include "sim/scenario/scenario_run.h"

namespace lockstep::sim {

Scenario calm_twin(const Scenario& scenario);

// What is wrong with either, and where their ends differ; empty: nothing. Not compared, because it
// depends on what came first and not on what the controller did right or wrong:
//
//   * pods that have ended: they go with their node, if it goes;
//   * pods without a controller: whether an upgrade that was reverted had reached their node by
//     then is a question of time;
//   * nodes that are not done in both, of a scenario that does not expect all to be done: which
//     nodes fail or wait behind a budget of failures depends on who was first. Either run checks
//     that each has a reason and that it is true.
std::vector<std::string> compare_with_twin(const Scenario& scenario, const RunSummary& run,
                                           const RunSummary& twin);

}  // namespace lockstep::sim
