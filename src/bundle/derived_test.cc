#include "bundle/derived.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "data/json_arbitrary.h"

namespace lockstep::bundle::derived_test {
namespace {

constexpr auto chart_key = "aicr.nvidia.com/gpu-operator-chart-version";

DerivedRule follows_version() {
  DerivedRule rule;
  rule.name = "dra-follows-gpu-operator";
  rule.from_component = "gpu-operator";
  rule.to_component = "dra";
  rule.to_paths = {{"controller", "podAnnotations", chart_key},
                   {"kubeletPlugin", "podAnnotations", chart_key}};
  rule.when = {"gpu-operator", "dra"};
  return rule;
}

DerivedRule follows_driver() {
  DerivedRule rule;
  rule.name = "dra-follows-driver";
  rule.from_component = "gpu-operator";
  rule.source = DerivedSource::value;
  rule.from_value = {"driver", "version"};
  rule.optional = true;
  rule.to_component = "dra";
  rule.to_paths = {{"kubeletPlugin", "podAnnotations", "driver"}};
  return rule;
}

ResolvedRecipe recipe_of(const std::vector<std::string>& components,
                         const std::string& version = "v25.10.1") {
  ResolvedRecipe recipe;
  for (const std::string& name : components) {
    ComponentRef& component = recipe.components.emplace_back();
    component.name = name;
    component.version = name == "gpu-operator" ? version : "v1";
    component.ns = name + "-system";
  }
  return recipe;
}

JsonObject object_of(std::string_view text) { return parse_json(text)->get_object(); }

struct Applied {
  std::string values;  // of "dra", or the error
  std::vector<std::string> warnings;
};

Applied apply(const std::vector<DerivedRule>& rules, const ResolvedRecipe& recipe,
              std::string_view dra_values = "{}", std::string_view operator_values = "{}",
              const std::set<std::string>& without = {}) {
  ValuesMap values;
  for (const ComponentRef& component : recipe.components) values[component.name] = {};
  if (values.count("dra") > 0) values["dra"] = object_of(dra_values);
  if (values.count("gpu-operator") > 0) values["gpu-operator"] = object_of(operator_values);
  auto applied = apply_derived(rules, recipe, values, without);
  if (!applied) return {applied.error().text(), {}};
  EXPECT_EQ(values.size(), recipe.components.size());
  return {values.count("dra") > 0 ? print_json(values["dra"]) : "no dra", *applied};
}

TEST(Derived, TheVersionIsWrittenByteForByteAtEveryPath) {
  Applied applied = apply({follows_version()}, recipe_of({"dra", "gpu-operator"}));
  EXPECT_EQ(
      applied.values,
      R"({"controller":{"podAnnotations":{"aicr.nvidia.com/gpu-operator-chart-version":"v25.10.1"}},)"
      R"("kubeletPlugin":{"podAnnotations":{"aicr.nvidia.com/gpu-operator-chart-version":"v25.10.1"}}})");
  EXPECT_TRUE(applied.warnings.empty());
  EXPECT_NE(apply({follows_version()}, recipe_of({"dra", "gpu-operator"}, "25.10"))
                .values.find(R"(:"25.10")"),
            std::string::npos);
}

TEST(Derived, OtherKeysAreKeptAndNullsBecomeMaps) {
  EXPECT_EQ(apply({follows_driver()}, recipe_of({"dra", "gpu-operator"}),
                  R"({"x":1,"kubeletPlugin":{"y":2,"podAnnotations":null}})",
                  R"({"driver":{"version":"580"}})")
                .values,
            R"({"x":1,"kubeletPlugin":{"y":2,"podAnnotations":{"driver":"580"}}})");
}

TEST(Derived, UnlessBothAreEnabledNothingHappensAndNothingIsSaid) {
  DerivedRule without_when = follows_version();
  without_when.when.clear();
  for (const auto& components : std::vector<std::vector<std::string>>{
           {"dra", "other"}, {"gpu-operator", "other"}, {"other"}}) {
    Applied applied =
        apply({follows_version(), without_when, follows_driver()}, recipe_of(components, ""));
    EXPECT_TRUE(applied.values == "{}" || applied.values == "no dra") << applied.values;
    EXPECT_TRUE(applied.warnings.empty());
  }
}

TEST(Derived, EveryComponentOfWhenMustBeEnabled) {
  DerivedRule rule = follows_version();
  rule.when = {"third"};
  EXPECT_EQ(apply({rule}, recipe_of({"dra", "gpu-operator"})).values, "{}");
  EXPECT_NE(apply({rule}, recipe_of({"dra", "gpu-operator", "third"})).values, "{}");
}

TEST(Derived, AnEmptyVersionIsAWarningAndWritesNothing) {
  Applied applied = apply({follows_version()}, recipe_of({"dra", "gpu-operator"}, ""));
  EXPECT_EQ(applied.values, "{}");
  ASSERT_EQ(applied.warnings.size(), 1U);
  EXPECT_TRUE(applied.warnings[0].starts_with(
      "derived value dra-follows-gpu-operator: the version of gpu-operator is empty"))
      << applied.warnings[0];
}

TEST(Derived, AnEmptyValueOfAnOptionalRuleIsSilent) {
  Applied applied = apply({follows_driver()}, recipe_of({"dra", "gpu-operator"}));
  EXPECT_EQ(applied.values, "{}");
  EXPECT_TRUE(applied.warnings.empty());
  DerivedRule rule = follows_driver();
  rule.optional = false;
  applied =
      apply({rule}, recipe_of({"dra", "gpu-operator"}), "{}", R"({"driver":{"version":null}})");
  ASSERT_EQ(applied.warnings.size(), 1U);
  EXPECT_NE(applied.warnings[0].find("driver.version of gpu-operator is empty"), std::string::npos);
}

TEST(Derived, ANamespaceCanBeFollowed) {
  DerivedRule rule = follows_version();
  rule.source = DerivedSource::ns;
  rule.to_paths = {{"operatorNamespace"}};
  EXPECT_EQ(apply({rule}, recipe_of({"dra", "gpu-operator"})).values,
            R"({"operatorNamespace":"gpu-operator-system"})");
}

TEST(Derived, ANumberIsWrittenAsText) {
  EXPECT_EQ(apply({follows_driver()}, recipe_of({"dra", "gpu-operator"}), "{}",
                  R"({"driver":{"version":580}})")
                .values,
            R"({"kubeletPlugin":{"podAnnotations":{"driver":"580"}}})");
}

TEST(Derived, AMapCannotBeFollowed) {
  EXPECT_EQ(
      apply({follows_driver()}, recipe_of({"dra", "gpu-operator"}), "{}",
            R"({"driver":{"version":{"major":1}}})")
          .values,
      "derived value dra-follows-driver: driver.version of gpu-operator must be text, for dra "
      "follows it, and is {\"major\":1}");
}

TEST(Derived, WhatAUserSetIsOverridden) {
  EXPECT_EQ(apply({follows_driver()}, recipe_of({"dra", "gpu-operator"}),
                  R"({"kubeletPlugin":{"podAnnotations":{"driver":"mine"}}})",
                  R"({"driver":{"version":"580"}})")
                .values,
            R"({"kubeletPlugin":{"podAnnotations":{"driver":"580"}}})");
}

TEST(Derived, AScalarOnTheWayIsRefused) {
  EXPECT_EQ(apply({follows_version()}, recipe_of({"dra", "gpu-operator"}), R"({"controller":"no"})")
                .values,
            "derived value dra-follows-gpu-operator: values of dra: "
            "controller.podAnnotations.aicr\\.nvidia\\.com/gpu-operator-chart-version leads "
            "through a value that is not a map: controller is \"no\"");
}

TEST(Derived, ARuleIsLeftOutOnPurpose) {
  std::vector<DerivedRule> rules = {follows_version(), follows_driver()};
  ResolvedRecipe recipe = recipe_of({"dra", "gpu-operator"});
  std::string driver = R"({"driver":{"version":"580"}})";
  EXPECT_EQ(apply(rules, recipe, "{}", driver, {"dra-follows-gpu-operator"}).values,
            R"({"kubeletPlugin":{"podAnnotations":{"driver":"580"}}})");
  EXPECT_EQ(apply(rules, recipe, "{}", driver, {"all"}).values, "{}");
}

TEST(Derived, AnUnknownNameToLeaveOutIsRefused) {
  EXPECT_EQ(
      apply({follows_version(), follows_driver()}, recipe_of({"dra"}), "{}", "{}", {"dra"}).values,
      "--no-derived dra: no derived value \"dra\"; there are all, dra-follows-driver, "
      "dra-follows-gpu-operator");
}

TEST(Derived, WhatDisagreesIsADeviation) {
  ResolvedRecipe recipe = recipe_of({"dra", "gpu-operator"});
  ValuesMap values;
  values["dra"] = object_of(
      R"({"controller":{"podAnnotations":{"aicr.nvidia.com/gpu-operator-chart-version":"v25.3"}}})");
  auto found = deviations({follows_version()}, recipe, values);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].rule, "dra-follows-gpu-operator");
  EXPECT_EQ(found[0].component, "dra");
  EXPECT_EQ(found[0].path, follows_version().to_paths[0]);
  EXPECT_EQ(found[0].expected, "v25.10.1");
  EXPECT_EQ(found[0].found, Json("v25.3"));
  EXPECT_EQ(
      found[0].text(),
      "values of dra: "
      "controller.podAnnotations.aicr\\.nvidia\\.com/gpu-operator-chart-version is \"v25.3\", "
      "and must be \"v25.10.1\" (derived value dra-follows-gpu-operator)");
  EXPECT_EQ(found[1].found, std::nullopt);
  EXPECT_NE(found[1].text().find("is missing, and must be"), std::string::npos);
}

TEST(Derived, ANumberInPlaceOfTextIsADeviation) {
  ValuesMap values;
  values["gpu-operator"] = object_of(R"({"driver":{"version":"580"}})");
  values["dra"] = object_of(R"({"kubeletPlugin":{"podAnnotations":{"driver":580}}})");
  EXPECT_EQ(deviations({follows_driver()}, recipe_of({"dra", "gpu-operator"}), values).size(), 1U);
}

TEST(Derived, WhatNoRuleWouldWriteIsNoDeviation) {
  ValuesMap values;
  values["dra"] = object_of(R"({"kubeletPlugin":{"podAnnotations":{"driver":"x"}}})");
  std::vector<DerivedRule> rules = {follows_version(), follows_driver()};
  EXPECT_TRUE(deviations(rules, recipe_of({"dra"}), values).empty());
  EXPECT_TRUE(deviations(rules, recipe_of({"dra", "gpu-operator"}, ""), values).empty());
}

TEST(Derived, WhatIsWrittenByHandIsFoundRightOrWrong) {
  JsonObject values = object_of(
      R"({"controller":{"podAnnotations":{"aicr.nvidia.com/gpu-operator-chart-version":"v1"}},)"
      R"("kubeletPlugin":{"podAnnotations":{"driver":null}}})");
  auto found = hand_written({follows_version(), follows_driver()}, "dra", values);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].rule, "dra-follows-gpu-operator");
  EXPECT_EQ(found[0].path, follows_version().to_paths[0]);
  EXPECT_EQ(found[0].found, Json("v1"));
  EXPECT_EQ(found[1].rule, "dra-follows-driver");
  EXPECT_TRUE(found[1].found.is_null());
  EXPECT_TRUE(hand_written({follows_version()}, "gpu-operator", values).empty());
  EXPECT_TRUE(hand_written({follows_version()}, "dra", {}).empty());
}

// Values of a component, some of them right in the way of the rules.
JsonObject any_values() {
  JsonObject values;
  for (std::string_view key : {"controller", "kubeletPlugin", "driver"}) {
    JsonObject inner;
    inner["podAnnotations"] = *rc::gen::element<std::string>("{}", "{\"driver\":1}", "null");
    inner["podAnnotations"] = *parse_json(as_text(&inner["podAnnotations"]));
    inner["version"] = *arbitrary_scalar();
    if (*rc::gen::arbitrary<bool>()) values[key] = std::move(inner);
  }
  return values;
}

TEST(OverriddenDerivedValue, IsReplacedWithAWarningThatNamesIt) {
  const std::string mine = R"({"kubeletPlugin":{"podAnnotations":{"driver":"mine"}}})";
  const std::string driver = R"({"driver":{"version":"580"}})";
  Applied replaced = apply({follows_driver()}, recipe_of({"gpu-operator", "dra"}), mine, driver);
  EXPECT_EQ(replaced.values, R"({"kubeletPlugin":{"podAnnotations":{"driver":"580"}}})");
  ASSERT_EQ(replaced.warnings.size(), 1U);
  EXPECT_NE(replaced.warnings[0].find(
                "kubeletPlugin.podAnnotations.driver of dra is set to \"mine\", and \"580\" "
                "replaces it; to keep yours: --no-derived dra-follows-driver"),
            std::string::npos)
      << replaced.warnings[0];
  // The same value is not a change.
  EXPECT_TRUE(apply({follows_driver()}, recipe_of({"gpu-operator", "dra"}), replaced.values, driver)
                  .warnings.empty());
}

RC_GTEST_PROP(Derived, TwiceIsOnceAndLeavesNoDeviation, ()) {
  std::vector<DerivedRule> rules = {follows_version(), follows_driver()};
  ResolvedRecipe recipe =
      recipe_of({"dra", "gpu-operator"}, *rc::gen::element<std::string>("", "v1"));
  ValuesMap values{{"dra", any_values()}, {"gpu-operator", any_values()}};
  auto first = apply_derived(rules, recipe, values, {});
  RC_ASSERT(first.has_value());
  ValuesMap once = values;
  auto second = apply_derived(rules, recipe, values, {});
  RC_ASSERT(second.has_value());
  // What the first replaced is not there any more.
  RC_ASSERT(std::all_of(second->begin(), second->end(), [&](const std::string& warning) {
    return std::find(first->begin(), first->end(), warning) != first->end();
  }));
  RC_ASSERT(values == once);
  RC_ASSERT(deviations(rules, recipe, values).empty());
}

TEST(Derived, AValueThatIsSwitchedOffIsNotFollowedAndNothingIsSaid) {
  DerivedRule rule = follows_driver();
  rule.not_if_false = {"driver", "enabled"};
  ResolvedRecipe recipe = recipe_of({"gpu-operator", "dra"});
  Applied off = apply({rule}, recipe, "{}", R"({"driver":{"enabled":false,"version":"580"}})");
  EXPECT_EQ(off.values, "{}");
  EXPECT_TRUE(off.warnings.empty());
  const std::string followed = R"({"kubeletPlugin":{"podAnnotations":{"driver":"580"}}})";
  EXPECT_EQ(apply({rule}, recipe, "{}", R"({"driver":{"version":"580"}})").values, followed);
  rule.only_if_set = {"policy"};
  EXPECT_EQ(apply({rule}, recipe, "{}", R"({"driver":{"version":"580"}})").values, "{}");
  EXPECT_EQ(apply({rule}, recipe, "{}", R"({"driver":{"version":"580"},"policy":{}})").values,
            followed);
}

}  // namespace
}  // namespace lockstep::bundle::derived_test
