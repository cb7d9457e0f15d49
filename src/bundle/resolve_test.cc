#include "bundle/resolve.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "base/strings.h"
#include "bundle/bundle_test_util.h"

namespace lockstep::bundle::resolve_test {
namespace {

using Overlays = std::vector<std::pair<std::string, std::string>>;

Catalogue catalogue_with(const Overlays& overlays) {
  FileMap files = small_files();
  for (const auto& [name, spec] : overlays) {
    files["overlays/" + name + ".yaml"] = overlay_text(name, spec);
  }
  return catalogue_of(files);
}

std::string applied(const Overlays& overlays, const Criteria& query) {
  auto recipe = resolve(catalogue_with(overlays), query);
  return recipe ? join(recipe->applied_overlays, " ") : recipe.error().text();
}

std::string error_of(const Overlays& overlays, const Criteria& query = {}) {
  auto recipe = resolve(catalogue_with(overlays), query);
  return recipe ? "" : recipe.error().text();
}

TEST(Resolve, AppliesWhatMatchesTheLeastSpecificFirst) {
  Overlays overlays = {
      {"everywhere", "  criteria: {intent: any}\n"},
      {"a-very-specific", "  criteria: {service: eks, os: ubuntu, intent: training}\n"},
      {"eks", "  criteria: {service: eks}\n"},
      {"eks-ubuntu", "  criteria: {service: eks, os: ubuntu}\n"},
      {"gke", "  criteria: {service: gke}\n"},
      {"only-as-base", "  constraints: []\n"},
      {"ubuntu", "  criteria: {os: ubuntu}\n"},
  };
  EXPECT_EQ(applied(overlays, {}), "base everywhere");
  EXPECT_EQ(applied(overlays, {.service = "eks"}), "base everywhere eks");
  EXPECT_EQ(applied(overlays, {.service = "eks", .os = "ubuntu"}),
            "base everywhere eks ubuntu eks-ubuntu");
  EXPECT_EQ(applied(overlays, {.service = "EKS", .intent = "training", .os = "ubuntu"}),
            "base everywhere eks ubuntu eks-ubuntu a-very-specific");
  EXPECT_EQ(applied(overlays, {.service = "vanilla"}), "base everywhere");
}

TEST(Resolve, AppliesTheChainOfBasesRootFirstAndEachOnce) {
  Overlays overlays = {
      {"root", "  constraints: []\n"},
      {"eks", "  base: root\n  criteria: {service: eks}\n"},
      {"eks-training", "  base: eks\n  criteria: {service: eks, intent: training}\n"},
      {"h100", "  base: root\n  criteria: {service: eks, accelerator: h100}\n"},
  };
  EXPECT_EQ(applied(overlays, {.service = "eks", .accelerator = "h100", .intent = "training"}),
            "base root eks eks-training h100");
  EXPECT_EQ(applied(overlays, {}), "base") << "a base alone never applies";
}

TEST(Resolve, FillsWhatIsEmptyFromTheRegistry) {
  auto recipe = resolve(
      catalogue_with({{"more",
                       "  criteria: {}\n  componentRefs:\n"
                       "    - {name: kustom}\n"
                       "    - {name: tuning, manifestFiles: [components/tuning/manifests/t.yaml]}\n"
                       "    - {name: monitor, version: v7, chart: other, source: oci://x}\n"}}),
      {});
  ASSERT_TRUE(recipe.has_value()) << recipe.error().text();
  auto shown = [&](std::string_view name) { return print_json(to_json(*recipe->find(name))); };
  EXPECT_EQ(shown("operator"),
            R"({"name":"operator","namespace":"operator-system","chart":"operator","type":"Helm",)"
            R"("source":"https://charts","version":"v1.0",)"
            R"("valuesFile":"components/operator/values.yaml"})");
  EXPECT_EQ(shown("driver"),
            R"({"name":"driver","chart":"driver","type":"Helm","source":"https://charts",)"
            R"("version":"v9","dependencyRefs":["operator"]})");
  EXPECT_EQ(shown("kustom"),
            R"({"name":"kustom","type":"Kustomize","source":"https://git","tag":"v4",)"
            R"("path":"deploy"})");
  EXPECT_EQ(shown("tuning"), R"({"name":"tuning","namespace":"tuning","type":"Helm",)"
                             R"("manifestFiles":["components/tuning/manifests/t.yaml"]})");
  EXPECT_EQ(
      shown("monitor"),
      R"({"name":"monitor","chart":"other","type":"Helm","source":"oci://x","version":"v7"})");
  EXPECT_EQ(recipe->find("none"), nullptr);
  EXPECT_EQ(join(recipe->deployment_order, " "), "kustom monitor operator driver tuning");
}

TEST(Resolve, PrintsAicrsRecipeResult) {
  auto recipe = resolve(catalogue_of(small_files()), {.service = "vanilla"});
  ASSERT_TRUE(recipe.has_value()) << recipe.error().text();
  EXPECT_EQ(
      print_json(to_json(*recipe)),
      R"({"kind":"RecipeResult","apiVersion":"aicr.nvidia.com/v1alpha1",)"
      R"("metadata":{"appliedOverlays":["base"]},)"
      R"("criteria":{"service":"any","accelerator":"any","intent":"any","os":"any","platform":"any"},)"
      R"("constraints":[{"name":"K8s.server.version","value":">= 1.25"}],)"
      R"("componentRefs":[{"name":"driver","chart":"driver","type":"Helm","source":"https://charts",)"
      R"("version":"v9","dependencyRefs":["operator"]},)"
      R"({"name":"operator","namespace":"operator-system","chart":"operator","type":"Helm",)"
      R"("source":"https://charts","version":"v1.0","valuesFile":"components/operator/values.yaml"}],)"
      R"("deploymentOrder":["operator","driver"]})");
}

TEST(Resolve, MixinsComeAfterAllChainsAndEachOnce) {
  FileMap files = small_files();
  files["overlays/a.yaml"] = overlay_text("a", "  criteria: {}\n  mixins: [m, n]\n");
  files["overlays/b.yaml"] = overlay_text(
      "b", "  criteria: {service: eks}\n  mixins: [m]\n  componentRefs: [{name: monitor}]\n");
  files["mixins/m.yaml"] = mixin_text("m", "  componentRefs: [{name: monitor, namespace: late}]\n");
  files["mixins/n.yaml"] = mixin_text("n", "  constraints: [{name: c, value: v}]\n");
  auto recipe = resolve(catalogue_of(files), {.service = "eks"});
  ASSERT_TRUE(recipe.has_value()) << recipe.error().text();
  EXPECT_EQ(join(recipe->applied_mixins, " "), "m n");
  EXPECT_EQ(recipe->find("monitor")->ns, "late");
  EXPECT_EQ(recipe->constraints.size(), 2u);
}

TEST(Resolve, RefusesWhatCannotBeDeployed) {
  std::string any = "  criteria: {}\n  componentRefs:\n    - ";
  EXPECT_EQ(error_of({{"x", any + "{name: tuning}\n"}}),
            "overlays/x.yaml:6:7: tuning has neither a chart nor manifests: there is nothing to "
            "deploy");
  EXPECT_EQ(error_of({{"x", any + "{name: tuning, source: https://r}\n"}}),
            "overlays/x.yaml:6:7: tuning has a repository and no chart: say chart in componentRefs "
            "or helm.defaultChart in the registry");
  EXPECT_EQ(error_of({{"x", any + "{name: tuning, chart: c}\n"}}),
            "overlays/x.yaml:6:7: tuning has no version: say version in componentRefs or "
            "helm.defaultVersion in the registry");
  EXPECT_EQ(error_of({{"x", any + "{name: tuning, type: Kustomize}\n"}}),
            "overlays/x.yaml:6:7: tuning has neither a source nor a path: say one in componentRefs "
            "or as kustomize.defaultSource in the registry");
  EXPECT_NE(error_of({{"x", any + "{name: driver, dependencyRefs: [monitor]}\n"}})
                .find("depends on \"monitor\", which is not in this recipe"),
            std::string::npos);
  EXPECT_EQ(error_of({{"x", any + "{name: operator, dependencyRefs: [driver]}\n"}}),
            "components depend on each other in a circle: driver -> operator -> driver");
}

TEST(Resolve, RefusesAnUnknownWordWithTheKnownOnes) {
  EXPECT_EQ(error_of({}, {.service = "esk"}), "unknown service \"esk\"; did you mean \"eks\"?");
}

TEST(Resolve, NeverLetsNamesDecideBetweenEquallySpecificOverlays) {
  auto monitor = [](std::string criteria, std::string version, std::string base = "") {
    return (base.empty() ? "" : "  base: " + base + "\n") + "  criteria: {" + criteria +
           "}\n  componentRefs: [{name: monitor, version: " + version + "}]\n";
  };
  Criteria both{.service = "eks", .os = "ubuntu"};
  EXPECT_NE(
      error_of({{"a", monitor("service: eks", "v1")}, {"b", monitor("os: ubuntu", "v2")}}, both)
          .find("the overlays a and b are equally specific and disagree"),
      std::string::npos);
  EXPECT_EQ(
      error_of({{"a", monitor("service: eks", "v1")}, {"b", monitor("os: ubuntu", "v1")}}, both),
      "");
  EXPECT_EQ(
      error_of({{"a", monitor("service: eks", "v1")}, {"b", monitor("os: ubuntu", "v2", "a")}},
               both),
      "")
      << "one is the base of the other";
  EXPECT_EQ(error_of({{"a", monitor("service: eks", "v1")}, {"b", monitor("os: ubuntu", "v2")}},
                     {.service = "eks"}),
            "")
      << "only one of them applies";
}

TEST(Resolve, WarnsOfACriterionThatChangesNothing) {
  Overlays overlays = {
      {"gke-cos", "  criteria: {service: gke, os: cos}\n"},
      {"h100-gke-cos", "  base: gke-cos\n  criteria: {service: gke, os: cos, accelerator: h100}\n"},
      {"eks", "  criteria: {service: eks}\n"},
  };
  auto warnings = [&](const Criteria& query) {
    return join(resolve(catalogue_with(overlays), query)->warnings, "\n");
  };
  EXPECT_EQ(warnings({}), "");
  EXPECT_EQ(warnings({.service = "eks"}), "");
  EXPECT_EQ(warnings({.service = "gke", .os = "cos"}), "");
  EXPECT_EQ(warnings({.service = "gke"}),
            "no overlay that applies uses service gke: the recipe is the same without it; nearly "
            "matching: gke-cos (needs os cos)");
  EXPECT_EQ(warnings({.service = "gke", .accelerator = "h100", .nodes = 4}),
            "no overlay that applies uses accelerator h100: the recipe is the same without it; "
            "nearly matching: h100-gke-cos (needs os cos)\n"
            "no overlay that applies uses service gke: the recipe is the same without it; nearly "
            "matching: gke-cos (needs os cos), h100-gke-cos (needs os cos)");
}

}  // namespace
}  // namespace lockstep::bundle::resolve_test
