// A rollout as pages draw it: its waves with gates, bakes in numbers against their limits, and what
// was decided by whom.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "data/json.h"
#include "rollout/bake.h"
#include "rollout/rollout_spec.h"
#include "rollout/rollout_status.h"

namespace lockstep::dashboard {

// What the bake of a wave has seen; nothing: it has none, or it has not begun.
using WaveBakes = std::vector<std::optional<rollout::BakeVerdict>>;

Json rollout_card(const std::string& name, const rollout::RolloutSpec& spec,
                  const rollout::RolloutStatus& status, const WaveBakes& bakes);

}  // namespace lockstep::dashboard
