// What a tenant may write into a namespace of its own to imitate a part of the driver: labels,
// names, and templates that change. None of it may start, stop or steer an upgrade.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sim/actors/cluster.h"

namespace lockstep::sim {

// "driver", a DaemonSet with a pod on every node; "gpuPods", work on GPUs with the driver's label;
// "validator"; "plugin"; "operator".
const std::vector<std::string>& imitations();

// Creates it. One that is there already gets another template, as with a new version.
Result<void> imitate(Cluster& cluster, std::string_view what);

}  // namespace lockstep::sim
