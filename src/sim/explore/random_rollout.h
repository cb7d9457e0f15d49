// Rollouts in the random mode: a scenario that was drawn already (random_run.h) gets waves, gates,
// bakes and approvals, users who promote, pause, retry, roll back and abort, and an end at which
// the rollout has finished, or says what it waits for.
#pragma once

#include <cstdint>

#include "sim/scenario/scenario.h"

namespace lockstep::sim {

// Draws with numbers of its own: the scenario is the one that its seed gives without a rollout.
Scenario with_random_rollout(Scenario scenario, uint64_t seed);

}  // namespace lockstep::sim
