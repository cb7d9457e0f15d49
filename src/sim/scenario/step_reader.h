// Reads the steps of a scenario, and the values that they share with the scenario itself.
#pragma once

#include "data/strict_reader.h"
#include "sim/scenario/scenario.h"

namespace lockstep::sim {

Interference read_step(StrictReader& reader, bool is_first);
// It waits for a phase of the rollout, or does something to it.
bool is_about_rollout(const Interference& step);

// What is wrong with a machine: of `machines`, and of the step setMachine.
NodeBehaviour read_behaviour(StrictReader& reader);
// What upgradePolicy may say. One that is wrong on purpose must at least have known fields.
void check_policy(StrictReader& reader, bool may_be_wrong);
// A map of labels or annotations.
void check_texts(StrictReader& reader, bool may_be_null);
// A whole number, or "50%".
Result<IntOrPercent> read_share(const Json& json);

}  // namespace lockstep::sim
