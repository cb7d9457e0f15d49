// Reads what goes wrong at the API from a scenario, fault by fault:
//
//   faults: {replyLost: 0.02, watchLag: {default: 2s, pods: 30s}, outage: {at: 10m, for: 3m}}
//
// What is not named is as the strength controllerFaults says, or does not happen.
#pragma once

#include <span>
#include <string_view>
#include <utility>

#include "data/strict_reader.h"
#include "sim/scenario/crash_api.h"
#include "sim/scenario/scenario.h"

namespace lockstep::sim {

// Into the scenario's weights and, for what has a time, its steps.
void read_faults(StrictReader& reader, Scenario& scenario);

// The value of the step olderReplica.
struct OlderReplica {
  Duration age{0};
  Duration period = minutes(5);
  bool all_reads = false;
};
OlderReplica read_replica(StrictReader& reader);

// The value of the step crash: {afterWrite: 3, away: 7m}. The write is counted from that step on.
Crash read_crash_step(StrictReader& reader);

// The inverse of read_faults(): what it would have been read from.
Json faults_json(const Scenario& scenario);

// The weights that are chances, by their names in a scenario.
using FaultChance = std::pair<std::string_view, double kube::FaultWeights::*>;
std::span<const FaultChance> fault_chances();
// The kinds of objects whose watches can lag, each under its plural: `watchLag: {pods: 30s}`.
std::span<const ResourceType* const> lagging_types();

}  // namespace lockstep::sim
