// The doctor's examination of a cluster: every check, in the order of importance.
#pragma once

#include <vector>

#include "doctor/check.h"
#include "doctor/cluster_view.h"

namespace lockstep::doctor {

std::vector<Check> examine(const ClusterView& view);

}  // namespace lockstep::doctor
