// A resolved recipe that was written to a file: what `recipe` printed, or the recipe.yaml of a
// bundle. Read back strictly, it is the same recipe.
#pragma once

#include "base/result.h"
#include "bundle/criteria.h"
#include "bundle/resolve.h"
#include "data/strict_reader.h"

namespace lockstep::bundle {

// Of AICR too. An order of deployment that is not said is made from the dependencies.
Result<ResolvedRecipe> read_recipe(const YamlFile& file, const CriteriaWords& words);

}  // namespace lockstep::bundle
