#include "bundle/enabled.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/strings.h"

namespace lockstep::bundle {

namespace {

// Whether it is enabled, and which source decided it.
struct Switch {
  bool on = true;
  std::string said_by;
};

using Switches = std::map<std::string, Switch, std::less<>>;

Result<Switches> switches_of_recipe(const ResolvedRecipe& recipe) {
  Switches switches;
  for (const ComponentRef& component : recipe.components) {
    const Json* value = find(component.overrides, "enabled");
    if (value == nullptr || value->is_null()) {
      switches[component.name] = {};
    } else if (!value->is_bool()) {
      return fail(ErrorKind::invalid,
                  fmt::format("overrides.enabled of {} must be true or false, and is {}",
                              component.name, print_json(*value)),
                  component.place.text());
    } else {
      switches[component.name] = {value->get_bool(), "overrides.enabled in the recipe"};
    }
  }
  return switches;
}

Result<void> apply_switches(const Registry& registry, const std::vector<Setting>& settings,
                            Switches& switches) {
  for (const Setting& setting : settings) {
    auto component = registry.named(setting.component);
    if (!component) return fail(component.error().at(setting.written));
    auto at = switches.find((*component)->name);
    if (at == switches.end()) {
      std::vector<std::string> there;
      for (const auto& [name, unused] : switches) there.push_back(name);
      return fail(ErrorKind::invalid,
                  fmt::format("{} is not in the recipe; there are {}", (*component)->name,
                              join(there, ", ")),
                  setting.written);
    }
    if (!is_switch(setting)) continue;
    if (!setting.value.is_bool()) {
      return fail(
          ErrorKind::invalid,
          fmt::format("enabled must be true or false, and is {}", print_json(setting.value)),
          setting.written);
    }
    at->second = {setting.value.get_bool(), setting.written};
  }
  return {};
}

Result<void> check_dependencies(const ResolvedRecipe& recipe, const Switches& switches) {
  for (const ComponentRef& component : recipe.components) {
    if (!switches.at(component.name).on) continue;
    for (const std::string& dependency : component.dependencies) {
      auto at = switches.find(dependency);
      if (at == switches.end() || at->second.on) continue;
      return fail(ErrorKind::invalid,
                  fmt::format("{0} depends on {1}, which is disabled ({2}): disable {0} too (--set "
                              "{0}:enabled=false), or keep {1} (--set {1}:enabled=true)",
                              component.name, dependency, at->second.said_by),
                  component.place.text());
    }
  }
  return {};
}

}  // namespace

Result<ResolvedRecipe> without_disabled(const ResolvedRecipe& recipe, const Registry& registry,
                                        const std::vector<Setting>& settings) {
  LOCKSTEP_TRY(Switches switches, switches_of_recipe(recipe));
  LOCKSTEP_CHECK(apply_switches(registry, settings, switches));
  LOCKSTEP_CHECK(check_dependencies(recipe, switches));
  ResolvedRecipe enabled = recipe;
  std::erase_if(enabled.components,
                [&](const ComponentRef& component) { return !switches.at(component.name).on; });
  std::erase_if(enabled.deployment_order, [&](const std::string& name) {
    auto at = switches.find(name);
    return at != switches.end() && !at->second.on;
  });
  if (enabled.components.empty()) {
    return failf(ErrorKind::invalid,
                 "every component of the recipe is disabled: there is nothing to deploy");
  }
  return enabled;
}

}  // namespace lockstep::bundle
