// Which nodes are in which wave. Deterministic: the same nodes give the same waves. A wave's nodes
// are fixed when it opens; who comes later falls into the last wave.
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
};

// The nodes of one wave, in natural order: `free` are those in no earlier wave, `total` is how many
// nodes the rollout has in all, for percentages.
std::vector<std::string> choose_wave(const WaveSpec& wave, const std::string& group_by,
                                     const std::vector<Candidate>& free, int64_t total);

// All waves, as they would be were they opened now: for plans.
std::vector<std::vector<std::string>> choose_waves(const RolloutSpec& spec,
                                                   std::vector<Candidate> nodes);

}  // namespace lockstep::rollout
