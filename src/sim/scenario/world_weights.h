// What happens to a scenario's fleet by weights, and what its users do, instead of step by
// step:
//
//   faults: {world: {rebootNodes: 0.5, cordon: 0.2, outage: 1, until: 90m}}
//
// Averages per hour, of each node or of the whole fleet. A run draws steps from that with its
// seed (fault_steps.h), and at the end of that time users repair what broke.
#pragma once

#include <cstdint>

#include "data/strict_reader.h"
#include "sim/scenario/scenario.h"

namespace lockstep::sim {

// Into the scenario's weights; versions and limit must have been read.
void read_world(StrictReader& reader, Scenario& scenario);
// Its inverse.
Json world_json(const WorldWeights& world);

// The same scenario with the steps of a run in the place of the weights. Kinds are drawn one by
// one: a weight that is changed leaves what is drawn of the others as it was.
Scenario with_world_drawn(const Scenario& scenario, uint64_t seed, int nodes);

}  // namespace lockstep::sim
