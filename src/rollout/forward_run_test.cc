#include "rollout/forward_run.h"

#include <gtest/gtest.h>

#include "rollout/forward_test_util.h"

namespace lockstep::rollout::forward_run_test {
namespace {

using Minutes = std::vector<int64_t>;

TEST(Plan, NodesStartAsTheLimitsAllow) {
  ForwardFleetTest fleet(5);
  fleet.policy().max_parallel = 2;
  EXPECT_EQ(fleet.starts(), (Minutes{0, 0, 5, 5, 10}));
  Plan plan = fleet.plan();
  EXPECT_EQ(plan.duration, minutes(15));
  EXPECT_EQ(plan.most_at_once, 2);
  for (const PlannedNode& node : plan.nodes) EXPECT_EQ(node.outcome, PlannedEnd::done);
}

TEST(Plan, NodesWithFewerGpuPodsGoFirstAndTheirPodsAreNamed) {
  ForwardFleetTest fleet(3);
  fleet.policy().max_parallel = 1;
  fleet.add_gpu_pod(1, "train", "Job");
  fleet.add_gpu_pod(1, "train-2", "Job");
  fleet.add_gpu_pod(2, "serve");
  Plan plan = fleet.plan();
  EXPECT_EQ(ForwardFleetTest::names(plan), (std::vector<std::string>{"gpu-3", "gpu-2", "gpu-1"}));
  EXPECT_EQ(plan.nodes[2].moved, (std::vector<std::string>{"ml/train", "ml/train-2"}));
  EXPECT_EQ(plan.nodes[2].jobs, 1);
}

TEST(PlanOfGroups, GroupsStartWholeOrNotAtAll) {
  ForwardFleetTest fleet(7, "groups: {by: rack}\nwaves: [{name: all, nodes: {rest: true}}]");
  fleet.policy().max_parallel = 3;
  fleet.policy().max_unavailable = IntOrPercent::count(3);
  for (int i : {1, 2}) fleet.label(i, "rack", "a");
  for (int i : {3, 4}) fleet.label(i, "rack", "b");
  Plan plan = fleet.plan();
  EXPECT_EQ(fleet.start_of(plan, 1), fleet.start_of(plan, 2));
  EXPECT_EQ(fleet.start_of(plan, 3), fleet.start_of(plan, 4));
  EXPECT_EQ(fleet.start_of(plan, 3), 5) << "one slot is free before, and the group needs two";
  EXPECT_EQ(plan.rollouts[0].end_phase, Phase::complete);
  // And one that never fits does not start in part.
  for (int i : {5, 6, 7, 4}) fleet.label(i, "rack", "c");
  plan = fleet.plan();
  for (int i : {4, 5, 6, 7}) {
    EXPECT_EQ(fleet.start_of(plan, i), -1);
    EXPECT_EQ(fleet.node_of(plan, i).reason.name, "GroupTooLarge");
  }
  EXPECT_EQ(plan.rollouts[0].end_phase, Phase::upgrading);
  EXPECT_EQ(plan.rollouts[0].end.name, "GroupTooLarge");
}

TEST(PlanOfFailures, StopsWhereTheControllerStops) {
  ForwardFleetTest fleet(5);
  fleet.policy().max_parallel = 1;
  fleet.policy().max_failures = IntOrPercent::count(1);
  fleet.fail(4);
  Plan plan = fleet.plan();
  EXPECT_EQ(plan.failed, (std::vector<std::string>{"gpu-4"}));
  ASSERT_EQ(plan.nodes.size(), 4u);
  for (const PlannedNode& node : plan.nodes) {
    EXPECT_EQ(node.outcome, PlannedEnd::not_started);
    EXPECT_EQ(node.reason.name, "FailureBudget");
  }
}

// As decide() and decide_rollout() name them; the rest is as if it were solved.
TEST(PlanOfRefusals, AreNamedAsTheDecisionsNameThem) {
  ForwardFleetTest fleet(2);
  fleet.policy().auto_upgrade = false;
  fleet.policy().paused = "launch on Friday";
  fleet.snapshot.pools[""].frozen =
      Reason{Reason::conflicting_controller, "NVIDIA's GPU Operator runs", "set it"};
  Plan plan = fleet.plan();
  std::vector<std::string> names;
  for (const Reason& reason : plan.refused) names.push_back(reason.name.str());
  EXPECT_EQ(names, (std::vector<std::string>{"ConflictingController", "AutoUpgradeOff", "Paused"}));
  EXPECT_EQ(fleet.node_of(plan, 2).outcome, PlannedEnd::done);
}

TEST(PlanOfRefusals, OfAFleetThatNeedsNothingAreNotNamed) {
  ForwardFleetTest fleet(2);
  fleet.policy().auto_upgrade = false;
  fleet.set_newest("old");
  Plan plan = fleet.plan();
  EXPECT_TRUE(plan.refused.empty());
  EXPECT_TRUE(plan.nodes.empty());
}

TEST(Plan, OfTenThousandNodes) {
  ForwardFleetTest fleet(10000, R"(
waves:
  - {name: canary, nodes: {percent: 1}, gates: [driver]}
  - {name: tenth, nodes: {percent: 10}}
  - {name: rest, nodes: {rest: true}})");
  fleet.policy().max_parallel = 0;
  fleet.policy().max_unavailable = IntOrPercent::percentage(1);
  Plan plan = fleet.plan();
  EXPECT_EQ(plan.nodes.size(), 10000u);
  EXPECT_EQ(plan.most_at_once, 100);
  EXPECT_EQ(plan.rollouts[0].end_phase, Phase::complete);
  EXPECT_EQ(plan.duration, minutes(5 * 100 + 5));
}

}  // namespace
}  // namespace lockstep::rollout::forward_run_test
