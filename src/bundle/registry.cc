#include "bundle/registry.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/strings.h"
#include "bundle/names.h"

namespace lockstep::bundle {

namespace {

void read_paths(StrictReader& object, SchedulingPaths& into) {
  object.texts("nodeSelectorPaths", into.node_selectors)
      .texts("tolerationPaths", into.tolerations)
      .texts("taintPaths", into.taints)
      .texts("taintStrPaths", into.taint_texts);
}

void read_check(StrictReader& object, ComponentCheck& into) {
  object.text("function", into.function).required("function");
  object.word("severity", into.severity, {"warning", "error"}).required("severity");
  object.text("message", into.message);
  object.any("conditions", [&](StrictReader& conditions) {
    conditions.entries([&](const std::string& criterion, StrictReader& words) {
      words.texts(into.conditions[criterion]);
    });
  });
}

void read_helm(StrictReader& object, HelmDefaults& into) {
  object.text("defaultRepository", into.repository)
      .text("defaultChart", into.chart)
      .text("defaultVersion", into.version)
      .text("defaultNamespace", into.ns);
  if (!into.ns.empty()) object.check("defaultNamespace", check_name(into.ns));
}

void read_component(StrictReader& object, Component& into) {
  into.place = object.place();
  object.text("name", into.name).required("name");
  if (!into.name.empty()) object.check("name", check_name(into.name));
  object.text("displayName", into.display_name).texts("valueOverrideKeys", into.aliases);
  object.within("healthCheck",
                [&](StrictReader& check) { check.text("assertFile", into.health_check_file); });
  if (object.has("helm") && object.has("kustomize")) {
    object.refuse("kustomize", "cannot be set together with helm; remove one of the two");
  }
  if (object.has("kustomize")) into.type = ComponentType::kustomize;
  object.within("helm", [&](StrictReader& helm) { read_helm(helm, into.helm); });
  object.within("kustomize", [&](StrictReader& kustomize) {
    kustomize.text("defaultSource", into.kustomize.source)
        .text("defaultPath", into.kustomize.path)
        .text("defaultTag", into.kustomize.tag);
  });
  object.within("nodeScheduling", [&](StrictReader& nodes) {
    nodes.texts("nodeCountPaths", into.node_count_paths);
    nodes.within("system", [&](StrictReader& paths) { read_paths(paths, into.system); });
    nodes.within("accelerated", [&](StrictReader& paths) { read_paths(paths, into.accelerated); });
  });
  object.within("podScheduling", [&](StrictReader& pods) {
    pods.within("workload", [&](StrictReader& workload) {
      workload.texts("workloadSelectorPaths", into.workload_selector_paths);
    });
  });
  object.each("validations",
              [&](StrictReader& check) { read_check(check, into.checks.emplace_back()); });
  // Later versions of AICR's format. "manifest" is in 0.11.1's own data, whose program does not
  // read it.
  object.unused({"manifest", "manifestFiles", "storageClassPaths", "sharedStorageClassPaths",
                 "gkeCriticalPriority", "hasSelfRefCRDs", "ownsCRDs", "manifestsUseChartCRDs"});
}

}  // namespace

std::string_view to_string(ComponentType type) {
  switch (type) {
    case ComponentType::helm:
      return "Helm";
    case ComponentType::kustomize:
      return "Kustomize";
    case ComponentType::unset:
      break;
  }
  return "";
}

Result<void> Registry::add(const YamlFile& file) {
  std::map<std::string, Component> read;
  LOCKSTEP_CHECK(read_strictly(file, [&](StrictReader& object) {
    object.must_be("kind", "ComponentRegistry");
    object.unused({"apiVersion"});
    object.each("components", [&](StrictReader& entry) {
      Component component;
      read_component(entry, component);
      auto [at, inserted] = read.emplace(component.name, component);
      if (!inserted) {
        entry.refuse("name", fmt::format("\"{}\" is also at {}; choose another name",
                                         component.name, at->second.place.text()));
      }
    });
  }));
  for (auto& [name, component] : read) components_.insert_or_assign(name, std::move(component));
  return index_aliases();
}

const Component* Registry::find(std::string_view name) const {
  auto at = components_.find(name);
  return at == components_.end() ? nullptr : &at->second;
}

Result<const Component*> Registry::named(std::string_view name_or_alias) const {
  if (const Component* component = find(name_or_alias)) return component;
  auto alias = aliases_.find(name_or_alias);
  if (alias != aliases_.end()) return find(alias->second);
  std::vector<std::string> known;
  for (const auto& [name, component] : components_) known.push_back(name);
  for (const auto& [name, component] : aliases_) known.push_back(name);
  return fail(ErrorKind::invalid, unknown_word("component", name_or_alias, known));
}

Result<void> Registry::index_aliases() {
  aliases_.clear();
  for (const auto& [name, component] : components_) {
    for (const std::string& alias : component.aliases) {
      if (alias == name) continue;
      auto [at, inserted] = aliases_.emplace(alias, name);
      const std::string& other = components_.count(alias) > 0 ? alias : at->second;
      if (!inserted || other == alias) {
        return fail(ErrorKind::invalid,
                    fmt::format("the name \"{}\" in valueOverrideKeys of {} is taken by {}", alias,
                                name, other),
                    component.place.text());
      }
    }
  }
  return {};
}

}  // namespace lockstep::bundle
