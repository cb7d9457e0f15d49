#include "bundle/rules.h"

namespace lockstep::bundle {

namespace {

Result<YamlFile> rule_file(const Catalogue& catalogue, const std::string& path) {
  if (catalogue.files.count(path) == 0) return YamlFile::parse(path, "[]");
  return catalogue.yaml(path);
}

}  // namespace

Result<Rules> read_rules(const Catalogue& catalogue) {
  Rules rules;
  const Registry* registry = catalogue.has_foreign_rules ? nullptr : &catalogue.registry;
  LOCKSTEP_TRY(YamlFile derived, rule_file(catalogue, "derived.yaml"));
  LOCKSTEP_TRY(rules.derived, read_derived_rules(derived, registry));
  LOCKSTEP_TRY(YamlFile releases, rule_file(catalogue, "releases.yaml"));
  LOCKSTEP_TRY(rules.releases, read_release_rules(releases, registry));
  LOCKSTEP_TRY(YamlFile hooks, rule_file(catalogue, "hooks.yaml"));
  LOCKSTEP_TRY(rules.hooks, read_hook_rules(hooks, registry));
  return rules;
}

}  // namespace lockstep::bundle
