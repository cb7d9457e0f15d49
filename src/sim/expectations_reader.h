// Reads what a scenario expects, and the small values that it shares with the scenario's steps.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/scenario.h"

namespace lockstep::sim {

// `path` is where it stands, for messages; only the first mistake is kept in `error`.
Expectations read_expectations(const Json& json, const std::string& path,
                               std::optional<Error>& error);
// A list of numbers, "all", {first: n} or {every: n}.
NodeChoice read_choice(const Json& json, const std::string& path, std::optional<Error>& error);
// The same where at least one node must be meant.
NodeChoice read_some_nodes(const Json& json, const std::string& path, std::optional<Error>& error);
// Of a rollout, as its status spells them.
std::vector<std::string> phase_names();
// As the node's label spells it.
fleet::State read_state(const Json& json, const std::string& path, std::optional<Error>& error);

}  // namespace lockstep::sim
