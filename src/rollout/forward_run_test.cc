#include "rollout/forward_run.h"

#include <algorithm>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "data/yaml.h"
#include "rollout/forward_test_util.h"

namespace lockstep::rollout::forward_run_test {
namespace {

using Minutes = std::vector<int64_t>;

constexpr const char* canary_and_rest = R"(
waves:
  - {name: canary, nodes: {count: 1}}
  - {name: rest, nodes: {rest: true}})";

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

TEST(Plan, ANodeInProgressTakesOnlyWhatIsLeft) {
  ForwardFleetTest fleet(2);
  fleet.policy().max_parallel = 1;
  fleet.set_state(2, fleet::State::pod_restart, minutes(3));
  Plan plan = fleet.plan();
  EXPECT_EQ(ForwardFleetTest::names(plan), (std::vector<std::string>{"gpu-2", "gpu-1"}));
  EXPECT_EQ(plan.nodes[0].end, minutes(2));
  EXPECT_EQ(plan.nodes[1].start, minutes(2));
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
  EXPECT_NE(plan.nodes[0].blocked[0].find("ml/web may not be disrupted now"), std::string::npos);
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

TEST(PlanOfWindows, MoveStarts) {
  // The test begins at 08:00 UTC.
  ForwardFleetTest fleet(3, R"(
windows: [{from: "22:00", to: "22:08"}]
waves: [{name: all, nodes: {rest: true}}])");
  fleet.policy().max_parallel = 1;
  Plan plan = fleet.plan();
  const int64_t evening = 14 * 60;
  EXPECT_EQ(fleet.start_of(plan, 1), evening);
  EXPECT_EQ(fleet.start_of(plan, 2), evening + 5);
  EXPECT_EQ(fleet.start_of(plan, 3), evening + 24 * 60);
  EXPECT_EQ(plan.rollouts[0].end_phase, Phase::complete);
  EXPECT_TRUE(ForwardFleetTest::says(plan, "a window opens"));
}

TEST(PlanOfWindows, ThatNeverOpenEndThePlan) {
  ForwardFleetTest fleet(2, R"(
windows: [{from: "22:00", to: "22:08", timeZone: Nowhere/Else}]
waves: [{name: all, nodes: {rest: true}}])");
  Plan plan = fleet.plan();
  EXPECT_EQ(fleet.node_of(plan, 1).reason.name, "OutsideWindow");
  EXPECT_EQ(plan.rollouts[0].end.name, "OutsideWindow");
}

TEST(PlanOfARollout, HasGatesBakesAndApprovalsOnOneTimeAxis) {
  ForwardFleetTest fleet(6, R"(
waves:
  - name: canary
    nodes: {count: 1}
    gates: [driver]
    bake: {duration: 2h, minGpuHours: 8}
    approval: required
  - {name: rest, nodes: {rest: true}})");
  fleet.policy().max_parallel = 5;
  fleet.policy().max_unavailable = IntOrPercent::count(5);
  Plan plan = fleet.plan();
  ASSERT_EQ(plan.rollouts.size(), 1u);
  const PlannedRollout& rollout = plan.rollouts[0];
  EXPECT_EQ(rollout.end_phase, Phase::complete);
  ASSERT_EQ(rollout.waves.size(), 2u);
  EXPECT_EQ(rollout.waves[0].nodes, (std::vector<std::string>{"gpu-1"}));
  EXPECT_EQ(rollout.waves[0].gpus, 8);
  EXPECT_EQ(rollout.waves[0].opens, Duration::zero());
  EXPECT_EQ(rollout.waves[0].upgraded, minutes(5));
  EXPECT_EQ(rollout.waves[0].passes, minutes(5 + 5 + 120));
  EXPECT_EQ(rollout.waves[1].nodes.size(), 5u);
  EXPECT_EQ(rollout.waves[1].opens, minutes(130));
  EXPECT_EQ(plan.duration, minutes(135));
  EXPECT_TRUE(ForwardFleetTest::says(plan, "an approval is needed; assumed to be given at once"));
  EXPECT_TRUE(ForwardFleetTest::says(plan, "bake for 2h"));
  EXPECT_NEAR(rollout.waves[1].gpu_hours_lost, 5 * 8 * 5 / 60.0, 0.01);
}

TEST(PlanOfARollout, ABakeTakesAsLongAsItsExposure) {
  const char* spec = R"(
waves:
  - {name: canary, nodes: {count: 1}, bake: {duration: 2h, minGpuHours: 40, maxDuration: 12h}}
  - {name: rest, nodes: {rest: true}})";
  ForwardFleetTest fleet(4, spec);
  Plan plan = fleet.plan();
  EXPECT_EQ(plan.rollouts[0].waves[0].passes, minutes(5 + 300)) << "8 busy GPUs, 40 GPU-hours";
  // A canary that is idle never gets there.
  fleet.snapshot.nodes[0].busy = false;
  plan = fleet.plan();
  EXPECT_EQ(plan.rollouts[0].end_phase, Phase::held);
  EXPECT_EQ(plan.rollouts[0].end.name, "BakeInconclusive");
  EXPECT_FALSE(plan.rollouts[0].waves[1].opens);
  EXPECT_EQ(fleet.node_of(plan, 3).reason.name, "WaveNotOpen");
  EXPECT_EQ(plan.duration, minutes(5) + hours(12));
}

TEST(PlanOfARollout, AFailedCanaryRollsBackAndOpensNothingMore) {
  ForwardFleetTest fleet(4, canary_and_rest);
  fleet.add_bare_pod(1, "notebook");
  Plan plan = fleet.plan();
  EXPECT_EQ(plan.rollouts[0].end_phase, Phase::rolling_back);
  EXPECT_EQ(plan.rollouts[0].end.name, "NodesFailed");
  EXPECT_FALSE(plan.rollouts[0].waves[1].opens);
  EXPECT_TRUE(ForwardFleetTest::says(plan, "rolls back: NodesFailed"));
}

TEST(PlanOfARollback, OfAVersionThatIsSetBackGoesOnToItsEnd) {
  ForwardFleetTest fleet(4, canary_and_rest);
  for (int i : {1, 2}) fleet.run_revision(i, "new");
  RolloutStatus& status = fleet.rollout().view.status;
  status.phase = Phase::complete;
  status.from = status.stable;
  status.stable = status.to = status.open_for = fleet.rollout().view.target;
  fleet.set_newest("old");
  Plan plan = fleet.plan();
  EXPECT_EQ(ForwardFleetTest::names(plan), (std::vector<std::string>{"gpu-1", "gpu-2"}));
  for (const PlannedNode& node : plan.nodes) EXPECT_EQ(node.outcome, PlannedEnd::done);
  EXPECT_EQ(plan.rollouts[0].end_phase, Phase::rolled_back);
  EXPECT_TRUE(ForwardFleetTest::says(plan, "rolls back: VersionTakenBack"));
}

TEST(PlanOfARollout, GatesInProgressTakeOnlyWhatIsLeft) {
  ForwardFleetTest fleet(2, R"(
waves:
  - {name: canary, nodes: {count: 1}, gates: [driver]}
  - {name: rest, nodes: {rest: true}})");
  fleet.run_revision(1, "new");
  RolloutView& view = fleet.rollout().view;
  view.recorded[0] = RecordedWave{revision_id(view.target), {"gpu-1"}};
  fleet.rollout().gate.wave_of["gpu-1"] = 0;
  RolloutStatus& status = view.status;
  status.phase = Phase::gating;
  status.phase_since = status.started = fleet.snapshot.now - minutes(2);
  status.from = status.stable;
  status.to = status.open_for = view.target;
  status.open_waves = 1;
  status.waves.resize(2);
  status.waves[0].name = "canary";
  status.waves[0].opened = status.phase_since;
  status.waves[1].name = "rest";
  fleet.rollout().gate.status = status;
  Plan plan = fleet.plan();
  EXPECT_EQ(plan.rollouts[0].waves[1].opens, minutes(3));
  EXPECT_EQ(fleet.start_of(plan, 2), 3);
  EXPECT_EQ(plan.rollouts[0].end_phase, Phase::complete);
}

TEST(PlanOfARollout, AWaveWithoutEnoughNodesNamesTheExcludedOnes) {
  ForwardFleetTest fleet(3, R"(
waves:
  - {name: canary, nodes: {count: 3}}
  - {name: rest, nodes: {rest: true}})");
  fleet.skip(2);
  Plan plan = fleet.plan();
  EXPECT_EQ(plan.rollouts[0].end.name, "WaveTooSmall");
  EXPECT_EQ(plan.rollouts[0].excluded, (std::vector<std::string>{"gpu-2 (skipped by a user)"}));
  EXPECT_FALSE(plan.rollouts[0].waves[0].opens);
}

// As decide() and decide_rollout() name them; the rest is as if it were solved.
TEST(PlanOfRefusals, AreNamedAsTheDecisionsNameThem) {
  ForwardFleetTest fleet(2);
  fleet.policy().auto_upgrade = false;
  fleet.policy().paused = "launch on Friday";
  fleet.snapshot.pools[""].frozen = Reason{"Rival", "NVIDIA's GPU Operator runs", "set it"};
  Plan plan = fleet.plan();
  std::vector<std::string> names;
  for (const Reason& reason : plan.refused) names.push_back(reason.name);
  EXPECT_EQ(names, (std::vector<std::string>{"Rival", "AutoUpgradeOff", "Paused"}));
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

TEST(PlanOfRefusals, OfARollout) {
  const char* spec = "waves: [{name: all, nodes: {rest: true}}]";
  auto refusal = [](const Plan& plan) {
    return plan.rollouts[0].refused.empty() ? "" : plan.rollouts[0].refused[0].name;
  };
  ForwardFleetTest unknown(2, spec);
  unknown.rollout().view.status.stable.fields.reset();
  Plan plan = unknown.plan();
  EXPECT_EQ(refusal(plan), "RollbackUnavailable");
  EXPECT_EQ(plan.rollouts[0].end_phase, Phase::complete) << "as if it were solved";

  ForwardFleetTest firmware(2, std::string(spec) + "\nmatrix: {repo: https://git.example/m}");
  firmware.rollout().matrix_obstacle = "firmware leads only forward";
  plan = firmware.plan();
  EXPECT_EQ(refusal(plan), "RollbackUnavailable");
  EXPECT_EQ(plan.rollouts[0].refused[0].text, "firmware leads only forward");

  ForwardFleetTest rejected(2, spec);
  rejected.rollout().view.status.rejected = {
      {rejected.rollout().view.target, rejected.snapshot.now, "NodesFailed"}};
  plan = rejected.plan();
  EXPECT_EQ(refusal(plan), "RejectedVersion");
  EXPECT_EQ(plan.rollouts[0].end_phase, Phase::complete);

  ForwardFleetTest paused(2, std::string(spec) + "\npaused: true");
  plan = paused.plan();
  EXPECT_EQ(refusal(plan), "RolloutPaused");
  EXPECT_EQ(plan.rollouts[0].end_phase, Phase::complete);

  ForwardFleetTest invalid(2, "waves: [{name: all, nodes: {percent: 500}}]");
  plan = invalid.plan();
  EXPECT_EQ(refusal(plan), "InvalidSpec");
  EXPECT_EQ(invalid.start_of(plan, 1), -1);

  ForwardFleetTest other(2, spec);
  other.rollout().view.other = "weekly";
  EXPECT_EQ(refusal(other.plan()), "AnotherRollout");
}

TEST(PlanOfAnAssumedChange, MovesEveryNodeAndRecordsFirstWhatRunsNow) {
  ForwardFleetTest fleet(3, canary_and_rest);
  fleet.set_newest("old");
  fleet.rollout().view.status = {};
  EXPECT_TRUE(fleet.plan().nodes.empty());
  assume_change(fleet.snapshot);
  Plan plan = fleet.plan();
  EXPECT_EQ(plan.nodes.size(), 3u);
  EXPECT_TRUE(plan.rollouts[0].refused.empty());
  EXPECT_EQ(plan.rollouts[0].end_phase, Phase::complete);
  EXPECT_EQ(plan.rollouts[0].to, "a new version");
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
