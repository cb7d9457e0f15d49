// What was measured on a wave's nodes before their upgrade, kept in one ConfigMap per wave: it is
// there after the controller's end, and gone with its rollout.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "controller/gate_jobs.h"
#include "objects/config_map.h"
#include "rollout/baseline.h"

namespace lockstep::controller {

std::string baseline_name(const std::string& rollout, size_t wave);

// `rollout` is the DriverRollout that it belongs to.
Json baseline_to_json(const ObjectKey& key, const GenericObject& rollout,
                      const rollout::WaveBaseline& baseline, const std::string& resource_version);
// Nothing: the ConfigMap is not a baseline that we wrote as a whole.
std::optional<rollout::WaveBaseline> baseline_from(const ConfigMap& map);

// The Jobs that measure before the wave is opened, of the nodes that can be measured now.
GateRun baseline_run(const rollout::RolloutView& view, size_t wave);
// All of the wave's nodes with what their gates measured, or why there is nothing.
rollout::WaveBaseline collect_baseline(const rollout::RolloutView& view, size_t wave,
                                       const GateJobs::Measured& measured,
                                       const std::set<std::string>& in_use, Time now);

}  // namespace lockstep::controller
