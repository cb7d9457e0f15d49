// Which nodes are in which wave. Deterministic: the same nodes give the same waves. A wave's nodes
// are fixed when it opens; later nodes belong to the last wave.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/time.h"
#include "objects/string_map.h"
#include "rollout/rollout_spec.h"

namespace lockstep::rollout {

struct Candidate {
  std::string name;
  StringMap labels;
  // Why it cannot be upgraded now: "is not Ready"; empty: it can.
  std::string excluded = {};
  // A user leaves it out of every upgrade.
  bool skipped = false;
};

// The values of the labels that a wave is stratified by.
using Stratum = std::vector<std::string>;
Stratum stratum_of(const WaveSpec& wave, const StringMap& labels);

struct WaveChoice {
  std::vector<std::string> nodes;  // in natural order
  int64_t eligible = 0;            // of them
  // The minimum of eligible nodes; 0: no node is left that any wave could take.
  int64_t wanted = 0;
  // Kinds of nodes of which the wave needs one and has none.
  std::vector<Stratum> uncovered;

  bool is_enough() const { return eligible >= wanted && uncovered.empty(); }
};

// The nodes of one wave: `free` are those in no earlier wave, `total` is how many nodes the rollout
// has in all, for percentages. Counts and percentages take eligible nodes only.
WaveChoice choose_wave(const WaveSpec& wave, const std::string& group_by,
                       const std::vector<Candidate>& free, int64_t total);

// All waves, as they would be were they opened now: for plans.
std::vector<std::vector<std::string>> choose_waves(const RolloutSpec& spec,
                                                   std::vector<Candidate> nodes);

}  // namespace lockstep::rollout
