// How long a hook waits for nodes that get their driver in turns: as long as all turns take, so
// that a release does not fail while everything goes its way.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "bundle/rule_files.h"
#include "data/json.h"

namespace lockstep::bundle {

struct FittedWaits {
  int64_t driver_seconds = 0;
  int64_t plugin_seconds = 0;
  int64_t deadline_seconds = 0;  // of the Job: more than both together
  std::string warning;           // empty: no warning
};

// Writes into `hook` (the defaults and what the user has set of it, together) the times that the
// user has not set in `own`. `component`: the values of the hook's component, which say how many
// nodes get their driver at a time. `nodes`: 0 where it is not known.
Result<FittedWaits> fit_waits(const HookRule& rule, const JsonObject& component, const Json& own,
                              int64_t nodes, JsonObject& hook);

}  // namespace lockstep::bundle
