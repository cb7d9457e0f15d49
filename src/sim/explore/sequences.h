// The sequences mode: a user changes version or policy while a node is in a given state, waits for
// a while, and changes it again or back: every state with every change. Whatever was done on the
// way, in the end the fleet matches the last change.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "sim/scenario/scenario_run.h"

namespace lockstep::sim {

struct Sequence {
  std::string name;  // "validation-required/pause"
  std::string text;  // a scenario, as in a file
};

// In a fixed order.
std::vector<Sequence> every_sequence();
// An error names the nearest.
Result<Sequence> find_sequence(const std::string& name);

Findings run_sequence(const Sequence& sequence, uint64_t seed);

}  // namespace lockstep::sim
