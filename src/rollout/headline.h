// What users read first about a rollout: its versions, and the state of each wave. Command line,
// demo and dashboard use it.
#pragma once

#include <string>

#include "base/time.h"
#include "rollout/rollout_spec.h"
#include "rollout/rollout_status.h"

namespace lockstep::rollout {

// The nodes go from one version to the other; during and after a rollback, to the old one.
struct Direction {
  std::string from;
  std::string to;

  bool operator==(const Direction&) const = default;
};
Direction direction_of(const RolloutStatus& status);

bool is_returning(const RolloutStatus& status);
// The phase, where it is the wave that the rollout works on; else what it came to.
std::string wave_state(const RolloutStatus& status, size_t wave);
// Its bake goes on at this moment: only then does its clock run.
bool is_baking(const RolloutStatus& status, size_t wave);
// "13h of 48h"; where it goes on for its exposure: "48h and 20m more".
std::string bake_clock(Duration passed, Duration asked);
// An approval is missing that would still let the rollout go on.
bool needs_approval(const RolloutSpec& spec, const RolloutStatus& status, size_t wave);

}  // namespace lockstep::rollout
