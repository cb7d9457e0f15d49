#include "bundle/ambiguity.h"

#include <map>

#include <fmt/format.h>

namespace lockstep::bundle {

namespace {

// Every field that is set, in words, at the depth at which merging replaces. Lists that merging
// unites do not count: both overlays get what they asked for.
std::map<std::string, Json> settings_of(const RecipeSpec& spec) {
  std::map<std::string, Json> settings;
  for (const Constraint& constraint : spec.constraints) {
    settings["the constraint " + constraint.name] = to_json(constraint);
  }
  for (const ComponentRef& component : spec.components) {
    for (const auto& [key, value] : to_json(component)) {
      if (key == "name" || key == "manifestFiles" || key == "preManifestFiles") continue;
      std::string field = fmt::format("{} of {}", std::string_view(key), component.name);
      if (key != "overrides") {
        settings[field] = value;
        continue;
      }
      for (const auto& [name, inner] : value.get_object()) {
        settings[fmt::format("overrides.{} of {}", std::string_view(name), component.name)] = inner;
      }
    }
  }
  for (const auto& [phase, value] : spec.validation) settings["validation." + phase] = value;
  return settings;
}

}  // namespace

Result<void> refuse_disagreement(const Overlay& a, const Overlay& b) {
  std::map<std::string, Json> of_a = settings_of(a.spec);
  for (const auto& [field, value] : settings_of(b.spec)) {
    auto other = of_a.find(field);
    if (other == of_a.end() || json_equal(other->second, value)) continue;
    return fail(ErrorKind::invalid,
                fmt::format("the overlays {} and {} are equally specific and disagree: {} is {} in "
                            "the first and {} in the second; let one be the base of the other, or "
                            "say it in one of them",
                            a.name, b.name, field, print_json(other->second), print_json(value)),
                b.file);
  }
  return {};
}

}  // namespace lockstep::bundle
