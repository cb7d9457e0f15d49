// A rollout as pages draw it: its waves with gates, bakes in numbers against their limits, and who
// decided what.
#pragma once

#include "data/json.h"
#include "operate/rollout_report.h"

namespace lockstep::dashboard {

Json rollout_card(const operate::RolloutReport& rollout);

}  // namespace lockstep::dashboard
