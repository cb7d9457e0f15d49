// A process that has only the API and has just been started, as `lockstep why` is: it lists the
// fleet and says of each node what it would print.
#pragma once

#include <optional>

#include "sim/oracle/invariant_answers.h"
#include "view/fleet_watch.h"
#include "world/virtual_loop.h"

namespace lockstep::sim {

// What a decision on each node of the watch says at this moment.
Answers answers_of(const view::FleetWatch& watch, Time now);

// Lets the loop run until all is listed, and no longer than a few seconds. Nothing: it was not.
// `time` is what passes; `clock` shows it, as the machine of the controller's does.
std::optional<Answers> ask_observer(kube::Api& api, VirtualLoop& time, Loop& clock, Random& random,
                                    view::FleetWatchOptions options);

}  // namespace lockstep::sim
