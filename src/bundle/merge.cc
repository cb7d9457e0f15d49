#include "bundle/merge.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

namespace lockstep::bundle {

namespace {

void replace(std::string& below, const std::string& above) {
  if (!above.empty()) below = above;
}

template <typename T>
void replace(std::vector<T>& below, const std::vector<T>& above) {
  if (!above.empty()) below = above;
}

void unite(std::vector<std::string>& below, const std::vector<std::string>& above) {
  for (const std::string& item : above) {
    if (std::find(below.begin(), below.end(), item) == below.end()) below.push_back(item);
  }
}

void merge_component(ComponentRef& below, const ComponentRef& above) {
  replace(below.ns, above.ns);
  replace(below.chart, above.chart);
  if (above.type != ComponentType::unset) below.type = above.type;
  replace(below.source, above.source);
  replace(below.version, above.version);
  replace(below.tag, above.tag);
  replace(below.path, above.path);
  replace(below.values_file, above.values_file);
  // Not a deep merge: AICR's overlays count on a key replacing all that was under it.
  for (const auto& [key, value] : above.overrides) below.overrides[key] = value;
  replace(below.patches, above.patches);
  replace(below.dependencies, above.dependencies);
  unite(below.manifest_files, above.manifest_files);
  unite(below.pre_manifest_files, above.pre_manifest_files);
  below.cleanup = below.cleanup || above.cleanup;
  replace(below.expected_resources, above.expected_resources);
  replace(below.health_check_asserts, above.health_check_asserts);
  below.place = above.place;
}

template <typename T>
T* find_named(std::vector<T>& items, const std::string& name) {
  auto at = std::find_if(items.begin(), items.end(), [&](const T& i) { return i.name == name; });
  return at == items.end() ? nullptr : &*at;
}

template <typename T>
void sort_by_name(std::vector<T>& items) {
  std::sort(items.begin(), items.end(), [](const T& a, const T& b) { return a.name < b.name; });
}

// The first key of a mixin's component that may not be said of one that is there.
std::string forbidden_key(const ComponentRef& component) {
  JsonObject json = to_json(component);
  for (const auto& [key, value] : json) {
    if (key != "name" && key != "namespace" && key != "manifestFiles" &&
        key != "preManifestFiles") {
      return std::string(key);
    }
  }
  return {};
}

using Namespaces = std::map<std::string, const Mixin*>;

Result<void> check_mixin(RecipeSpec& spec, const Mixin& mixin, Namespaces& said_by) {
  for (const Constraint& constraint : mixin.spec.constraints) {
    if (find_named(spec.constraints, constraint.name) != nullptr) {
      return fail(ErrorKind::invalid,
                  fmt::format("the constraint {} is there already: a mixin may only add, leave it "
                              "out here or below",
                              constraint.name),
                  mixin.file);
    }
  }
  for (const ComponentRef& component : mixin.spec.components) {
    const ComponentRef* there = find_named(spec.components, component.name);
    std::string key = there == nullptr ? std::string() : forbidden_key(component);
    if (!key.empty()) {
      return fail(ErrorKind::invalid,
                  fmt::format("the component {} is there already, and of such a one a mixin may "
                              "say namespace, manifestFiles and preManifestFiles alone, not {}",
                              component.name, key),
                  component.place.text());
    }
    if (component.ns.empty()) continue;
    auto [at, first] = said_by.emplace(component.name, &mixin);
    if (!first && there != nullptr && there->ns != component.ns) {
      return fail(ErrorKind::invalid,
                  fmt::format("the namespace of {} is {} here and {} in the mixin {}",
                              component.name, component.ns, there->ns, at->second->name),
                  component.place.text());
    }
  }
  return {};
}

}  // namespace

void merge(RecipeSpec& below, const RecipeSpec& above) {
  for (const Constraint& constraint : above.constraints) {
    if (Constraint* there = find_named(below.constraints, constraint.name)) {
      *there = constraint;
    } else {
      below.constraints.push_back(constraint);
    }
  }
  for (const ComponentRef& component : above.components) {
    if (ComponentRef* there = find_named(below.components, component.name)) {
      merge_component(*there, component);
    } else {
      below.components.push_back(component);
    }
  }
  sort_by_name(below.constraints);
  sort_by_name(below.components);
  for (const auto& [phase, value] : above.validation) below.validation[phase] = value;
}

Result<void> merge_mixins(RecipeSpec& spec, const std::vector<const Mixin*>& mixins) {
  Namespaces said_by;
  for (const Mixin* mixin : mixins) {
    LOCKSTEP_CHECK(check_mixin(spec, *mixin, said_by));
    merge(spec, mixin->spec);
  }
  return {};
}

}  // namespace lockstep::bundle
