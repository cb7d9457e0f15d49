// The names of all reasons that docs/TROUBLESHOOTING.md explains: what a scenario may expect of a
// node or of a rollout. tests/docs holds the list against that page and so against the code.
#pragma once

#include <string>
#include <vector>

namespace lockstep::sim {

std::vector<std::string> reason_names();

}  // namespace lockstep::sim
