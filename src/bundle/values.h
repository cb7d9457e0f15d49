// The Helm values of a component of a resolved recipe, before --set and scheduling.
#pragma once

#include "base/result.h"
#include "bundle/catalogue.h"
#include "data/json.h"

namespace lockstep::bundle {

// components/<name>/values.yaml where there is one, then the values file that the recipe names,
// then its overrides. Maps merge, everything else replaces, and null stays null: Helm reads it as
// "without the chart's default".
Result<JsonObject> component_values(const Catalogue& catalogue, const ComponentRef& component);

}  // namespace lockstep::bundle
