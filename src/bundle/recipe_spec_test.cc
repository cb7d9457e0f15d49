#include "bundle/recipe_spec.h"

#include <gtest/gtest.h>

#include "data/yaml.h"

namespace lockstep::bundle::recipe_spec_test {
namespace {

Result<RecipeSpec> read(std::string text) {
  LOCKSTEP_TRY(YamlFile file, YamlFile::parse("o.yaml", std::move(text)));
  RecipeSpec spec;
  LOCKSTEP_CHECK(read_strictly(file, [&](StrictReader& object) {
    read_constraints_and_components(object, spec);
    read_validation(object, spec);
  }));
  return spec;
}

std::string error_of(std::string text) {
  auto spec = read(std::move(text));
  return spec ? "" : spec.error().text();
}

constexpr auto everything = R"(
name: a
namespace: ns
chart: c
type: Kustomize
source: https://s
version: "25.10"
tag: t
valuesFile: components/a/values.yaml
overrides: {x: {a: null}}
patches: [p]
dependencyRefs: [b]
manifestFiles: [m]
preManifestFiles: [q]
path: d
cleanup: true
expectedResources: [{kind: Deployment, name: e, namespace: ns}]
healthCheckAsserts: text
)";

TEST(RecipeSpec, EveryKeyOfAComponentIsReadAndPrintedInAicrsOrder) {
  Json json = *parse_yaml(everything);
  auto spec = read(print_yaml(JsonObject{{"componentRefs", JsonArray{json}}}));
  ASSERT_TRUE(spec.has_value()) << spec.error().text();
  ASSERT_EQ(spec->components.size(), 1u);
  EXPECT_EQ(print_json(to_json(spec->components[0])), print_json(json));
}

TEST(RecipeSpec, WhatIsNotSaidIsLeftOut) {
  auto spec = read("componentRefs: [{name: a, type: Helm}]\nconstraints: [{name: c, value: v}]\n");
  ASSERT_TRUE(spec.has_value()) << spec.error().text();
  EXPECT_EQ(print_json(to_json(spec->components[0])), R"({"name":"a","type":"Helm"})");
  EXPECT_EQ(print_json(to_json(spec->constraints[0])), R"({"name":"c","value":"v"})");
  EXPECT_EQ(spec->components[0].place.text(), "o.yaml:1:17");
}

TEST(RecipeSpec, AVersionIsTakenAsItIsWritten) {
  auto spec = read("componentRefs: [{name: a, version: 25.10}]\n");
  EXPECT_EQ(spec->components[0].version, "25.10");
}

TEST(RecipeSpec, PhasesKeepTheirTextAndTheirOrder) {
  auto spec = read(
      "validation:\n  conformance: {checks: [x]}\n"
      "  deployment: {timeout: 10m, constraints: [{name: c, value: '>= 1', unit: GB}],\n"
      "               nodeSelection: {selector: {a: b}, maxNodes: 2, excludeNodes: [g]}}\n");
  ASSERT_TRUE(spec.has_value()) << spec.error().text();
  EXPECT_EQ(print_json(validation_json(spec->validation)),
            R"({"deployment":{"timeout":"10m","constraints":[{"name":"c","value":">= 1",)"
            R"("unit":"GB"}],"nodeSelection":{"selector":{"a":"b"},"maxNodes":2,)"
            R"("excludeNodes":["g"]}},"conformance":{"checks":["x"]}})");
}

TEST(RecipeSpec, RefusesWhatIsWrong) {
  struct Case {
    std::string text;
    std::string part;
  };
  for (const Case& c : std::vector<Case>{
           {"componentRefs:\n  - name: a\n    dependencyRef: [b]\n",
            "o.yaml:3:5: componentRefs[0].dependencyRef: unknown field"},
           {"componentRefs:\n  - name: a\n    dependencyRef: [b]\n", "\"dependencyRefs\""},
           {"componentRefs: [{name: a}, {name: a}]\n", "[1].name: is in this list twice"},
           {"componentRefs: [{name: a, type: helm}]\n",
            "componentRefs[0].type: unknown value \"helm\"; did you mean \"Helm\"?"},
           {"componentRefs: [{name: a, namespace: 'x;y'}]\n", "lower-case letters"},
           {"componentRefs: [{version: a}]\n", "name: is missing"},
           {"constraints: [{name: a, value: 1}, {name: a, value: 2}]\n",
            "[1].name: is in this list twice"},
           {"constraints: [{name: a}]\n", "value: is missing"},
           {"validation: {deploymnt: {}}\n", "\"deployment\""},
           {"validation: {deployment: {check: [a]}}\n", "\"checks\""},
           {"validation: {deployment: {nodeSelection: {maxNode: 1}}}\n", "\"maxNodes\""},
           {"validation: {deployment: 3}\n", "must be a map"},
           {"constrains: []\n", "\"constraints\""},
       }) {
    EXPECT_NE(error_of(c.text).find(c.part), std::string::npos) << c.text << error_of(c.text);
  }
}

}  // namespace
}  // namespace lockstep::bundle::recipe_spec_test
