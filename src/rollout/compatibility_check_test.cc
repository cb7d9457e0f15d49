#include "rollout/compatibility_check.h"

#include <gtest/gtest.h>

#include "rollout/compatibility_test_util.h"
#include "rollout/matrix_test_util.h"

namespace lockstep::rollout::compatibility_check_test {
namespace {

// The rules that break, in order.
std::vector<std::string> broken(const VersionTuple& tuple) {
  std::vector<std::string> names;
  for (const auto& finding : check_compatibility(tuple, rules_for_test())) {
    if (finding.verdict == RuleOutcome::broken) names.push_back(finding.rule);
  }
  return names;
}

using Names = std::vector<std::string>;

VersionTuple good() {
  return {.driver = "570.172.08",
          .cuda = "12.8",
          .gpu_operator = "v24.9.0",
          .kubernetes = "1.29.4",
          .openshift = "4.16.23",
          .gpus = {"NVIDIA-H100-80GB-HBM3"},
          .mig = false,
          .minor_compatibility = false};
}

TEST(CompatibilityCheck, WhatFitsHasNoFinding) {
  EXPECT_TRUE(check_compatibility(good(), rules_for_test()).empty());
}

TEST(CompatibilityCheck, TheSeedsOwnCanaryBreaksARule) {
  const Matrix matrix = parse_matrix(seed_matrix, "m").value();
  EXPECT_EQ(broken(tuple_of(matrix, Slot::current)), Names{});
  EXPECT_EQ(broken(tuple_of(matrix, Slot::canary)), Names{"cuda-driver"});
}

TEST(CompatibilityCheck, ADriverMustBeAsNewAsTheToolkitsOwn) {
  struct Row {
    const char* cuda;
    const char* driver;
    bool breaks;
  };
  for (const Row& row : std::vector<Row>{{"12.8", "570.26", false},
                                         {"12.8", "570.25.99", true},
                                         {"12.8.1", "570.26", true},
                                         {"12.8.1", "570.124.06", false},
                                         {"12.8.7", "570.26", false},
                                         {"12.6.3", "560.28.03", false},
                                         {"12.6", "555.42.02", true}}) {
    VersionTuple tuple = good();
    tuple.cuda = row.cuda;
    tuple.driver = row.driver;
    EXPECT_EQ(broken(tuple), row.breaks ? Names{"cuda-driver"} : Names{})
        << row.cuda << " " << row.driver;
  }
}

TEST(CompatibilityCheck, MinorVersionCompatibilityIsAllowedOnlyWhenAskedFor) {
  VersionTuple tuple = good();
  tuple.driver = "535.54.03";
  EXPECT_EQ(broken(tuple), Names{"cuda-driver"});
  tuple.minor_compatibility = true;
  EXPECT_EQ(broken(tuple), Names{});
  tuple.driver = "520.61.05";  // older than the whole major version
  EXPECT_EQ(broken(tuple), Names{"cuda-driver"});
}

TEST(CompatibilityCheck, AnOperatorHasItsRangesOfKubernetesAndOpenShift) {
  VersionTuple tuple = good();
  tuple.kubernetes = "v1.32.1";
  EXPECT_EQ(broken(tuple), Names{"operator-kubernetes"});
  tuple.kubernetes = "1.31.99";
  EXPECT_EQ(broken(tuple), Names{});
  tuple.openshift = "4.18.1";
  EXPECT_EQ(broken(tuple), Names{"operator-openshift"});
  tuple.openshift = "4.11";
  EXPECT_EQ(broken(tuple), Names{"operator-openshift"});
}

TEST(CompatibilityCheck, FloorsCeilingsAndHolesAreByModel) {
  VersionTuple tuple = good();
  tuple.gpus = {"NVIDIA-B200", "H100"};
  tuple.driver = "570.124.06";
  EXPECT_EQ(broken(tuple), Names{"b200-floor"});
  tuple.driver = "570.133.20";
  EXPECT_EQ(broken(tuple), Names{});
  tuple.gpus = {"Tesla-V100-SXM2-32GB"};
  tuple.driver = "590.44.01";
  EXPECT_EQ(broken(tuple), Names{"volta-ceiling"});
  tuple.driver = "589.99";
  EXPECT_EQ(broken(tuple), Names{});
}

TEST(CompatibilityCheck, AHoleIsBetweenItsBounds) {
  VersionTuple tuple = good();
  tuple.cuda = "";
  for (const auto& [driver, breaks] : std::vector<std::pair<std::string, bool>>{
           {"525.60.12", false}, {"525.60.13", true}, {"525.85.12", true}, {"525.105.17", false}}) {
    tuple.driver = driver;
    EXPECT_EQ(broken(tuple), breaks ? Names{"everybodys-hole"} : Names{}) << driver;
  }
}

TEST(CompatibilityCheck, AHoleOfMigIsOneOnlyWithMig) {
  VersionTuple tuple = good();
  tuple.driver = "570.124.06";
  EXPECT_EQ(broken(tuple), Names{});
  tuple.mig = true;
  EXPECT_EQ(broken(tuple), Names{"mig-hole"});
}

TEST(CompatibilityCheck, WhatIsNotKnownIsSaidAndIsNotBroken) {
  VersionTuple tuple = good();
  tuple.cuda = "14.0";
  tuple.gpu_operator = "v99.1.0";
  tuple.gpus = {};
  const auto findings = check_compatibility(tuple, rules_for_test());
  EXPECT_FALSE(is_broken(findings));
  Names rules;
  for (const auto& finding : findings) rules.push_back(finding.rule);
  EXPECT_EQ(rules, (Names{"cuda-driver", "operator-kubernetes", "gpu-models"}));
}

TEST(CompatibilityCheck, WhatIsNoVersionIsBroken) {
  VersionTuple tuple = good();
  tuple.driver = "latest";
  EXPECT_EQ(broken(tuple), Names{"version"});
}

TEST(CompatibilityCheck, AFindingNamesItsSource) {
  VersionTuple tuple = good();
  tuple.driver = "565.57.01";
  const auto findings = check_compatibility(tuple, rules_for_test());
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].source, "https://notes");
  EXPECT_NE(findings[0].message.find("570.26"), std::string::npos);
}

TEST(CompatibilityCheck, TheCanaryRunsWhatItDoesNotSayAsTheFleetDoes) {
  const Matrix matrix = parse_matrix(
                            "versions:\n  current: {driver: \"570.26\", cuda: \"12.8\"}\n"
                            "  canary: {driver: \"560.28.03\"}\n",
                            "m")
                            .value();
  EXPECT_EQ(broken(tuple_of(matrix, Slot::canary)), Names{"cuda-driver"});
}

TEST(CompatibilityCheck, AModelIsWordsOfTheProductsName) {
  EXPECT_TRUE(is_model("NVIDIA-H100-80GB-HBM3", "H100"));
  EXPECT_TRUE(is_model("NVIDIA RTX PRO 6000 Blackwell", "rtx-pro-6000"));
  EXPECT_FALSE(is_model("NVIDIA-GH200-480GB", "H200"));
  EXPECT_FALSE(is_model("NVIDIA-A40", "P40"));
  EXPECT_FALSE(is_model("NVIDIA", ""));
}

}  // namespace
}  // namespace lockstep::rollout::compatibility_check_test
