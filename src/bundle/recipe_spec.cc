#include "bundle/recipe_spec.h"

#include <array>
#include <set>

#include <fmt/format.h>

#include "bundle/names.h"

namespace lockstep::bundle {

namespace {

// "readiness" is what later versions call the first.
constexpr std::array<std::string_view, 5> phases = {"preDeployment", "readiness", "deployment",
                                                    "performance", "conformance"};

void read_constraint(StrictReader& object, Constraint& into) {
  object.text("name", into.name).required("name");
  object.text("value", into.value).required("value");
  object.text("severity", into.severity)
      .text("remediation", into.remediation)
      .text("unit", into.unit);
}

void read_component(StrictReader& object, ComponentRef& into) {
  into.place = object.place();
  object.text("name", into.name).required("name");
  object.text("namespace", into.ns).text("chart", into.chart);
  if (!into.ns.empty()) object.check("namespace", check_name(into.ns));
  std::string type;
  object.text("type", type);
  if (!type.empty()) {
    object.choice("type", into.type,
                  {{"Helm", ComponentType::helm}, {"Kustomize", ComponentType::kustomize}});
  }
  object.text("source", into.source)
      .text("version", into.version)
      .text("tag", into.tag)
      .text("path", into.path)
      .text("valuesFile", into.values_file)
      .object("overrides", into.overrides)
      .texts("patches", into.patches)
      .texts("dependencyRefs", into.dependencies)
      .texts("manifestFiles", into.manifest_files)
      .texts("preManifestFiles", into.pre_manifest_files)
      .flag("cleanup", into.cleanup)
      .text("healthCheckAsserts", into.health_check_asserts)
      .unused({"healthCheckSkip"});
  object.each("expectedResources", [&](StrictReader& item) {
    ExpectedResource& resource = into.expected_resources.emplace_back();
    item.text("kind", resource.kind).required("kind");
    item.text("name", resource.name).required("name");
    item.text("namespace", resource.ns);
  });
}

// Only that nothing in it is misspelt.
void check_phase(StrictReader& phase) {
  std::string text;
  std::vector<std::string> texts;
  phase.text("timeout", text).texts("checks", texts).text("infrastructure", text);
  phase.each("constraints", [](StrictReader& item) {
    Constraint constraint;
    read_constraint(item, constraint);
  });
  phase.within("nodeSelection", [](StrictReader& nodes) {
    JsonObject selector;
    int64_t most = 0;
    std::vector<std::string> names;
    nodes.object("selector", selector).number("maxNodes", most).texts("excludeNodes", names);
  });
}

void put(JsonObject& json, std::string_view key, const std::string& text) {
  if (!text.empty()) json[key] = text;
}

void put(JsonObject& json, std::string_view key, const std::vector<std::string>& texts) {
  if (!texts.empty()) json[key] = JsonArray(texts.begin(), texts.end());
}

}  // namespace

void read_constraints_and_components(StrictReader& spec, RecipeSpec& into) {
  std::set<std::string> seen;
  spec.each("constraints", [&](StrictReader& item) {
    Constraint& constraint = into.constraints.emplace_back();
    read_constraint(item, constraint);
    if (!seen.insert(constraint.name).second) item.refuse("name", "is in this list twice");
  });
  seen.clear();
  spec.each("componentRefs", [&](StrictReader& item) {
    ComponentRef& component = into.components.emplace_back();
    read_component(item, component);
    if (!seen.insert(component.name).second) item.refuse("name", "is in this list twice");
  });
}

void read_validation(StrictReader& spec, RecipeSpec& into) {
  spec.within("validation", [&](StrictReader& validation) {
    for (std::string_view name : phases) {
      JsonObject phase;
      validation.object(name, phase);
      if (!validation.has(name)) continue;
      validation.within(name, check_phase);
      into.validation[std::string(name)] = std::move(phase);
    }
  });
}

JsonObject to_json(const Constraint& constraint) {
  JsonObject json;
  json["name"] = constraint.name;
  json["value"] = constraint.value;
  put(json, "severity", constraint.severity);
  put(json, "remediation", constraint.remediation);
  put(json, "unit", constraint.unit);
  return json;
}

JsonObject to_json(const ComponentRef& component) {
  JsonObject json;
  json["name"] = component.name;
  put(json, "namespace", component.ns);
  put(json, "chart", component.chart);
  put(json, "type", std::string(to_string(component.type)));
  put(json, "source", component.source);
  put(json, "version", component.version);
  put(json, "tag", component.tag);
  put(json, "valuesFile", component.values_file);
  if (!component.overrides.empty()) json["overrides"] = component.overrides;
  put(json, "patches", component.patches);
  put(json, "dependencyRefs", component.dependencies);
  put(json, "manifestFiles", component.manifest_files);
  put(json, "preManifestFiles", component.pre_manifest_files);
  put(json, "path", component.path);
  if (component.cleanup) json["cleanup"] = true;
  if (!component.expected_resources.empty()) {
    JsonArray list;
    for (const ExpectedResource& resource : component.expected_resources) {
      JsonObject item;
      item["kind"] = resource.kind;
      item["name"] = resource.name;
      put(item, "namespace", resource.ns);
      list.push_back(std::move(item));
    }
    json["expectedResources"] = std::move(list);
  }
  put(json, "healthCheckAsserts", component.health_check_asserts);
  return json;
}

JsonObject validation_json(const std::map<std::string, Json>& validation) {
  JsonObject json;
  for (std::string_view name : phases) {
    auto at = validation.find(std::string(name));
    if (at != validation.end()) json[name] = at->second;
  }
  return json;
}

}  // namespace lockstep::bundle
