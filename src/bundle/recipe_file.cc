#include "bundle/recipe_file.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/strings.h"
#include "bundle/deployment_order.h"
#include "bundle/names.h"

namespace lockstep::bundle {

namespace {

// Every component once, after what it depends on.
Result<void> check_order(const ResolvedRecipe& recipe, const std::string& place) {
  std::set<std::string> placed;
  for (const std::string& name : recipe.deployment_order) {
    const ComponentRef* component = recipe.find(name);
    if (component == nullptr) {
      return fail(ErrorKind::invalid,
                  fmt::format("deploymentOrder names {}, which is not in componentRefs", name),
                  place);
    }
    for (const std::string& needed : component->dependencies) {
      if (placed.count(needed) > 0) continue;
      return fail(
          ErrorKind::invalid,
          fmt::format("deploymentOrder has {} before {}, which it depends on", name, needed),
          place);
    }
    if (!placed.insert(name).second) {
      return fail(ErrorKind::invalid, fmt::format("deploymentOrder names {} twice", name), place);
    }
  }
  for (const ComponentRef& component : recipe.components) {
    if (placed.count(component.name) > 0) continue;
    return fail(ErrorKind::invalid, fmt::format("deploymentOrder lacks {}", component.name), place);
  }
  return {};
}

Result<void> check_components(ResolvedRecipe& recipe, const std::string& place) {
  for (const ComponentRef& component : recipe.components) {
    auto named = check_name(component.name);
    if (!named) {
      return fail(named.error().at("name").at(component.place.text()));
    }
    bool has_chart = component.type != ComponentType::kustomize && !component.chart.empty();
    if (has_chart && component.version.empty()) {
      return fail(ErrorKind::invalid, fmt::format("{} has no version", component.name),
                  component.place.text());
    }
  }
  if (recipe.components.empty()) {
    return fail(ErrorKind::invalid, "the recipe has no component", place);
  }
  std::sort(recipe.components.begin(), recipe.components.end(),
            [](const ComponentRef& a, const ComponentRef& b) { return a.name < b.name; });
  LOCKSTEP_TRY(std::vector<std::string> order, deployment_order(recipe.components));
  if (recipe.deployment_order.empty()) recipe.deployment_order = std::move(order);
  return check_order(recipe, place);
}

}  // namespace

Result<ResolvedRecipe> read_recipe(const YamlFile& file, const CriteriaWords& words) {
  ResolvedRecipe recipe;
  RecipeSpec spec;
  LOCKSTEP_CHECK(read_strictly(file, [&](StrictReader& object) {
    object.must_be("kind", "RecipeResult", "make one with \"lockstep recipe -o yaml\"");
    object.unused({"apiVersion"});
    object.within("metadata", [&](StrictReader& metadata) {
      metadata.texts("appliedOverlays", recipe.applied_overlays)
          .texts("appliedMixins", recipe.applied_mixins)
          .texts("notDerived", recipe.not_derived)
          .unused({"version", "created", "excludedOverlays", "constraintWarnings", "labels",
                   "annotations", "name"});
    });
    object.within("criteria",
                  [&](StrictReader& criteria) { read_criteria(criteria, words, recipe.criteria); });
    object.texts("deploymentOrder", recipe.deployment_order);
    read_constraints_and_components(object, spec);
    read_validation(object, spec);
  }));
  recipe.constraints = std::move(spec.constraints);
  recipe.components = std::move(spec.components);
  recipe.validation = std::move(spec.validation);
  LOCKSTEP_CHECK(check_components(recipe, file.name()));
  return recipe;
}

}  // namespace lockstep::bundle
