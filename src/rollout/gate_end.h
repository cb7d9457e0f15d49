// How the pod of a gate ended, and what that says. `lockstep gate` leaves its result and its
// numbers in the termination message (docs/GPU.md). Of any other pod the exit code counts, and its
// last output is for users.
#pragma once

#include <optional>
#include <string>

#include "data/json.h"
#include "rollout/rollout_status.h"

namespace lockstep::rollout {

struct GateEnd {
  int64_t exit_code = 0;
  std::string message;

  bool operator==(const GateEnd&) const = default;
};

// Of a whole pod; nothing: it has not ended. Of several containers the one that ended badly.
std::optional<GateEnd> gate_end_of(const Json& pod);

struct GateWord {
  Outcome outcome = Outcome::error;
  std::string text;
};
// Of one that did not end with 0.
GateWord word_of(const GateEnd& end);

}  // namespace lockstep::rollout
