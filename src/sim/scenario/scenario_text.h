// A scenario as the file that it would have been read from: what the random mode drew, or what is
// left of it after shrinking, can be kept, read, changed and run again.
#pragma once

#include <string>

#include "sim/scenario/scenario.h"

namespace lockstep::sim {

// read_scenario() of it gives the same run. Of expectations it knows those that the random mode
// makes: done, failed, cordoned, version.
std::string print_scenario(const Scenario& scenario);

}  // namespace lockstep::sim
