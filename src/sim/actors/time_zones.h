// The time zones that scenarios use, by rules written here: a run must not depend on the machine's
// files.
#pragma once

#include "rollout/window.h"

namespace lockstep::sim {

rollout::TimeZones rollout_time_zones();

}  // namespace lockstep::sim
