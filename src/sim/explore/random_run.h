// The random mode: from one seed a fleet, its policy, its work, what is wrong with its machines,
// what users do and how badly the API behaves. First everything happens at once and no invariant
// may break. Then the troubles stop, users repair what they broke, and the fleet must reach its
// goal in bounded time, stop writing, and end as its fault-free run does (calm_twin.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/scenario/scenario_run.h"

namespace lockstep::sim {

// Without waves, or with a rollout (random_rollout.h).
enum class RandomKind { upgrade, rollout };

// The same seed gives the same scenario, with what it expects at its end.
Scenario random_scenario(uint64_t seed, RandomKind kind = RandomKind::upgrade);

struct RandomResult {
  RunSummary summary;              // of the run with faults
  std::vector<std::string> wrong;  // the first broken invariant first; empty: no violation
  // Those before what is wrong: of the run, or of its fault-free run if only that one failed.
  std::vector<std::string> last_events;
};
// Runs a scenario of that kind and its fault-free run; also one that has been made smaller.
RandomResult run_random(const Scenario& scenario, const RunOptions& options);

// What a finding is about, without times, names and numbers: two runs fail alike where it is equal.
std::string kind_of_failure(const std::string& wrong);

// "lockstep simulate --random --seed 17"
std::string random_command(uint64_t seed, RandomKind kind = RandomKind::upgrade);

}  // namespace lockstep::sim
