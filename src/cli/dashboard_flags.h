// The flags of `lockstep dashboard`.
#pragma once

#include "cli/dashboard_command.h"

namespace CLI {
class App;
}

namespace lockstep::cli {

void add_dashboard(CLI::App& app, DashboardFlags& flags, int& result);
// For the commands that have a dashboard beside something else.
void add_dashboard_address(CLI::App* command, std::string& address);

}  // namespace lockstep::cli
