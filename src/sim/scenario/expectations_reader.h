// Reads what a scenario expects, and the small values that it shares with the scenario's steps.
#pragma once

#include <string>
#include <vector>

#include "data/strict_reader.h"
#include "sim/scenario/scenario.h"

namespace lockstep::sim {

Expectations read_expectations(StrictReader& reader);
// A list of numbers, "all", {first: n} or {every: n}.
NodeChoice read_choice(StrictReader& reader);
// The same where at least one node must be meant.
NodeChoice read_some_nodes(StrictReader& reader);
// Of a rollout, as its status spells them.
std::vector<std::string> phase_names();
// As the node's label spells it.
fleet::State read_state(StrictReader& reader);

}  // namespace lockstep::sim
