#include "rollout/compatibility_rules.h"

#include <gtest/gtest.h>

#include "rollout/compatibility_test_util.h"

namespace lockstep::rollout::compatibility_rules_test {
namespace {

TEST(CompatibilityRules, EveryKindIsRead) {
  const Compatibility rules = rules_for_test();
  EXPECT_EQ(rules.toolkits.size(), 3U);
  EXPECT_EQ(rules.majors.at(0).driver.text, "525.60.13");
  EXPECT_EQ(rules.operators.at(0).openshift_to.text, "4.17");
  ASSERT_EQ(rules.drivers.size(), 4U);
  EXPECT_EQ(rules.drivers[0].at_least->text, "570.133.20");
  EXPECT_EQ(rules.drivers[1].below->text, "590");
  EXPECT_EQ(rules.drivers[2].hole_before->text, "525.105.17");
  EXPECT_TRUE(rules.drivers[3].with_mig_only);
}

TEST(CompatibilityRules, WhatIsWrongIsRefused) {
  struct Row {
    const char* from;
    const char* to;
    const char* said;
  };
  for (const Row& row : std::vector<Row>{
           {"atLeast:", "atLaest:", "did you mean \"atLeast\"?"},
           {"source: page}", "source: nowhere}", "source: unknown source \"nowhere\""},
           {", reason: too old", "", "reason: is missing"},
           {"\"12.8.1\"", "latest", "cuda: must be a version such as 580.65.06, not \"latest\""},
           {"\"570.26\"", "570.26", "driver: must be a string, not a number; put it in quotes"},
           {"atLeast: \"570.133.20\", ", "", "needs atLeast, below, notVersions or notBetween"},
           {"operators:", "operator:", "operator: unknown field; did you mean \"operators\"?"},
           {"{from: \"1.24\", to: \"1.31\"}", "{from: \"1.24\"}", "kubernetes.to: is missing"},
           {"models: [B200]", "models: B200", "models: must be a list, not a string"},
           {"sources:", "source:", "source: unknown field; did you mean \"sources\"?"}}) {
    std::string text = some_rules;
    const size_t at = text.find(row.from);
    ASSERT_NE(at, std::string::npos) << row.from;
    text.replace(at, std::string(row.from).size(), row.to);
    const auto rules = read_compatibility(text, "rules");
    ASSERT_FALSE(rules) << row.to;
    EXPECT_NE(rules.error().text().find(row.said), std::string::npos) << rules.error().text();
  }
}

}  // namespace
}  // namespace lockstep::rollout::compatibility_rules_test
