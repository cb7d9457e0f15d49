// Which components of a recipe are deployed: all but those that the recipe or the user switches
// off.
#pragma once

#include <vector>

#include "base/result.h"
#include "bundle/registry.h"
#include "bundle/resolve.h"
#include "bundle/settings.h"

namespace lockstep::bundle {

// The recipe without the components that are disabled, by `overrides.enabled: false` or by --set
// component:enabled=false; --set has the last word, and its last one counts. An enabled component
// that depends on a disabled one is an error, and so is a setting of a component that the recipe
// does not have.
Result<ResolvedRecipe> without_disabled(const ResolvedRecipe& recipe, const Registry& registry,
                                        const std::vector<Setting>& settings);

}  // namespace lockstep::bundle
