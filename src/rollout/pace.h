// How long it will take: of nodes by the pace of the last ones, of a bake by what it still asks
// for.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "fleet/reason.h"
#include "fleet/tally.h"
#include "rollout/bake.h"
#include "rollout/rollout_spec.h"
#include "rollout/rollout_status.h"

namespace lockstep::rollout {

// `ages`: how long ago each node finished. Nothing if there are too few, or if no node has finished
// for much longer than it took before: nothing moves.
std::optional<Duration> time_by_pace(std::vector<Duration> ages, int64_t left);

// The same for all nodes of a pool. Nothing where the waiting ones wait for something else than
// their turn: a user, a window, the nodes that failed. Waves wait for gates, bakes and approvals.
std::optional<Duration> pool_time_left(std::vector<Duration> ages, const fleet::PoolCounts& counts,
                                       const std::optional<Reason>& held, bool in_waves);

// How long a node took in the waves of before: the time from a wave's opening to its last node,
// divided by how many turns it had, in the median. Nothing: no wave has come through yet.
std::optional<Duration> node_time_by_history(
    const std::vector<HistoryEntry>& history,
    const std::function<int64_t(const std::string& wave)>& turns_of);

// How long the gates of a wave took, in the median. Nothing: none has passed yet.
std::optional<Duration> gates_time_by_history(const std::vector<HistoryEntry>& history);

// Until a bake that goes on can pass: its time, and its GPU-hours at the rate so far. Never
// beyond its end, when the analysis decides anyway. Nothing if GPU-hours are required and none
// have come.
std::optional<Duration> bake_left(const BakeSpec& spec, const BakeVerdict& seen);

}  // namespace lockstep::rollout
