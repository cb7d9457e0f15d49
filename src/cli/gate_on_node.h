// `lockstep gate --node NAME`: the gate on a node of the cluster, now, as a Job; and its result as
// if it had been run there by hand.
#pragma once

#include "cli/gate_command.h"

namespace lockstep::cli {

int run_gate_on_node(const GateFlags& flags);

}  // namespace lockstep::cli
