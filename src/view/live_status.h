// A rollout's status with its waves counted at this moment. The controller writes counts into the
// status at most every ten seconds; users who watch the fleet need not wait for that.
#pragma once

#include "view/fleet_watch.h"

namespace lockstep::view {

rollout::RolloutStatus live_status(const FleetWatch& watch, const KnownRollout& rollout);

}  // namespace lockstep::view
