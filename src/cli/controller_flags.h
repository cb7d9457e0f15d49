// The flags of `lockstep controller`, and of its installation: `install`, `uninstall`.
#pragma once

#include "cli/controller_command.h"
#include "cli/install_command.h"

namespace CLI {
class App;
}

namespace lockstep::cli {

struct OwnFlags {
  InstallFlags install;
  UninstallFlags uninstall;
};

// `result` becomes its exit code when it is the one that is asked for.
void add_controller(CLI::App& app, ControllerFlags& flags, int& result);
void add_install(CLI::App& app, OwnFlags& own, int& result);

}  // namespace lockstep::cli
