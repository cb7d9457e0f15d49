#include "bundle/component_checks.h"

#include <gtest/gtest.h>

#include "bundle/bundle_test_util.h"

namespace lockstep::bundle::component_checks_test {
namespace {

// A registry with one component that has checks, and a recipe that may have it.
std::string findings_of(const std::string& checks, const SchedulingFlags& flags,
                        const Criteria& criteria = {.intent = "training"},
                        const std::string& enabled = "tuner") {
  Catalogue catalogue = catalogue_of(small_files());
  auto added = catalogue.registry.add(*YamlFile::parse(
      "more.yaml", "kind: ComponentRegistry\ncomponents:\n  - name: tuner\n    validations: [" +
                       checks + "]\n"));
  if (!added) return added.error().text();
  ResolvedRecipe recipe;
  recipe.criteria = criteria;
  recipe.components.emplace_back().name = enabled;
  auto findings = check_components(catalogue.registry, catalogue.words, recipe, flags);
  if (!findings) return findings.error().text();
  std::string text;
  for (const std::string& warning : findings->warnings) text += "warning: " + warning + "\n";
  for (const std::string& error : findings->errors) text += "error: " + error + "\n";
  return text;
}

constexpr auto workload =
    "{function: CheckWorkloadSelectorMissing, severity: warning, conditions: {intent: [training]}, "
    "message: Jobs may be evicted.}";
constexpr auto accelerated =
    "{function: CheckAcceleratedSelectorMissing, severity: error, conditions: {intent: [inference, "
    "training]}}";

TEST(ComponentChecks, AMissingFlagIsFoundByItsSeverity) {
  EXPECT_EQ(findings_of(workload, {}),
            "warning: tuner is deployed and --workload-selector was not given: Jobs may be "
            "evicted.\n");
  EXPECT_EQ(findings_of(accelerated, {}),
            "error: tuner is deployed and --accelerated-node-selector was not given\n");
  EXPECT_EQ(findings_of(std::string(accelerated) + ", " + workload, {}),
            findings_of(workload, {}) + findings_of(accelerated, {}));
}

TEST(ComponentChecks, AFlagThatWasGivenIsFine) {
  SchedulingFlags flags;
  flags.workload_selector = {{"a", "b"}};
  EXPECT_EQ(findings_of(workload, flags), "");
  EXPECT_NE(findings_of(accelerated, flags), "");
  flags.accelerated_node_selector = {{"a", "b"}};
  EXPECT_EQ(findings_of(accelerated, flags), "");
}

TEST(ComponentChecks, AConditionIsFulfilledByOneOfItsWords) {
  EXPECT_EQ(findings_of(workload, {}, {.intent = "inference"}), "");
  EXPECT_NE(findings_of(accelerated, {}, {.intent = "inference"}), "");
  EXPECT_EQ(findings_of(accelerated, {}, {}), "") << "any is none of them";
}

TEST(ComponentChecks, EveryConditionMustBeFulfilled) {
  std::string both =
      "{function: CheckWorkloadSelectorMissing, severity: warning, conditions: {intent: "
      "[training], "
      "service: [EKS]}}";
  EXPECT_EQ(findings_of(both, {}), "");
  EXPECT_NE(findings_of(both, {}, {.service = "eks", .intent = "training"}), "");
}

TEST(ComponentChecks, WithoutConditionsOrForAnyTheCheckIsAlwaysMade) {
  EXPECT_NE(findings_of("{function: CheckWorkloadSelectorMissing, severity: warning}", {}, {}), "");
  EXPECT_NE(findings_of("{function: CheckWorkloadSelectorMissing, severity: warning, conditions: "
                        "{intent: [any]}}",
                        {}, {.intent = "training"}),
            "");
}

TEST(ComponentChecks, AComponentThatIsNotDeployedIsNotChecked) {
  EXPECT_EQ(findings_of(workload, {}, {.intent = "training"}, "operator"), "");
}

TEST(ComponentChecks, AnUnknownFunctionIsRefusedWhoeverAsksForIt) {
  std::string error =
      findings_of("{function: CheckWorkload, severity: warning}", {}, {}, "operator");
  EXPECT_EQ(error,
            "more.yaml:3:5: unknown validation function \"CheckWorkload\"; expected one of: "
            "CheckAcceleratedSelectorMissing, CheckWorkloadSelectorMissing");
}

TEST(ComponentChecks, AMisspeltConditionIsRefused) {
  auto with_condition = [](const std::string& condition) {
    return findings_of("{function: CheckWorkloadSelectorMissing, severity: warning, conditions: {" +
                           condition + "}}",
                       {});
  };
  EXPECT_NE(with_condition("intnet: [training]").find("did you mean \"intent\"?"),
            std::string::npos);
  EXPECT_NE(with_condition("intent: [trainig]").find("trainig"), std::string::npos);
}

}  // namespace
}  // namespace lockstep::bundle::component_checks_test
