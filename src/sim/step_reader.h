// Reads the steps of a scenario, and the values that they share with the scenario itself.
#pragma once

#include <optional>
#include <string>

#include "sim/scenario.h"
#include "sim/strict_reader.h"

namespace lockstep::sim {

// `path` is where it stands, for messages; only the first mistake is kept in `error`.
Interference read_step(const Json& json, const std::string& path, bool is_first,
                       std::optional<Error>& error);
// It waits for a phase of the rollout, or does something to it.
bool is_about_rollout(const Interference& step);

// What is wrong with a machine: of `machines`, and of the step setMachine.
NodeBehaviour read_behaviour(StrictReader& reader);
// What upgradePolicy may say. One that is wrong on purpose must at least have known keys.
void check_policy(const Json& json, const std::string& path, bool may_be_wrong,
                  std::optional<Error>& error);
// A map of labels or annotations.
void check_texts(const Json& json, const std::string& path, bool may_be_null,
                 std::optional<Error>& error);

}  // namespace lockstep::sim
