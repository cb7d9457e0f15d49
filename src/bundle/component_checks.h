// The checks that registry entries ask for (`validations`): flags that a component should not be
// deployed without.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "bundle/criteria.h"
#include "bundle/registry.h"
#include "bundle/resolve.h"
#include "bundle/scheduling.h"

namespace lockstep::bundle {

struct CheckFindings {
  std::vector<std::string> warnings;
  std::vector<std::string> errors;
};

// Checks the enabled components, by name, whose conditions the recipe's criteria fulfil: of each
// condition one word. An unknown function or condition, of any component, is an error that lists
// the known ones.
Result<CheckFindings> check_components(const Registry& registry, const CriteriaWords& words,
                                       const ResolvedRecipe& enabled, const SchedulingFlags& flags);

}  // namespace lockstep::bundle
