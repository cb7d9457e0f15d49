// What the upgrade controller has done since it was started, for its metrics.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "base/time.h"
#include "fleet/state.h"

namespace lockstep::controller {

// A histogram of durations, in the buckets that a node's states take.
struct TimeHistogram {
  static constexpr std::array<int64_t, 10> bounds = {1,   5,   15,  30,   60,
                                                     120, 300, 600, 1800, 7200};  // seconds
  std::array<uint64_t, bounds.size() + 1> counts{};
  double sum_seconds = 0;

  void add(Duration duration) {
    double value = in_seconds(duration);
    size_t bucket = 0;
    while (bucket < bounds.size() && value > static_cast<double>(bounds[bucket])) ++bucket;
    ++counts[bucket];
    sum_seconds += value;
  }
  uint64_t total() const {
    uint64_t sum = 0;
    for (uint64_t count : counts) sum += count;
    return sum;
  }
};

struct UpgradeCounts {
  uint64_t decisions = 0;
  Duration decision_time{0};  // of the process, not of the simulation
  std::map<fleet::State, TimeHistogram> time_in_state;
  std::map<std::pair<std::string, std::string>, uint64_t> removals;  // how, outcome
  // How often a node was read again before an irreversible step: "confirmed", "overturned" (the
  // watches were behind), "error".
  std::map<std::string, uint64_t> fresh_views;
  uint64_t transitions = 0;
  uint64_t failures = 0;
  uint64_t conflicts = 0;
  uint64_t errors = 0;
  Time last_sync;
};

}  // namespace lockstep::controller
