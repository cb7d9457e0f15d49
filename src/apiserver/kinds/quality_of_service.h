// Which pods go first when a node runs short: Guaranteed, Burstable or BestEffort.
#pragma once

#include <string_view>

#include "data/json.h"

namespace lockstep::apiserver {

// Of a pod whose requests have been filled in from its limits.
std::string_view quality_of_service(const Json& pod);

}  // namespace lockstep::apiserver
