#include "bundle/rules.h"

#include <algorithm>

namespace lockstep::bundle {

namespace {

// Whether a rule speaks of a component that the registry has not.
bool names_unknown(const Json& value, const Registry& registry) {
  if (value.is_object()) {
    for (const auto& [key, child] : value.get_object()) {
      bool is_name = key == "component" && child.is_string();
      if (is_name && registry.find(as_text(&child)) == nullptr) return true;
      bool is_list = (key == "when" || key == "after") && child.is_array();
      if (is_list &&
          std::any_of(child.get_array().begin(), child.get_array().end(),
                      [&](const Json& name) { return registry.find(as_text(&name)) == nullptr; })) {
        return true;
      }
      if (child.is_object() && names_unknown(child, registry)) return true;
    }
  }
  return false;
}

Result<YamlFile> rule_file(const Catalogue& catalogue, const std::string& path) {
  if (catalogue.files.count(path) == 0) return YamlFile::parse(path, "[]");
  LOCKSTEP_TRY(YamlFile file, catalogue.yaml(path));
  if (catalogue.has_foreign_rules && file.json.is_array()) {
    JsonArray known;
    for (const Json& item : file.json.get_array()) {
      if (!names_unknown(item, catalogue.registry)) known.push_back(item);
    }
    file.json = std::move(known);
  }
  return file;
}

}  // namespace

Result<Rules> read_rules(const Catalogue& catalogue) {
  Rules rules;
  LOCKSTEP_TRY(YamlFile derived, rule_file(catalogue, "derived.yaml"));
  LOCKSTEP_TRY(rules.derived, read_derived_rules(derived, catalogue.registry));
  LOCKSTEP_TRY(YamlFile releases, rule_file(catalogue, "releases.yaml"));
  LOCKSTEP_TRY(rules.releases, read_release_rules(releases, catalogue.registry));
  LOCKSTEP_TRY(YamlFile hooks, rule_file(catalogue, "hooks.yaml"));
  LOCKSTEP_TRY(rules.hooks, read_hook_rules(hooks, catalogue.registry));
  return rules;
}

}  // namespace lockstep::bundle
