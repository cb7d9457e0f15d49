// DRA plugins that publish GPUs and that no controller restarts with the driver, because they are
// not known clients (fleet/driver_clients.h).
#pragma once

#include <string>
#include <vector>

#include "view/fleet_watch.h"

namespace lockstep::view {

struct UnknownPlugin {
  std::string dra_driver;
  std::vector<std::string> nodes;    // in natural order
  std::vector<std::string> perhaps;  // DaemonSets there that resemble a plugin
};

std::vector<UnknownPlugin> find_unknown_plugins(const FleetWatch& watch);

}  // namespace lockstep::view
