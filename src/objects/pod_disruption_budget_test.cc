#include "objects/pod_disruption_budget.h"

#include <gtest/gtest.h>

#include "objects/decode_test_util.h"

namespace lockstep::pod_disruption_budget_test {
namespace {

TEST(PodDisruptionBudget, KeepsSpecAndStatus) {
  PodDisruptionBudget budget =
      decoded<PodDisruptionBudget>(R"({"metadata":{"name":"a","namespace":"n"},
    "spec":{"selector":{"matchLabels":{"app":"web"}},"maxUnavailable":1,
      "unhealthyPodEvictionPolicy":"AlwaysAllow"},
    "status":{"disruptionsAllowed":1,"currentHealthy":3,"desiredHealthy":2,"expectedPods":4,
      "observedGeneration":5}})");
  EXPECT_TRUE(budget.selector.matches(StringMap{{"app", "web"}}));
  EXPECT_EQ(budget.max_unavailable, IntOrPercent::count(1));
  EXPECT_EQ(budget.min_available, std::nullopt);
  EXPECT_EQ(budget.unhealthy_pod_eviction, "AlwaysAllow");
  EXPECT_EQ(budget.disruptions_allowed, 1);
  EXPECT_EQ(budget.current_healthy, 3);
  EXPECT_EQ(budget.desired_healthy, 2);
  EXPECT_EQ(budget.expected_pods, 4);
  EXPECT_EQ(budget.observed_generation, 5);
}

TEST(PodDisruptionBudget, AnEmptySelectorIsEveryPodAndNoneIsNoPod) {
  auto budget = [](std::string_view spec) {
    return decoded<PodDisruptionBudget>(R"({"metadata":{"name":"a"},"spec":)" + std::string(spec) +
                                        "}");
  };
  EXPECT_TRUE(budget(R"({"selector":{},"minAvailable":"50%"})").selector.matches(StringMap{}));
  EXPECT_EQ(budget(R"({"minAvailable":"50%"})").min_available, IntOrPercent::percentage(50));
  EXPECT_FALSE(budget(R"({"selector":null})").selector.matches(StringMap{}));
  EXPECT_FALSE(budget("{}").selector.matches(StringMap{}));
}

}  // namespace
}  // namespace lockstep::pod_disruption_budget_test
