#include "rollout/forward_node.h"

#include <gtest/gtest.h>

#include "rollout/forward_test_util.h"

namespace lockstep::rollout::forward_node_test {
namespace {

TEST(Plan, ANodeInProgressTakesOnlyWhatIsLeft) {
  ForwardFleetTest fleet(2);
  fleet.policy().max_parallel = 1;
  fleet.set_state(2, fleet::State::pod_restart, minutes(3));
  Plan plan = fleet.plan();
  EXPECT_EQ(ForwardFleetTest::names(plan), (std::vector<std::string>{"gpu-2", "gpu-1"}));
  EXPECT_EQ(plan.nodes[0].end, minutes(2));
  EXPECT_EQ(plan.nodes[1].start, minutes(2));
}

TEST(PlanOfFailures, APodThatMayNotBeEvictedFailsItsNodeAndCounts) {
  ForwardFleetTest fleet(4);
  fleet.policy().max_parallel = 1;
  fleet.policy().max_failures = IntOrPercent::count(1);
  for (int i = 1; i <= 4; ++i) fleet.add_gpu_pod(i, fmt::format("serve-{}", i));
  fleet.add_bare_pod(2, "notebook");
  fleet.take_pod(2, "serve-2");
  Plan plan = fleet.plan();
  const PlannedNode& blocked = fleet.node_of(plan, 2);
  EXPECT_EQ(blocked.outcome, PlannedEnd::failed);
  EXPECT_EQ(blocked.reason.name, "ProtectedPods");
  ASSERT_EQ(blocked.blocked.size(), 1u);
  EXPECT_NE(blocked.blocked[0].find("podDeletion.force"), std::string::npos);
  EXPECT_EQ(fleet.node_of(plan, 1).outcome, PlannedEnd::done);
  EXPECT_EQ(fleet.node_of(plan, 3).reason.name, "FailureBudget");
  EXPECT_EQ(fleet.node_of(plan, 4).reason.name, "FailureBudget");
}

TEST(PlanOfFailures, ANodeWithoutAValidatorFailsAfterTheDeadline) {
  ForwardFleetTest fleet(1);
  fleet.snapshot.nodes[0].view.validators.clear();
  Plan plan = fleet.plan();
  EXPECT_EQ(plan.nodes[0].outcome, PlannedEnd::failed);
  EXPECT_EQ(plan.nodes[0].reason.name, "NoValidatorPod");
  EXPECT_EQ(plan.nodes[0].end, minutes(10));
}

TEST(PlanOfBudgets, APodThatIsNeverAllowedToGoFailsItsNodeAndNamesTheBudget) {
  ForwardFleetTest fleet(1);
  fleet.add_gpu_pod(1, "web");
  fleet.add_budget("ml", 0);
  Plan plan = fleet.plan();
  EXPECT_EQ(plan.nodes[0].reason.name, "BlockedByDisruptionBudget");
  EXPECT_EQ(plan.nodes[0].end, seconds(300)) << "podDeletion.timeoutSeconds";
  ASSERT_EQ(plan.nodes[0].blocked.size(), 1u);
  EXPECT_NE(plan.nodes[0].blocked[0].find("ml/web is blocked by PodDisruptionBudget"),
            std::string::npos);
  // Without a time limit the node never ends, but the plan does.
  fleet.policy().pod_deletion.timeout = Duration::zero();
  plan = fleet.plan();
  EXPECT_EQ(plan.nodes[0].outcome, PlannedEnd::stuck);
  EXPECT_EQ(plan.nodes[0].reason.name, "BlockedByDisruptionBudget");
}

TEST(PlanOfBudgets, PodsGoOneAfterAnotherWhenABudgetAllowsOne) {
  ForwardFleetTest fleet(1);
  fleet.add_gpu_pod(1, "web-1");
  fleet.add_gpu_pod(1, "web-2");
  fleet.add_budget("ml", 1);
  Plan plan = fleet.plan();
  EXPECT_EQ(plan.nodes[0].outcome, PlannedEnd::done);
  EXPECT_EQ(plan.nodes[0].moved.size(), 2u);
  EXPECT_TRUE(plan.nodes[0].blocked.empty());
  EXPECT_EQ(plan.nodes[0].end, minutes(6)) << "a minute until the first runs elsewhere";
}

TEST(PlanOfJobs, AreWaitedForUpToTheLimit) {
  ForwardFleetTest fleet(1);
  fleet.add_gpu_pod(1, "train", "Job");
  fleet.policy().wait.pods = LabelSelector{};
  fleet.policy().wait.timeout = minutes(20);
  Plan plan = fleet.plan();
  EXPECT_EQ(plan.nodes[0].waited, (std::vector<std::string>{"ml/train"}));
  EXPECT_EQ(plan.nodes[0].end, minutes(25));
  EXPECT_EQ(plan.nodes[0].moved.size(), 1u);
  // Without a limit the time is not known.
  fleet.policy().wait.timeout = Duration::zero();
  plan = fleet.plan();
  EXPECT_TRUE(plan.nodes[0].waits_unlimited);
  EXPECT_EQ(plan.nodes[0].end, minutes(5));
  EXPECT_TRUE(plan.nodes[0].moved.empty());
}

TEST(PlanOfADriver, ThatFailsAlreadyIsNotAssumedToComeUp) {
  ForwardFleetTest fleet(2);
  fleet.policy().max_parallel = 1;
  fleet.run_revision(1, "new");
  fleet.set_state(1, fleet::State::pod_restart, minutes(1));
  auto& driver = fleet.node(1).view.driver.pod;
  driver = upgrade::share(upgrade::waiting_in(*driver, "ImagePullBackOff"));
  Plan plan = fleet.plan();
  EXPECT_EQ(fleet.node_of(plan, 1).reason.name, "DriverImageUnavailable");
  EXPECT_EQ(fleet.node_of(plan, 2).reason.name, "FailureBudget");
  // One that is only starting is.
  driver = upgrade::share(upgrade::waiting_in(*driver, "ContainerCreating"));
  plan = fleet.plan();
  EXPECT_EQ(fleet.node_of(plan, 1).outcome, PlannedEnd::done);
}

}  // namespace
}  // namespace lockstep::rollout::forward_node_test
