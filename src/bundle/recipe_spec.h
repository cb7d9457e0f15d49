// What overlays and mixins say, and what a recipe comes to: constraints, components, validation.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "bundle/registry.h"
#include "data/json.h"
#include "data/strict_reader.h"

namespace lockstep::bundle {

// "K8s.server.version" must be ">= 1.32".
struct Constraint {
  std::string name;
  std::string value;
  std::string severity;
  std::string remediation;
  std::string unit;

  bool operator==(const Constraint&) const = default;
};

// A Kubernetes object that is there when the component is.
struct ExpectedResource {
  std::string kind;
  std::string name;
  std::string ns;

  bool operator==(const ExpectedResource&) const = default;
};

// One component in a recipe. What is empty is not said, and comes from below.
struct ComponentRef {
  std::string name;
  std::string ns;
  std::string chart;
  ComponentType type = ComponentType::unset;
  std::string source;
  std::string version;
  std::string tag;   // of Kustomize
  std::string path;  // of Kustomize
  std::string values_file;
  JsonObject overrides;
  std::vector<std::string> patches;
  std::vector<std::string> dependencies;
  std::vector<std::string> manifest_files;
  std::vector<std::string> pre_manifest_files;
  bool cleanup = false;
  std::vector<ExpectedResource> expected_resources;
  std::string health_check_asserts;
  Place place;  // in the file that named it last
};

struct RecipeSpec {
  std::vector<Constraint> constraints;
  std::vector<ComponentRef> components;
  // By phase. Its keys are checked when it is read, and its values are not used here.
  std::map<std::string, Json> validation;
};

// The keys of `spec` that overlays and mixins share.
void read_constraints_and_components(StrictReader& spec, RecipeSpec& into);
void read_validation(StrictReader& spec, RecipeSpec& into);

// In AICR's order of keys; what is empty is left out.
JsonObject to_json(const Constraint& constraint);
JsonObject to_json(const ComponentRef& component);
// The phases in the order in which they run.
JsonObject validation_json(const std::map<std::string, Json>& validation);

}  // namespace lockstep::bundle
