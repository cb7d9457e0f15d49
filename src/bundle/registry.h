// The registry: every component that recipes may name, with where its chart comes from, the names
// it has in --set, and where in its values node selectors and tolerations belong.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "data/strict_reader.h"

namespace lockstep::bundle {

enum class ComponentType { unset, helm, kustomize };

std::string_view to_string(ComponentType type);

struct HelmDefaults {
  std::string repository;
  std::string chart;  // "nvidia/gpu-operator"
  std::string version;
  std::string ns;
};

struct KustomizeDefaults {
  std::string source;
  std::string path;
  std::string tag;
};

// Dotted paths into a component's values.
struct SchedulingPaths {
  std::vector<std::string> node_selectors;
  std::vector<std::string> tolerations;
  std::vector<std::string> taints;
  std::vector<std::string> taint_texts;
};

// A check of the resolved values, named by the function that makes it.
struct ComponentCheck {
  std::string function;
  std::string severity;  // warning, error
  std::map<std::string, std::vector<std::string>> conditions;
  std::string message;
};

struct Component {
  std::string name;
  std::string display_name;
  std::vector<std::string> aliases;
  std::string health_check_file;
  ComponentType type = ComponentType::helm;
  HelmDefaults helm;
  KustomizeDefaults kustomize;
  std::vector<std::string> node_count_paths;
  SchedulingPaths system;
  SchedulingPaths accelerated;
  std::vector<std::string> workload_selector_paths;
  std::vector<ComponentCheck> checks;
  Place place;  // of its entry
};

class Registry {
 public:
  // Adds the components of a registry.yaml; one of a name that is known already, from a layer
  // below, is replaced whole.
  Result<void> add(const YamlFile& file);

  // Null if not found.
  const Component* find(std::string_view name) const;
  // By name or alias; the error names the nearest of both.
  Result<const Component*> named(std::string_view name_or_alias) const;

  const std::map<std::string, Component, std::less<>>& components() const { return components_; }

 private:
  Result<void> index_aliases();

  std::map<std::string, Component, std::less<>> components_;
  std::map<std::string, std::string, std::less<>> aliases_;
};

}  // namespace lockstep::bundle
