// The calm twin of a run: the same fleet, work, policy, machines, accidents and people, and one
// controller that is never killed, cut off or lied to. The end of a run must be the end of its
// twin: whatever goes wrong between a controller and its API may cost time, never the result.
//
// What people and machines do stays in the twin, for it decides where the fleet ends: a version
// that is taken back, a node that is deleted. Without lies every invariant is strict, so the twin
// is a test of its own.
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
//   * pods that nobody would make anew: whether an upgrade that was taken back had reached their
//     node by then is a question of time;
//   * nodes that are not done in both, of a scenario that does not expect all to be done: which
//     nodes fail or wait behind a budget of failures depends on who was first. That each says why,
//     and truly, is checked in either run.
std::vector<std::string> compare_with_twin(const Scenario& scenario, const RunSummary& run,
                                           const RunSummary& twin);

}  // namespace lockstep::sim
