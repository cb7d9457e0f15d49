// From a resolved recipe to the table of releases that deployers read, in the order of the
// contract: what is disabled goes, values, --set, scheduling, derived values, the registry's
// checks, releases.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "bundle/catalogue.h"
#include "bundle/release.h"
#include "bundle/resolve.h"
#include "bundle/rules.h"
#include "bundle/scheduling.h"
#include "bundle/settings.h"

namespace lockstep::bundle {

struct BundleRequest {
  ResolvedRecipe recipe;
  std::vector<Setting> settings;
  SchedulingFlags scheduling;
  std::set<std::string> without_derived;  // names of rules, or "all"
  std::string git_repository;
  std::string git_revision;
  std::string git_path;
};

struct MadeBundle {
  BundleModel model;
  std::vector<std::string> warnings;
};

Result<MadeBundle> make_bundle(const Catalogue& catalogue, const Rules& rules,
                               const BundleRequest& request);

// The values that every deployer gets, and the warnings. For callers that need only these.
struct FinalValues {
  ResolvedRecipe recipe;  // without what is disabled
  ValuesMap values;
  std::vector<std::string> warnings;
};
Result<FinalValues> final_values(const Catalogue& catalogue, const Rules& rules,
                                 const BundleRequest& request);

}  // namespace lockstep::bundle
