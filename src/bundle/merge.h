// How an overlay is merged over its base, and how mixins come last. The rules are those of AICR, so
// that its data gives its recipes.
#pragma once

#include <vector>

#include "base/result.h"
#include "bundle/overlay.h"

namespace lockstep::bundle {

// Constraints by name, the later wins. Components by name: what is said replaces; of overrides
// each key at the top, whole; dependencies, patches and expected resources as whole lists;
// manifests are united. Validation phase by phase, each whole. Both lists end sorted by name.
void merge(RecipeSpec& below, const RecipeSpec& above);

// Mixins may bring new constraints and components. To a component that is there they may add
// manifests and say its namespace; anything else, and two that disagree, is an error.
Result<void> merge_mixins(RecipeSpec& spec, const std::vector<const Mixin*>& mixins);

}  // namespace lockstep::bundle
