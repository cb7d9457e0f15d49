// The sequences mode: somebody changes version or policy while a node is in a given state, lives
// with it for a while, and changes it again or back: every state with every change. Whatever was
// done on the way, in the end the fleet is where the last word wants it.
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
