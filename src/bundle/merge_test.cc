#include "bundle/merge.h"

#include <gtest/gtest.h>

namespace lockstep::bundle::merge_test {
namespace {

RecipeSpec spec_of(std::string text, std::string name = "o.yaml") {
  auto file = YamlFile::parse(std::move(name), std::move(text));
  EXPECT_TRUE(file.has_value());
  RecipeSpec spec;
  auto read = read_strictly(*file, [&](StrictReader& object) {
    read_constraints_and_components(object, spec);
    read_validation(object, spec);
  });
  EXPECT_TRUE(read.has_value()) << read.error().text();
  return spec;
}

Mixin mixin_of(std::string name, std::string text) {
  return {name, "mixins/" + name + ".yaml", spec_of(std::move(text), "mixins/" + name + ".yaml")};
}

std::string component_of(const RecipeSpec& spec, const std::string& name) {
  for (const ComponentRef& component : spec.components) {
    if (component.name == name) return print_json(to_json(component));
  }
  return "";
}

std::string merged(std::string below, std::string above) {
  RecipeSpec spec = spec_of("componentRefs:\n- {name: a, " + below + "}\n");
  merge(spec, spec_of("componentRefs:\n- {name: a, " + above + "}\n"));
  return component_of(spec, "a");
}

TEST(Merge, OfAComponentFollowsAicrsRuleForEachField) {
  struct Case {
    std::string below, above, result;
  };
  for (const Case& c : std::vector<Case>{
           {"version: v1, source: s", "version: v2", R"("source":"s","version":"v2")"},
           {"version: v1", "version: ''", R"("version":"v1")"},
           {"type: Helm", "type: Kustomize", R"("type":"Kustomize")"},
           {"namespace: n, chart: c, tag: t, path: p, valuesFile: f, healthCheckAsserts: h",
            "namespace: n2, chart: c2, tag: t2, path: p2, valuesFile: f2, healthCheckAsserts: h2",
            R"("namespace":"n2","chart":"c2","tag":"t2","valuesFile":"f2","path":"p2",)"
            R"("healthCheckAsserts":"h2")"},
           {"overrides: {x: {a: 1, b: 2}, k: 1}", "overrides: {x: {a: 3}, m: null}",
            R"("overrides":{"x":{"a":3},"k":1,"m":null})"},
           {"dependencyRefs: [b, c]", "dependencyRefs: [d]", R"("dependencyRefs":["d"])"},
           {"dependencyRefs: [b, c]", "dependencyRefs: []", R"("dependencyRefs":["b","c"])"},
           {"patches: [b, c]", "patches: [d]", R"("patches":["d"])"},
           {"expectedResources: [{kind: K, name: x}]", "expectedResources: [{kind: K, name: y}]",
            R"("expectedResources":[{"kind":"K","name":"y"}])"},
           {"manifestFiles: [m, n], preManifestFiles: [p]",
            "manifestFiles: [o, m], preManifestFiles: [q, p]",
            R"("manifestFiles":["m","n","o"],"preManifestFiles":["p","q"])"},
           {"cleanup: true", "cleanup: false", R"("cleanup":true)"},
           {"cleanup: false", "cleanup: true", R"("cleanup":true)"},
       }) {
    EXPECT_EQ(merged(c.below, c.above), R"({"name":"a",)" + c.result + "}") << c.above;
  }
}

TEST(Merge, OfListsIsByNameAndSorted) {
  RecipeSpec spec = spec_of(
      "constraints: [{name: z, value: '1', unit: u}, {name: b, value: '1'}]\n"
      "componentRefs: [{name: z}, {name: b}]\n"
      "validation: {deployment: {timeout: 1m, checks: [x]}, conformance: {checks: [c]}}\n");
  merge(spec, spec_of("constraints: [{name: z, value: '2'}, {name: a, value: '3'}]\n"
                      "componentRefs: [{name: a}]\n"
                      "validation: {deployment: {checks: [d]}}\n"));
  std::string names;
  for (const auto& constraint : spec.constraints) names += constraint.name + constraint.value;
  EXPECT_EQ(names, "a3b1z2");
  EXPECT_EQ(spec.constraints[2].unit, "") << "the later one wins whole";
  names.clear();
  for (const auto& component : spec.components) names += component.name;
  EXPECT_EQ(names, "abz");
  EXPECT_EQ(print_json(validation_json(spec.validation)),
            R"({"deployment":{"checks":["d"]},"conformance":{"checks":["c"]}})");
}

TEST(Mixins, AddConstraintsComponentsNamespacesAndManifests) {
  RecipeSpec spec = spec_of("componentRefs: [{name: a, version: v1, manifestFiles: [m]}]\n");
  Mixin one = mixin_of("one",
                       "constraints: [{name: c, value: v}]\n"
                       "componentRefs: [{name: b, version: v9}, "
                       "{name: a, namespace: n, manifestFiles: [o], preManifestFiles: [p]}]\n");
  auto done = merge_mixins(spec, {&one});
  ASSERT_TRUE(done.has_value()) << done.error().text();
  EXPECT_EQ(component_of(spec, "a"),
            R"({"name":"a","namespace":"n","version":"v1","manifestFiles":["m","o"],)"
            R"("preManifestFiles":["p"]})");
  EXPECT_EQ(component_of(spec, "b"), R"({"name":"b","version":"v9"})");
  EXPECT_EQ(spec.constraints.size(), 1u);
}

TEST(Mixins, MayNotChangeAnythingElse) {
  auto error = [](std::vector<Mixin> mixins) -> std::string {
    RecipeSpec spec =
        spec_of("constraints: [{name: c, value: v}]\ncomponentRefs: [{name: a, namespace: n}]\n");
    std::vector<const Mixin*> list;
    for (const Mixin& mixin : mixins) list.push_back(&mixin);
    auto done = merge_mixins(spec, list);
    return done ? "" : done.error().text();
  };
  EXPECT_EQ(error({mixin_of("m", "constraints: [{name: c, value: v}]\n")}),
            "mixins/m.yaml: the constraint c is there already: a mixin may only add, leave it out "
            "here or below");
  EXPECT_EQ(error({mixin_of("m", "componentRefs: [{name: a, version: v1}]\n")}),
            "mixins/m.yaml:1:17: the component a is there already, and of such a one a mixin may "
            "say namespace, manifestFiles and preManifestFiles alone, not version");
  EXPECT_NE(error({mixin_of("m", "componentRefs: [{name: a, overrides: {x: 1}}]\n")}), "");
  EXPECT_EQ(error({mixin_of("m", "componentRefs: [{name: a, namespace: x}]\n")}), "");
  EXPECT_EQ(error({mixin_of("m", "componentRefs: [{name: a, namespace: x}]\n"),
                   mixin_of("o", "componentRefs: [{name: a, namespace: x}]\n")}),
            "");
  EXPECT_EQ(error({mixin_of("m", "componentRefs: [{name: a, namespace: x}]\n"),
                   mixin_of("o", "componentRefs: [{name: a, namespace: y}]\n")}),
            "mixins/o.yaml:1:17: the namespace of a is y here and x in the mixin m");
  EXPECT_NE(error({mixin_of("m", "componentRefs: [{name: b, version: v1}]\n"),
                   mixin_of("o", "componentRefs: [{name: b, version: v1}]\n")}),
            "");
}

}  // namespace
}  // namespace lockstep::bundle::merge_test
