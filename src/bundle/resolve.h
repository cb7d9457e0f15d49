// From criteria to one recipe: which overlays apply and in which order, merged, with every version
// fixed and the order of deployment. The resolved recipe is the single source of versions.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "bundle/catalogue.h"
#include "bundle/snapshot.h"

namespace lockstep::bundle {

struct ResolvedRecipe {
  Criteria criteria;
  std::vector<std::string> applied_overlays;  // "base" first
  std::vector<std::string> applied_mixins;
  std::vector<Constraint> constraints;
  std::vector<ComponentRef> components;  // by name
  std::vector<std::string> deployment_order;
  std::map<std::string, Json> validation;
  // Derived values that a user left out on purpose; listed only in a bundle's recipe.
  std::vector<std::string> not_derived;
  // For the user: a criterion that changed nothing.
  std::vector<std::string> warnings;

  const ComponentRef* find(std::string_view component) const;
};

// The overlays whose criteria fit, the least specific first, ties by name.
std::vector<const Overlay*> matching_overlays(const Catalogue& catalogue, const Criteria& query);

// `query` may have aliases and upper case; an unknown word is an error that lists the known ones.
// With a snapshot, overlays whose constraints the cluster does not meet are left out, and a warning
// says which, what was expected and what was found.
Result<ResolvedRecipe> resolve(const Catalogue& catalogue, const Criteria& query,
                               const Snapshot* snapshot = nullptr);

// AICR's RecipeResult.
JsonObject to_json(const ResolvedRecipe& recipe);

}  // namespace lockstep::bundle
