// The objects of the demo's GPU fleet: nodes as the GPU operator labels them, the driver's
// DaemonSet and its pods, the DRA plugin, some work.
#pragma once

#include <vector>

#include "base/time.h"
#include "kube/api.h"

namespace lockstep::cli {

// The requests that load it, in order.
std::vector<kube::Request> demo_fleet(int nodes, Time now);

}  // namespace lockstep::cli
