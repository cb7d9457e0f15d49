// The flags of what needs no cluster of yours: `lockstep demo`, `simulate`, `apiserver`, `fleet`.
#pragma once

#include "cli/apiserver_command.h"
#include "cli/demo_command.h"
#include "cli/fleet_command.h"
#include "cli/simulate_command.h"

namespace CLI {
class App;
}

namespace lockstep::cli {

// `result` becomes its exit code when it is the one that is asked for.
void add_apiserver(CLI::App& app, ApiserverFlags& flags, int& result);
void add_demo(CLI::App& app, DemoFlags& flags, int& result);
void add_fleet(CLI::App& app, FleetFlags& flags, int& result);
void add_simulate(CLI::App& app, SimulateFlags& flags, int& result);

}  // namespace lockstep::cli
