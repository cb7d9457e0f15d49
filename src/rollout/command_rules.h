// Whether a user's command does something in a rollout's present state; otherwise why not, and
// which commands do. The controller, the command line and the dashboard ask here, so that all give
// the same answer.
#pragma once

#include <string>
#include <string_view>
#include <vector>

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

// On what a user steers (a node, a rollout, the object with a pool's rules): when, what, by whom
// and, where they say it, why. The command line and the dashboard write the same.
inline constexpr std::string_view steered_annotation = "lockstep.dev/steered";
std::string steering_line(Time now, std::string_view verb, std::string_view by,
                          std::string_view reason);

// Those of a user's groups that approve some wave: what a command carries.
std::vector<std::string> groups_asked_for(const RolloutSpec& spec,
                                          const std::vector<std::string>& groups);

// A merge patch of the DriverRollout that gives the command. `rollback` ends a pause with it.
Json patch_of(const Command& command, const RolloutSpec& spec);

}  // namespace lockstep::rollout
