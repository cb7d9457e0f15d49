// One node's next step: at most one write, a reason, and when to requeue. The controller, `lockstep
// plan`, `lockstep why` and the simulator call this very function.
#pragma once

#include "upgrade/decision.h"

namespace lockstep::upgrade {

Decision decide(const fleet::NodeView& view, const PoolView& pool, const Rules& rules, Time now);

}  // namespace lockstep::upgrade
