// A rollout's next step: at most one write, a reason, and when to requeue. The controller,
// `lockstep plan` and the simulator call this very function.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "fleet/reason.h"
#include "rollout/matrix_message.h"
#include "rollout/rollout_view.h"

namespace lockstep::rollout {

struct StatusWrite {
  RolloutStatus status;
  // Only counts have changed: there is no hurry.
  bool counts_only = false;
};
// Written before the status that opens the wave.
struct WaveWrite {
  size_t wave = 0;
  RecordedWave record;
};
// What the wave's gates measure on its nodes before they are upgraded: written down before the wave
// is opened.
struct TakeBaseline {
  size_t wave = 0;
};
struct StartGates {
  size_t wave = 0;
  std::vector<std::string> gates;
};
// The driver's object gets its recorded fields again.
struct Revert {
  DriverRevision from;
  DriverRevision to;
};
// A commit to the matrix: promotes the canary's versions, or reverts the commit that brought them.
// The next view has its outcome.
struct GitCommit {
  GitStep step = GitStep::promote;
  std::string version;
  Evidence evidence;
};
// Failed nodes are sent back into the line.
struct RetryNodes {
  std::vector<std::string> nodes;
};

using RolloutWrite = std::variant<std::monostate, StatusWrite, WaveWrite, TakeBaseline, StartGates,
                                  Revert, GitCommit, RetryNodes>;

struct RolloutDecision {
  RolloutWrite write;
  Reason reason;
  std::optional<Duration> look_again;

  template <typename Kind>
  const Kind* as() const {
    return std::get_if<Kind>(&write);
  }
};

RolloutDecision decide_rollout(const RolloutView& view, Time now);

// Which recorded wave each node is in; those in none fall into the last.
using WaveIndex = std::map<std::string, size_t>;
WaveIndex waves_of(const RolloutView& view);

}  // namespace lockstep::rollout
