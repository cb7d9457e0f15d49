// The guardrail behind `lockstep check`. A value that must follow a version is derived and agrees
// with the resolved recipe, in every file. Settings that look as if they worked but cannot are
// refused.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "bundle/bundle_reader.h"
#include "bundle/catalogue.h"
#include "bundle/resolve.h"
#include "bundle/rules.h"

namespace lockstep::bundle {

struct Finding {
  std::string place;  // "bundle/005-x/values.yaml", "overlays/eks.yaml:12:3"
  std::string what;   // with what to do
};

// Each returns what is wrong, in the order of places.
std::vector<Finding> check_recipe(const Rules& rules, const ResolvedRecipe& recipe,
                                  const std::string& place);
// `left_out` receives the names of derived values that the bundle goes without on purpose.
Result<std::vector<Finding>> check_bundle(const Rules& rules, const FileMap& files,
                                          const CriteriaWords& words, const std::string& folder,
                                          std::vector<std::string>* left_out = nullptr);
Result<std::vector<Finding>> check_catalogue(const Rules& rules, const Catalogue& catalogue);
// Any file of manifests, also of Helm's templates.
std::vector<Finding> check_manifests(const std::string& text, const std::string& place);
// A file that a user names: an error if it is not YAML, or has nothing to check.
Result<std::vector<Finding>> check_manifest_file(const std::string& text, const std::string& place);

// What is wrong with a component's values whatever a version says; empty: nothing. `chart`: as the
// recipe names it.
std::string trapped_value(std::string_view chart, const JsonObject& values);

}  // namespace lockstep::bundle
