#include "bundle/resolve.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/strings.h"
#include "bundle/ambiguity.h"
#include "bundle/deployment_order.h"
#include "bundle/merge.h"

namespace lockstep::bundle {

namespace {

void fill(std::string& value, const std::string& otherwise) {
  if (value.empty()) value = otherwise;
}

void apply_defaults(ComponentRef& component, const Component& entry) {
  if (component.type == ComponentType::unset) component.type = entry.type;
  if (component.type == ComponentType::helm) {
    fill(component.source, entry.helm.repository);
    fill(component.version, entry.helm.version);
    fill(component.ns, entry.helm.ns);
    fill(component.chart, entry.helm.chart.substr(entry.helm.chart.rfind('/') + 1));
  } else {
    fill(component.source, entry.kustomize.source);
    fill(component.tag, entry.kustomize.tag);
    fill(component.path, entry.kustomize.path);
  }
}

// A Helm component without a repository is its manifests and nothing else.
Result<void> check_complete(const ComponentRef& component) {
  auto refuse = [&](std::string what) {
    return fail(ErrorKind::invalid, std::move(what), component.place.text());
  };
  if (component.type == ComponentType::kustomize) {
    if (!component.source.empty() || !component.path.empty()) return {};
    return refuse(
        fmt::format("{} has neither a source nor a path: say one in componentRefs or as "
                    "kustomize.defaultSource in the registry",
                    component.name));
  }
  if (component.source.empty() && component.chart.empty()) {
    if (!component.manifest_files.empty() || !component.pre_manifest_files.empty()) return {};
    return refuse(fmt::format("{} has neither a chart nor manifests: there is nothing to deploy",
                              component.name));
  }
  if (component.chart.empty()) {
    return refuse(
        fmt::format("{} has a repository and no chart: say chart in componentRefs or "
                    "helm.defaultChart in the registry",
                    component.name));
  }
  if (component.version.empty()) {
    return refuse(
        fmt::format("{} has no version: say version in componentRefs or "
                    "helm.defaultVersion in the registry",
                    component.name));
  }
  return {};
}

Result<void> refuse_ambiguity(const Catalogue& catalogue,
                              const std::vector<const Overlay*>& matches) {
  for (size_t i = 0; i < matches.size(); ++i) {
    for (size_t j = i + 1; j < matches.size(); ++j) {
      const Overlay& a = *matches[i];
      const Overlay& b = *matches[j];
      if (specificity(*a.criteria) != specificity(*b.criteria)) break;
      if (catalogue.is_ancestor(a, b) || catalogue.is_ancestor(b, a)) continue;
      LOCKSTEP_CHECK(refuse_disagreement(a, b));
    }
  }
  return {};
}

// What the cluster is said to have not; the overlays that demand it are gone from the list.
Result<std::vector<std::string>> leave_out_unmet(std::vector<const Overlay*>& matching,
                                                 const Snapshot& snapshot) {
  std::vector<std::string> warnings;
  std::vector<const Overlay*> kept;
  for (const Overlay* overlay : matching) {
    LOCKSTEP_TRY(std::vector<ExcludedOverlay> found, unmet(*overlay, snapshot));
    for (const ExcludedOverlay& excluded : found) warnings.push_back(excluded.text());
    if (found.empty()) kept.push_back(overlay);
  }
  matching = std::move(kept);
  return warnings;
}

// What an empty query lacks is what is said.
std::set<std::string> fields_said(const Criteria& criteria) {
  return mismatches(criteria, Criteria{});
}

std::string value_of(const Criteria& criteria, std::string_view name) {
  for (const CriteriaField& field : criteria_fields) {
    if (field.name == name) return criteria.*field.value;
  }
  return std::to_string(criteria.nodes);
}

// The overlays that say the same of `field` and do not apply for something else, those that miss
// least: "gke-cos (needs os cos)".
std::string near_misses(const Catalogue& catalogue, const Criteria& query,
                        const std::string& field) {
  size_t least = SIZE_MAX;
  std::vector<std::string> found;
  for (const auto& [name, overlay] : catalogue.overlays) {
    if (!overlay.criteria || fields_said(*overlay.criteria).count(field) == 0) continue;
    std::set<std::string> missing = mismatches(*overlay.criteria, query);
    // One that misses nothing was left out for what the cluster lacks, and that was said already.
    if (missing.empty() || missing.count(field) > 0 || missing.size() > least) continue;
    if (missing.size() < least) found.clear();
    least = missing.size();
    std::vector<std::string> needs;
    for (const std::string& other : missing) {
      needs.push_back(fmt::format("{} {}", other, value_of(*overlay.criteria, other)));
    }
    found.push_back(fmt::format("{} (needs {})", name, join(needs, " and ")));
  }
  return join(found, ", ");
}

std::vector<std::string> unused_criteria(const Catalogue& catalogue, const Criteria& query,
                                         const std::vector<const Overlay*>& applied) {
  std::set<std::string> used;
  for (const Overlay* overlay : applied) {
    if (overlay->criteria) used.merge(fields_said(*overlay->criteria));
  }
  std::vector<std::string> warnings;
  for (const std::string& field : fields_said(query)) {
    // How many nodes there are is said for scheduling, and no overlay has to care.
    if (used.count(field) > 0 || field == "nodes") continue;
    std::string near = near_misses(catalogue, query, field);
    warnings.push_back(
        fmt::format("no overlay that applies uses {} {}: the recipe is the same "
                    "without it; {}",
                    field, value_of(query, field),
                    near.empty() ? "the catalogue has none for it" : "nearly matching: " + near));
  }
  return warnings;
}

}  // namespace

const ComponentRef* ResolvedRecipe::find(std::string_view component) const {
  for (const ComponentRef& ref : components) {
    if (ref.name == component) return &ref;
  }
  return nullptr;
}

std::vector<const Overlay*> matching_overlays(const Catalogue& catalogue, const Criteria& query) {
  std::vector<const Overlay*> matching;
  for (const auto& [name, overlay] : catalogue.overlays) {
    if (overlay.criteria && matches(*overlay.criteria, query)) matching.push_back(&overlay);
  }
  std::stable_sort(matching.begin(), matching.end(), [](const Overlay* a, const Overlay* b) {
    return specificity(*a->criteria) < specificity(*b->criteria);
  });
  return matching;
}

Result<ResolvedRecipe> resolve(const Catalogue& catalogue, const Criteria& query,
                               const Snapshot* snapshot) {
  ResolvedRecipe recipe;
  LOCKSTEP_TRY(recipe.criteria, catalogue.words.normalize(query));
  std::vector<const Overlay*> matching = matching_overlays(catalogue, recipe.criteria);
  std::vector<std::string> warnings;
  if (snapshot != nullptr) {
    LOCKSTEP_TRY(warnings, leave_out_unmet(matching, *snapshot));
    // What every recipe demands cannot be left out.
    LOCKSTEP_TRY(std::vector<ExcludedOverlay> of_base, unmet(catalogue.base, *snapshot));
    for (const ExcludedOverlay& demand : of_base) {
      warnings.push_back(fmt::format("every recipe demands {} {}, and the cluster has {}",
                                     demand.constraint, demand.expected,
                                     demand.found.value_or("not been measured for it")));
    }
  }
  LOCKSTEP_CHECK(refuse_ambiguity(catalogue, matching));

  std::vector<const Overlay*> applied = {&catalogue.base};
  for (const Overlay* overlay : matching) {
    for (const Overlay* part : catalogue.chain(*overlay)) {
      if (std::find(applied.begin(), applied.end(), part) == applied.end()) applied.push_back(part);
    }
  }
  RecipeSpec spec;
  std::vector<const Mixin*> mixins;
  for (const Overlay* overlay : applied) {
    merge(spec, overlay->spec);
    recipe.applied_overlays.push_back(overlay->name);
    for (const std::string& name : overlay->mixins) {
      const Mixin* mixin = &catalogue.mixins.find(name)->second;
      if (std::find(mixins.begin(), mixins.end(), mixin) != mixins.end()) continue;
      mixins.push_back(mixin);
      recipe.applied_mixins.push_back(name);
    }
  }
  LOCKSTEP_CHECK(merge_mixins(spec, mixins));
  LOCKSTEP_TRY(recipe.deployment_order, deployment_order(spec.components));
  for (ComponentRef& component : spec.components) {
    apply_defaults(component, *catalogue.registry.find(component.name));
    LOCKSTEP_CHECK(check_complete(component));
  }
  recipe.constraints = std::move(spec.constraints);
  recipe.components = std::move(spec.components);
  recipe.validation = std::move(spec.validation);
  recipe.warnings = std::move(warnings);
  for (std::string& warning : unused_criteria(catalogue, recipe.criteria, applied)) {
    recipe.warnings.push_back(std::move(warning));
  }
  return recipe;
}

JsonObject to_json(const ResolvedRecipe& recipe) {
  JsonObject json;
  json["kind"] = "RecipeResult";
  json["apiVersion"] = "aicr.nvidia.com/v1alpha1";
  JsonObject metadata;
  metadata["appliedOverlays"] =
      JsonArray(recipe.applied_overlays.begin(), recipe.applied_overlays.end());
  if (!recipe.applied_mixins.empty()) {
    metadata["appliedMixins"] =
        JsonArray(recipe.applied_mixins.begin(), recipe.applied_mixins.end());
  }
  if (!recipe.not_derived.empty()) {
    metadata["notDerived"] = JsonArray(recipe.not_derived.begin(), recipe.not_derived.end());
  }
  json["metadata"] = std::move(metadata);
  json["criteria"] = to_json(recipe.criteria);
  JsonArray constraints;
  for (const Constraint& constraint : recipe.constraints)
    constraints.push_back(to_json(constraint));
  if (!constraints.empty()) json["constraints"] = std::move(constraints);
  JsonArray components;
  for (const ComponentRef& component : recipe.components) components.push_back(to_json(component));
  json["componentRefs"] = std::move(components);
  json["deploymentOrder"] =
      JsonArray(recipe.deployment_order.begin(), recipe.deployment_order.end());
  if (!recipe.validation.empty()) json["validation"] = validation_json(recipe.validation);
  return json;
}

}  // namespace lockstep::bundle
