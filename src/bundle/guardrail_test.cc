#include "bundle/guardrail.h"

#include <gtest/gtest.h>

#include "bundle/bundle_test_util.h"

namespace lockstep::bundle::guardrail_test {
namespace {

const char* const derived_text =
    "- name: follows\n  from: {component: operator, field: version}\n"
    "  to: {component: driver, paths: [[podAnnotations, v]]}\n  when: [operator, driver]\n";

struct Ground {
  Catalogue catalogue;
  Rules rules;
};

Ground ground_with(std::vector<std::pair<std::string, std::string>> more) {
  more.emplace_back("derived.yaml", derived_text);
  Ground made;
  made.catalogue = catalogue_of(with(small_files(), std::move(more)));
  auto rules = read_rules(made.catalogue);
  EXPECT_TRUE(rules.has_value()) << rules.error().text();
  if (rules) made.rules = std::move(*rules);
  return made;
}

std::string only(const Result<std::vector<Finding>>& findings) {
  if (!findings) return "error: " + findings.error().text();
  if (findings->empty()) return "ok";
  return std::to_string(findings->size()) + " " + findings->front().place + ": " +
         findings->front().what;
}

TEST(Guardrail, ADerivedValueThatIsWrittenByHandIsFoundInEveryFileOfACatalogue) {
  const std::string advice =
      "podAnnotations.v is written by hand, and it is derived (follows): remove it, or it will be "
      "wrong after the next upgrade";
  Ground clean = ground_with({});
  EXPECT_EQ(only(check_catalogue(clean.rules, clean.catalogue)), "ok");
  Ground values = ground_with({{"components/driver/values.yaml", "podAnnotations: {v: v1.0}\n"}});
  EXPECT_EQ(only(check_catalogue(values.rules, values.catalogue)),
            "1 components/driver/values.yaml: " + advice);
  Ground overlay = ground_with(
      {{"overlays/eks.yaml", overlay_text("eks",
                                          "  criteria: {service: eks}\n  componentRefs:\n"
                                          "    - name: driver\n"
                                          "      overrides: {podAnnotations: {v: v1.0}}\n")}});
  EXPECT_EQ(only(check_catalogue(overlay.rules, overlay.catalogue)),
            "1 overlays/eks.yaml:6:7: " + advice);
}

TEST(Guardrail, ABundleWhoseValueDisagreesWithItsRecipeIsFound) {
  Ground ground = ground_with({});
  auto recipe = resolve(ground.catalogue, {});
  ASSERT_TRUE(recipe.has_value());
  FileMap files = {{"recipe.yaml", print_json(to_json(*recipe))},
                   {"001-operator/values.yaml", "a: 1\n"},
                   {"002-driver/values.yaml", "podAnnotations: {v: v1.0}\n"}};
  auto check = [&] { return only(check_bundle(ground.rules, files, ground.catalogue.words, "b")); };
  EXPECT_EQ(check(), "ok");
  files["002-driver/values.yaml"] = "podAnnotations: {v: v0.9}\n";
  EXPECT_NE(check().find("1 b/002-driver/values.yaml: "), std::string::npos) << check();
  files["002-driver/values.yaml"] = "podAnnotations: {}\n";
  EXPECT_NE(check().find("1 b/002-driver/values.yaml: "), std::string::npos) << check();
}

TEST(Guardrail, AVersionThatIsNotTheRecipesIsFound) {
  Ground ground = ground_with({});
  auto recipe = resolve(ground.catalogue, {});
  FileMap files = {{"recipe.yaml", print_json(to_json(*recipe))},
                   {"helmfile.yaml", "releases:\n  - {name: operator, version: v2.0}\n"}};
  EXPECT_EQ(only(check_bundle(ground.rules, files, ground.catalogue.words, "b")),
            "1 b/helmfile.yaml: the version of operator is v2.0, and the recipe says v1.0");
}

TEST(Guardrail, ANodeSelectorOnAClusterPolicysDriverIsRefusedWhereverItStands) {
  const std::vector<std::string> trapped = {
      "kind: ClusterPolicy\nspec:\n  driver:\n    version: 1\n    nodeSelector: {a: b}\n",
      "spec:\n  driver:\n    nodeSelector:\n      a: b\nkind: ClusterPolicy\n",
      "{\"kind\": \"ClusterPolicy\", \"spec\": {\"driver\": {\"nodeSelector\": {}}}}",
      "kind: ConfigMap\n---\n{{- if .Values.x }}\nkind: ClusterPolicy\nspec:\n"
      "  {{- with .Values.y }}\n  driver:\n    image: {{ .i }}\n    nodeSelector:\n"
      "      {{- toYaml .z | nindent 6 }}\n  {{- end }}\n{{- end }}\n"};
  for (const std::string& text : trapped) {
    auto findings = check_manifests(text, "m.yaml");
    ASSERT_EQ(findings.size(), 1U) << text;
    EXPECT_NE(findings[0].what.find("has no spec.driver.nodeSelector"), std::string::npos);
  }
  EXPECT_EQ(check_manifests(trapped[3], "m.yaml")[0].place, "m.yaml:9");
  const std::vector<std::string> fine = {
      "kind: NVIDIADriver\nspec:\n  driver:\n    nodeSelector: {a: b}\n",
      "kind: ClusterPolicy\nspec:\n  daemonsets:\n    nodeSelector: {}\n  driver: {version: 1}\n",
      "kind: ClusterPolicy\nspec:\n  driver:\n    manager:\n      nodeSelector: x\n"};
  for (const std::string& text : fine) EXPECT_TRUE(check_manifests(text, "m.yaml").empty()) << text;
}

TEST(Guardrail, ARecipesOverridesAreLookedAtToo) {
  Ground ground = ground_with({});
  auto recipe = resolve(ground.catalogue, {});
  ASSERT_TRUE(recipe.has_value());
  EXPECT_TRUE(check_recipe(ground.rules, *recipe, "r.yaml").empty());
  recipe->components[0].overrides = parse_json(R"({"podAnnotations":{"v":"v1.0"}})")->get_object();
  recipe->components[0].place = {};
  auto findings = check_recipe(ground.rules, *recipe, "r.yaml");
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].place, "r.yaml");
}

}  // namespace
}  // namespace lockstep::bundle::guardrail_test
