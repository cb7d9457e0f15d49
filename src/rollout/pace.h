// How long it will take: of nodes by the pace of the last ones, of a bake by what it still asks
// for.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/time.h"
#include "rollout/bake.h"
#include "rollout/rollout_spec.h"

namespace lockstep::rollout {

// `ages`: how long ago each node came to its end. Nothing where there are too few to tell.
std::optional<Duration> time_by_pace(std::vector<Duration> ages, int64_t left);

// Until a bake that goes on can pass: its time, and its GPU-hours at the rate so far. Never beyond
// the end at which it is judged anyway. Nothing where GPU-hours are asked for and none have come.
std::optional<Duration> bake_left(const BakeSpec& spec, const BakeVerdict& seen);

}  // namespace lockstep::rollout
