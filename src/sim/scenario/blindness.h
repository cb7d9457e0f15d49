// How long what others do may stay hidden from a controller, by what goes wrong between it and its
// API: as long it cannot be blamed for not knowing, and not a moment longer.
#pragma once

#include "kube/fault_api.h"
#include "sim/oracle/sight.h"
#include "sim/scenario/scenario.h"
#include "sim/scenario/stale_api.h"

namespace lockstep::sim {

Duration blindness_of(const kube::FaultWeights& weights);
// A step that cuts the controller off or shows it what is long past.
bool blinds(const Interference& step);
// The longest of a run.
Duration blindness_of(const Scenario& scenario, const std::vector<Freeze>& freezes);

}  // namespace lockstep::sim
