#include "bundle/make_bundle.h"

#include <utility>

#include "base/strings.h"
#include "bundle/component_checks.h"
#include "bundle/derived.h"
#include "bundle/enabled.h"
#include "bundle/release_table.h"
#include "bundle/values.h"

namespace lockstep::bundle {

namespace {

void append(std::vector<std::string>& to, std::vector<std::string> more) {
  to.insert(to.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
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
  for (auto& [name, values] : result.values) {
    const Component* entry = catalogue.registry.find(name);
    if (entry == nullptr) continue;
    LOCKSTEP_CHECK(apply_scheduling(*entry, request.scheduling, values));
  }
  LOCKSTEP_TRY(CheckFindings findings, check_components(catalogue.registry, catalogue.words,
                                                        result.recipe, request.scheduling));
  if (!findings.errors.empty()) return fail(ErrorKind::invalid, join(findings.errors, "; "));
  append(result.warnings, std::move(findings.warnings));
  LOCKSTEP_TRY(auto warnings,
               apply_derived(rules.derived, result.recipe, result.values, request.without_derived));
  append(result.warnings, std::move(warnings));
  for (const DerivedRule& rule : rules.derived) {
    if (request.without_derived.count("all") > 0 || request.without_derived.count(rule.name) > 0) {
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
               release_table(catalogue, rules, final.recipe, std::move(final.values)));
  made.model.recipe = std::move(final.recipe);
  made.model.releases = std::move(table.releases);
  made.model.restarts = std::move(table.restarts);
  made.model.git_repository = request.git_repository;
  made.model.git_revision = request.git_revision;
  made.model.git_path = request.git_path;
  made.warnings = std::move(final.warnings);
  return made;
}

}  // namespace lockstep::bundle
