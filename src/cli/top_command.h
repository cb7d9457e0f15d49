// `lockstep top`: the whole fleet on one screen, what needs eyes first.
#pragma once

#include <string>

#include "cli/cluster_session.h"
#include "cli/status_text.h"
#include "cli/terminal.h"

namespace lockstep::cli {

struct TopFlags {
  ClusterFlags cluster;
  std::string sort = "trouble";  // trouble, age, name
  bool once = false;             // one picture, as without a terminal
};
int run_top(const TopFlags& flags);

// One screen of it, as high as the terminal.
std::string top_text(const FleetStatus& status, const std::string& sort, const Terminal& terminal);

}  // namespace lockstep::cli
