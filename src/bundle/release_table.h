// Which releases a recipe comes to, in which order, and what each waits for. A component has up to
// three: its chart, and local charts of the manifests before (-pre) and after it (-post). Hooks of
// the catalogue live in the -post chart of the component that they belong to.
#pragma once

#include <vector>

#include "base/result.h"
#include "bundle/catalogue.h"
#include "bundle/release.h"
#include "bundle/resolve.h"
#include "bundle/rules.h"
#include "bundle/values_map.h"

namespace lockstep::bundle {

struct ReleaseTable {
  std::vector<Release> releases;
  std::vector<GuardedRestart> restarts;
  std::vector<std::string> warnings;
};

// `values` are final. `nodes`: how many the cluster has, 0 where that is not known. Two releases of
// one name and two manifests of one base name are errors.
Result<ReleaseTable> release_table(const Catalogue& catalogue, const Rules& rules,
                                   const ResolvedRecipe& recipe, ValuesMap values,
                                   int64_t nodes = 0);

}  // namespace lockstep::bundle
