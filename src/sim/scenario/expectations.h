// Whether what a scenario expects came true, in sentences that say what did instead.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "fleet/reason.h"
#include "sim/actors/cluster.h"
#include "sim/oracle/witness.h"
#include "sim/scenario/scenario.h"
#include "sim/scenario/scenario_run.h"

namespace lockstep::sim {

// The state at the end or at a check.
struct EndState {
  const Expectations& expect;
  Cluster& cluster;
  const Witness& witness;
  const RunSummary& summary;
  // Why each node is where it is.
  const std::map<std::string, fleet::Reason>& reasons;
  int64_t driver_restarts = 0;
  uint64_t writes_since = 0;  // by the controller, since when `unchanged` is asked for
  std::string hook_end = {};  // of the post-install hook; empty: no hook
  std::string hook_text = {};
};

std::vector<std::string> check_expectations(const EndState& end);

}  // namespace lockstep::sim
