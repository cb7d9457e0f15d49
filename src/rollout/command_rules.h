// Whether a user's command does something in a rollout's present state; otherwise why not, and
// which commands do. The controller, the command line and the dashboard ask here, so that all give
// the same answer.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "fleet/keys.h"
#include "objects/node.h"
#include "rollout/rollout_view.h"

namespace lockstep::rollout {

// Why the rollout would ignore the command; empty: it acts on it. `status` with current counts.
std::string refusal_of(const Command& command, const RolloutSpec& spec,
                       const RolloutStatus& status);

// The same as an error that names the commands that work now.
Result<void> check_command(std::string_view rollout, const Command& command,
                           const RolloutSpec& spec, const RolloutStatus& status);

// Of `retry`, `skip` and `unskip` of one node: why it would change nothing; empty: it acts.
std::string node_refusal_of(std::string_view verb, const Node& node, const fleet::Keys& keys);

// A merge patch of the DriverRollout that gives the command. `rollback` ends a pause with it.
Json patch_of(const Command& command, const RolloutSpec& spec);

}  // namespace lockstep::rollout
