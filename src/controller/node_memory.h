// What the controller remembers of one node besides what the cluster says. All of it may be lost: a
// controller that starts again takes longer, and decides the same.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "base/time.h"
#include "controller/renewals.h"
#include "fleet/reason.h"
#include "fleet/state.h"
#include "view/fresh_reader.h"

namespace lockstep::controller {

struct NodeMemory {
  // Why it is where it is, as last decided. Not set: it was not decided yet.
  std::optional<fleet::Reason> reason;
  // It waits for something of the controller's own before its next step.
  std::optional<fleet::Reason> delay;
  // When it was first seen in the active state that it is in, by the loop's uptime: a clock that a
  // user sets forward ends no deadline.
  struct Sighting {
    fleet::State state = fleet::State::unknown;
    Time since;  // as the node says
    Duration first{0};
    Time first_by_clock;
  };
  std::optional<Sighting> sighting;
  // The states of this upgrade that it was brought to by us.
  std::set<fleet::State> entered;
  // It was given a slot at this version of the node, as in the ledger; empty: it has none.
  std::string granted;
  // More was read of it than is shown.
  struct HeldBacklog {
    view::Backlog what;
    Duration since{0};
  };
  std::optional<HeldBacklog> backlog;
  // How often in a row its patch was refused, because others had changed it.
  uint32_t refusals = 0;
  // We have cordoned it only just.
  struct Cordon {
    std::string version;  // of the node, that the cordon made
    Duration at{0};
  };
  std::optional<Cordon> cordon;
  Renewals renewals;

  void end_upgrade() {
    sighting.reset();
    entered.clear();
    renewals.forget();
  }
};

}  // namespace lockstep::controller
