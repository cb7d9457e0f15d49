#include "bundle/rules.h"

#include <algorithm>
#include <string>
#include <utility>

namespace lockstep::bundle {

namespace {

const std::string& key_of(const DerivedRule& rule) { return rule.name; }
const std::string& key_of(const HookRule& rule) { return rule.name; }
const std::string& key_of(const ReleaseRule& rule) { return rule.component; }

// Of two rules of one name the upper layer's counts, in the place of the lower one's.
template <typename Rule>
Result<std::vector<Rule>> read_layers(const Catalogue& catalogue, std::string_view path,
                                      Result<std::vector<Rule>> (*read)(const YamlFile& file,
                                                                        const Registry* registry)) {
  std::vector<Rule> rules;
  auto files = catalogue.rules.find(path);
  if (files == catalogue.rules.end()) return rules;
  const Registry* registry = catalogue.has_foreign_rules ? nullptr : &catalogue.registry;
  for (const YamlFile& file : files->second) {
    LOCKSTEP_TRY(std::vector<Rule> upper, read(file, registry));
    for (Rule& rule : upper) {
      auto same = std::find_if(rules.begin(), rules.end(),
                               [&](const Rule& lower) { return key_of(lower) == key_of(rule); });
      if (same == rules.end()) {
        rules.push_back(std::move(rule));
      } else {
        *same = std::move(rule);
      }
    }
  }
  return rules;
}

}  // namespace

Result<Rules> read_rules(const Catalogue& catalogue) {
  Rules rules;
  LOCKSTEP_TRY(rules.derived, read_layers(catalogue, "derived.yaml", &read_derived_rules));
  LOCKSTEP_CHECK(check_independence(rules.derived));
  LOCKSTEP_TRY(rules.releases, read_layers(catalogue, "releases.yaml", &read_release_rules));
  LOCKSTEP_TRY(rules.hooks, read_layers(catalogue, "hooks.yaml", &read_hook_rules));
  return rules;
}

}  // namespace lockstep::bundle
