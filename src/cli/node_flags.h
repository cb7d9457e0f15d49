// The flags of what is run for a node and on it: `lockstep reroll`, `driver-manager`, `gate`.
#pragma once

#include "cli/driver_manager_command.h"
#include "cli/gate_command.h"
#include "cli/reroll_command.h"

namespace CLI {
class App;
}

namespace lockstep::cli {

// `result` becomes its exit code when it is the one that is asked for.
void add_reroll(CLI::App& app, RerollFlags& flags, int& result);
void add_driver_manager(CLI::App& app, DriverManagerFlags& flags, int& result);
void add_gate(CLI::App& app, GateFlags& flags, int& result);

}  // namespace lockstep::cli
