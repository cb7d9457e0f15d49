#include "bundle/make_bundle.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/strings.h"
#include "bundle/component_checks.h"
#include "bundle/derived.h"
#include "bundle/enabled.h"
#include "bundle/guardrail.h"
#include "bundle/release_table.h"
#include "bundle/values.h"

namespace lockstep::bundle {

namespace {

void append(std::vector<std::string>& to, std::vector<std::string> more) {
  to.insert(to.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

// Settings that change nothing, or not what they seem to change.
std::vector<std::string> misleading(const Catalogue& catalogue, const ResolvedRecipe& recipe,
                                    const BundleRequest& request) {
  std::vector<std::string> warnings;
  for (const Setting& setting : request.settings) {
    if (setting.path != ValuePath{"version"}) continue;
    warnings.push_back(fmt::format(
        "{} sets a value of the chart that is called version. The chart's own version is the "
        "recipe's: say it in an overlay (--data) or a recipe file (--recipe)",
        setting.written));
  }
  bool takes_gate = false;
  bool takes_selector = false;
  for (const ComponentRef& component : recipe.components) {
    const Component* entry = catalogue.registry.find(component.name);
    if (entry == nullptr) continue;
    takes_gate =
        takes_gate || !entry->accelerated.taints.empty() || !entry->accelerated.taint_texts.empty();
    takes_selector = takes_selector || !entry->workload_selector_paths.empty();
  }
  auto no_use = [&](std::string_view flag) {
    warnings.push_back(
        fmt::format("{} changes nothing: no component of this recipe has a place for it", flag));
  };
  if (request.scheduling.workload_gate && !takes_gate) no_use("--workload-gate");
  if (!request.scheduling.workload_selector.empty() && !takes_selector) {
    no_use("--workload-selector");
  }
  return warnings;
}

// What `check` would find in the bundle, with the flag that says it.
Result<void> refuse_trapped(const Registry& registry, const ResolvedRecipe& recipe,
                            const BundleRequest& request, const ValuesMap& values) {
  for (const Setting& setting : request.settings) {
    LOCKSTEP_TRY(const Component* entry, registry.named(setting.component));
    const ComponentRef* component = recipe.find(entry->name);
    auto at = values.find(entry->name);
    if (component == nullptr || at == values.end() || setting.path.front() != "driver") continue;
    std::string what = trapped_value(component->chart, at->second);
    if (!what.empty()) return fail(ErrorKind::invalid, std::move(what), setting.written);
  }
  return {};
}

}  // namespace

Result<FinalValues> final_values(const Catalogue& catalogue, const Rules& rules,
                                 const BundleRequest& request) {
  FinalValues result;
  LOCKSTEP_TRY(result.recipe,
               without_disabled(request.recipe, catalogue.registry, request.settings));
  for (const ComponentRef& component : result.recipe.components) {
    LOCKSTEP_TRY(JsonObject values, component_values(catalogue, component));
    // The recipe's own switch, and no value of the chart.
    if (component.overrides.contains("enabled")) erase_key(values, "enabled");
    result.values[component.name] = std::move(values);
  }
  LOCKSTEP_CHECK(apply_settings(catalogue.registry, request.settings, result.values));
  LOCKSTEP_CHECK(refuse_trapped(catalogue.registry, result.recipe, request, result.values));
  for (auto& [name, values] : result.values) {
    const Component* entry = catalogue.registry.find(name);
    if (entry == nullptr) {
      result.warnings.push_back(fmt::format(
          "the registry does not know {}: node selectors and tolerations are not set in its values",
          name));
      continue;
    }
    LOCKSTEP_CHECK(apply_scheduling(*entry, request.scheduling, values));
  }
  LOCKSTEP_TRY(CheckFindings findings, check_components(catalogue.registry, catalogue.words,
                                                        result.recipe, request.scheduling));
  if (!findings.errors.empty()) return fail(ErrorKind::invalid, join(findings.errors, "; "));
  append(result.warnings, std::move(findings.warnings));
  append(result.warnings, misleading(catalogue, result.recipe, request));
  std::set<std::string> without = request.without_derived;
  without.insert(result.recipe.not_derived.begin(), result.recipe.not_derived.end());
  LOCKSTEP_TRY(auto warnings, apply_derived(rules.derived, result.recipe, result.values, without));
  append(result.warnings, std::move(warnings));
  result.recipe.not_derived.clear();
  for (const DerivedRule& rule : rules.derived) {
    if (without.count("all") > 0 || without.count(rule.name) > 0) {
      result.recipe.not_derived.push_back(rule.name);
    }
  }
  return result;
}

Result<MadeBundle> make_bundle(const Catalogue& catalogue, const Rules& rules,
                               const BundleRequest& request) {
  MadeBundle made;
  LOCKSTEP_TRY(FinalValues final, final_values(catalogue, rules, request));
  LOCKSTEP_TRY(ReleaseTable table,
               release_table(catalogue, rules, final.recipe, std::move(final.values),
                             std::max(request.scheduling.nodes, final.recipe.criteria.nodes)));
  made.model.recipe = std::move(final.recipe);
  made.model.releases = std::move(table.releases);
  made.model.restarts = std::move(table.restarts);
  made.model.git_repository = request.git_repository;
  made.model.git_revision = request.git_revision;
  made.model.git_path = request.git_path;
  made.warnings = std::move(final.warnings);
  append(made.warnings, std::move(table.warnings));
  return made;
}

}  // namespace lockstep::bundle
