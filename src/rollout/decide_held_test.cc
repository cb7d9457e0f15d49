// A node that failed before its driver was restarted is not evidence against the new driver.
#include <gtest/gtest.h>

#include "rollout/command_rules.h"
#include "rollout/rollout_test_util.h"

namespace lockstep::rollout::decide_held_test {
namespace {

constexpr const char* by_budget =
    "BlockedByDisruptionBudget: 1 pod may not be disrupted now: team-a/train-0 "
    "(PodDisruptionBudget train)";
constexpr const char* by_rules = "ProtectedPods: 1 pod may not be evicted: team-a/notebook";

constexpr const char* two_waves = R"(
  waves:
    - {name: canary, nodes: {count: 2}}
    - {name: rest, nodes: {rest: true}}
)";

bool says(const TestRollout& rollout, std::string_view text) {
  return rollout.view.status.message.find(text) != std::string::npos;
}

TEST(BlockedNodes, HoldTheRolloutAndRollNothingBack) {
  for (const char* on_failure : {"RollBack", "Hold"}) {
    for (const char* failure : {by_budget, by_rules, "EvictionFailed: x", "PodsKeepComing: x",
                                "PodsStuckTerminating: x", "GpuPodsRemain: x", ""}) {
      TestRollout rollout(4, std::string(two_waves) + "  onFailure: " + on_failure + "\n");
      rollout.begin();
      rollout.block_node(1, failure);
      EXPECT_EQ(rollout.settle(), "Held") << failure;
      EXPECT_EQ(rollout.view.status.reason, "NodesBlocked");
      EXPECT_TRUE(rollout.view.status.closed);
      EXPECT_EQ(rollout.reverts, 0);
      EXPECT_TRUE(rollout.view.status.rejected.empty());
      EXPECT_TRUE(says(rollout, "gpu-1")) << rollout.view.status.message;
      EXPECT_TRUE(says(rollout, failure)) << rollout.view.status.message;
      EXPECT_TRUE(says(rollout, "lockstep rollout retry driver")) << rollout.view.status.message;
    }
  }
}

// Whatever else is said of it, it was at or after the restart of the driver.
TEST(BlockedNodes, AnyOtherFailureRollsBack) {
  for (const char* failure :
       {"DriverCrashLoop: x", "DriverStartTimeout: the old driver pod is ending", "GateFailed: x",
        "ValidatorNotReady: x", "BlockedByDisruptionBudgets: x"}) {
    TestRollout rollout(4, two_waves);
    rollout.begin();
    rollout.block_node(1, failure);
    rollout.settle();
    EXPECT_EQ(rollout.reverts, 1) << failure;
    ASSERT_EQ(rollout.view.status.rejected.size(), 1u) << failure;
    EXPECT_EQ(rollout.view.status.rejected[0].reason, "NodesFailed");
  }
}

TEST(BlockedNodes, ContinueWhenTheyAreRetriedOneByOne) {
  TestRollout rollout(4, two_waves);
  rollout.begin();
  rollout.block_node(1, by_budget);
  rollout.block_node(2, by_rules);
  ASSERT_EQ(rollout.settle(), "Held");
  // As `lockstep retry gpu-1` does it: the other one still has to be.
  rollout.node(1).state = fleet::State::required;
  EXPECT_EQ(rollout.settle(), "Held");
  EXPECT_FALSE(says(rollout, "gpu-1")) << rollout.view.status.message;
  EXPECT_TRUE(says(rollout, "gpu-2")) << rollout.view.status.message;
  rollout.node(2).state = fleet::State::required;
  EXPECT_EQ(rollout.settle(), "Upgrading");
  EXPECT_TRUE(rollout.is_open(0));
  rollout.finish(1);
  rollout.finish(2);
  EXPECT_EQ(rollout.settle(), "Upgrading");
  EXPECT_TRUE(rollout.is_open(1));
  for (int i : {3, 4}) rollout.finish(i);
  EXPECT_EQ(rollout.settle(), "Complete");
}

TEST(BlockedNodes, ContinueWhenTheRolloutIsRetried) {
  TestRollout rollout(4, two_waves);
  rollout.begin();
  rollout.block_node(1, by_budget);
  ASSERT_EQ(rollout.settle(), "Held");
  rollout.command("retry");
  EXPECT_EQ(rollout.settle(), "Upgrading");
  EXPECT_EQ(rollout.node(1).state, fleet::State::required);
  EXPECT_EQ(rollout.view.status.waves[0].verdict, Outcome::running);
}

// In whichever order they fail.
TEST(BlockedNodes, BesideOneThatFailedWithTheDriverDoNotKeepItFromRollingBack) {
  for (bool is_blocked_first : {true, false}) {
    TestRollout rollout(4, two_waves);
    rollout.begin();
    is_blocked_first ? rollout.block_node(1, by_budget) : rollout.fail_node(1);
    EXPECT_EQ(rollout.settle(), is_blocked_first ? "Held" : "RollingBack");
    is_blocked_first ? rollout.fail_node(2) : rollout.block_node(2, by_budget);
    rollout.settle();
    EXPECT_EQ(rollout.view.status.rejected.size(), 1u);
    EXPECT_EQ(rollout.reverts, 1);
  }
}

TEST(BlockedNodes, DoNotAddToTheFailuresThatALaterWaveRollsBackFor) {
  constexpr const char* one_and_rest = R"(
  waves:
    - {name: canary, nodes: {count: 1}}
    - {name: rest, nodes: {rest: true}}
)";
  TestRollout rollout(8, one_and_rest);
  rollout.view.max_failures = 2;
  rollout.begin();
  rollout.finish(1);
  rollout.settle();
  rollout.fail_node(2);
  EXPECT_EQ(rollout.settle(), "Upgrading");
  rollout.block_node(3, by_budget);
  EXPECT_EQ(rollout.settle(), "Held");
  EXPECT_EQ(rollout.view.status.reason, "NodesBlocked");
  EXPECT_TRUE(says(rollout, "2 nodes failed, and 1 is allowed")) << rollout.view.status.message;
  EXPECT_TRUE(says(rollout, "Failed with it: gpu-2")) << rollout.view.status.message;
  // The second one that failed with the driver is one too many.
  rollout.fail_node(4);
  EXPECT_EQ(rollout.settle(), "RollingBack");
  EXPECT_EQ(rollout.view.status.rejected.at(0).reason, "NodesFailed");
}

TEST(BlockedNodes, WithinTheBudgetOfALaterWaveAreTolerated) {
  TestRollout rollout(6, two_waves);
  rollout.view.max_failures = 2;
  rollout.begin();
  for (int i : {1, 2}) rollout.finish(i);
  rollout.settle();
  rollout.block_node(3, by_budget);
  for (int i : {4, 5, 6}) rollout.finish(i);
  EXPECT_EQ(rollout.settle(), "Complete");
  EXPECT_EQ(rollout.view.status.reason, "CompleteWithFailures");
}

TEST(BlockedNodes, AreHeldAgainAfterAnOverrideAndNeverRolledBack) {
  TestRollout rollout(4, two_waves);
  rollout.begin();
  rollout.block_node(1, by_budget);
  rollout.finish(2);
  ASSERT_EQ(rollout.settle(), "Held");
  rollout.command("promote");
  EXPECT_EQ(rollout.settle(), "Held");
  EXPECT_EQ(rollout.view.status.reason, "NodesBlocked");
  EXPECT_EQ(rollout.view.status.open_waves, 2);
  EXPECT_EQ(rollout.reverts, 0);
}

TEST(BlockedNodes, AnAbortedRolloutDoesNotContinueByItself) {
  TestRollout rollout(4, two_waves);
  rollout.begin();
  rollout.block_node(1, by_budget);
  ASSERT_EQ(rollout.settle(), "Held");
  rollout.command("abort");
  EXPECT_EQ(rollout.settle(), "Held");
  EXPECT_EQ(rollout.view.status.reason, "Aborted");
  rollout.node(1).state = fleet::State::required;
  EXPECT_EQ(rollout.settle(), "Held");
}

}  // namespace
}  // namespace lockstep::rollout::decide_held_test
