// In which order the components of a recipe are deployed.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "bundle/recipe_spec.h"

namespace lockstep::bundle {

// Of all components whose dependencies are placed, the smallest name next. A dependency that is not
// in the list, and a cycle, are errors; the latter shows the cycle.
Result<std::vector<std::string>> deployment_order(const std::vector<ComponentRef>& components);

}  // namespace lockstep::bundle
