// install.sh: installs or upgrades one release by itself. deploy.sh is the loop around them.
#pragma once

#include <string>

#include "bundle/release.h"

namespace lockstep::bundle {

// Runs in its own folder. With --dry-run it prints its commands; other arguments go to Helm.
std::string install_script(const Release& release);

}  // namespace lockstep::bundle
