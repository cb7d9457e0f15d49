// The controller's metrics for Prometheus: GPU Operator's own names, so that existing dashboards
// continue to work, and ours under lockstep_.
#pragma once

#include <string>

#include "base/time.h"
#include "controller/upgrade_controller.h"
#include "kube/counting_api.h"

namespace lockstep::controller {

// The whole of /metrics. `api`: what the controller's calls go through; null: not counted.
std::string render_metrics(const UpgradeController& controller, const kube::CountingApi* api,
                           Time now);

// How long ago a pause began, by the time at the head of its text ("2026-11-15T08:00:00Z by ann:
// why"); zero without a pause or without a time.
Duration age_of_pause(const upgrade::Policy& policy, Time now);

}  // namespace lockstep::controller
