// The flags of `lockstep rollout`.
#pragma once

#include "cli/rollout_command.h"

namespace CLI {
class App;
}

namespace lockstep::cli {

// `result` becomes its exit code when it is the one that is asked for.
void add_rollout(CLI::App& app, RolloutFlags& flags, int& result);

}  // namespace lockstep::cli
