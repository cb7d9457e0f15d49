// The kinds of objects that our chart makes: where each lives in the API, and in which order they
// are applied. A kind that is not here cannot be installed; the chart's tests say so at once.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "data/json.h"
#include "objects/resource_type.h"

namespace lockstep::deploy {

// In the order of application, which is Helm's.
const std::vector<ResourceType>& installed_kinds();

Result<ResourceType> kind_of(const Json& object);
// The lower, the earlier.
size_t apply_rank(const Json& object);
ObjectKey key_of(const Json& object);
// "Deployment lockstep-system/lockstep-controller".
std::string describe(const Json& object);

}  // namespace lockstep::deploy
