#include "bundle/rules.h"

#include <gtest/gtest.h>

#include "bundle/bundle_test_util.h"

namespace lockstep::bundle::rules_test {
namespace {

const char* const derived_text =
    "- name: follows\n  from: {component: operator, field: version}\n"
    "  to: {component: driver, paths: [[podAnnotations, v]]}\n  when: [operator, driver]\n"
    "- name: of-nobody\n  from: {component: elsewhere, field: version}\n"
    "  to: {component: driver, paths: [[podAnnotations, w]]}\n";

TEST(Rules, AFileThatIsNotThereSaysNothing) {
  auto rules = read_rules(catalogue_of(small_files()));
  ASSERT_TRUE(rules.has_value()) << rules.error().text();
  EXPECT_TRUE(rules->derived.empty());
  EXPECT_TRUE(rules->releases.empty());
  EXPECT_TRUE(rules->hooks.empty());
}

TEST(Rules, OfTwoRulesOfOneNameThatOfTheUpperLayerCountsAndTheOthersStay) {
  auto rule = [](const std::string& name, const std::string& key) {
    return "- name: " + name + "\n  from: {component: operator, field: version}\n" +
           "  to: {component: driver, paths: [[podAnnotations, " + key + "]]}\n";
  };
  auto catalogue = Catalogue::read(
      {{"ours", with(small_files(), {{"derived.yaml", rule("a", "x") + rule("b", "y")},
                                     {"releases.yaml", "- {component: driver, timeout: 15m}\n"}})},
       {"theirs",
        {{"derived.yaml", rule("b", "z") + rule("c", "w")},
         {"releases.yaml", "- {component: operator, timeout: 1m}\n"}}}});
  ASSERT_TRUE(catalogue.has_value()) << catalogue.error().text();
  auto rules = read_rules(*catalogue);
  ASSERT_TRUE(rules.has_value()) << rules.error().text();
  std::vector<std::string> seen;
  for (const DerivedRule& one : rules->derived) seen.push_back(one.name + one.to_paths[0][1]);
  EXPECT_EQ(seen, (std::vector<std::string>{"ax", "bz", "cw"}));
  EXPECT_EQ(rules->releases.size(), 2U);
}

TEST(Rules, BesideItsRegistryAnUnknownComponentIsAnError) {
  auto rules = read_rules(catalogue_of(with(small_files(), {{"derived.yaml", derived_text}})));
  ASSERT_FALSE(rules.has_value());
  EXPECT_NE(rules.error().text().find("elsewhere"), std::string::npos) << rules.error().text();
}

TEST(Rules, OverSomebodyElsesRegistryTheyMaySpeakOfComponentsItLacks) {
  auto catalogue =
      Catalogue::read({{"rules", {{"derived.yaml", derived_text}}}, {"theirs", small_files()}});
  ASSERT_TRUE(catalogue.has_value()) << catalogue.error().text();
  auto rules = read_rules(*catalogue);
  ASSERT_TRUE(rules.has_value()) << rules.error().text();
  ASSERT_EQ(rules->derived.size(), 2U);
  EXPECT_EQ(rules->derived[1].from_component, "elsewhere");
}

}  // namespace
}  // namespace lockstep::bundle::rules_test
