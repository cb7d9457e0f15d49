#include "rollout/forward_rollout.h"

#include <gtest/gtest.h>

#include "rollout/forward_test_util.h"

namespace lockstep::rollout::forward_rollout_test {
namespace {

constexpr const char* canary_and_rest = R"(
waves:
  - {name: canary, nodes: {count: 1}}
  - {name: rest, nodes: {rest: true}})";

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
  EXPECT_TRUE(ForwardFleetTest::says(plan, "an approval is needed; assumed to be immediate"));
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

TEST(PlanOfARollout, ABlockedCanaryHoldsAndOpensNothingMore) {
  ForwardFleetTest fleet(4, canary_and_rest);
  fleet.add_bare_pod(1, "notebook");
  Plan plan = fleet.plan();
  EXPECT_EQ(plan.rollouts[0].end_phase, Phase::held);
  EXPECT_EQ(plan.rollouts[0].end.name, "NodesBlocked");
  EXPECT_FALSE(plan.rollouts[0].waves[1].opens);
  EXPECT_TRUE(ForwardFleetTest::says(plan, "held: NodesBlocked"));
}

TEST(PlanOfARollout, AFailedCanaryRollsBackAndOpensNothingMore) {
  ForwardFleetTest fleet(4, canary_and_rest);
  fleet.run_revision(1, "new");
  fleet.set_state(1, fleet::State::pod_restart, minutes(1));
  auto& driver = fleet.node(1).view.driver.pod;
  driver = upgrade::share(upgrade::waiting_in(*driver, "ImagePullBackOff"));
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
  EXPECT_TRUE(ForwardFleetTest::says(plan, "rolls back: VersionRolledBack"));
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

TEST(PlanOfRefusals, OfARollout) {
  const char* spec = "waves: [{name: all, nodes: {rest: true}}]";
  auto refusal = [](const Plan& plan) {
    return plan.rollouts[0].refused.empty() ? ReasonName() : plan.rollouts[0].refused[0].name;
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
      {rejected.rollout().view.target, rejected.snapshot.now, Reason::nodes_failed}};
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

TEST(PlanOfARollout, AWaveLimitsHowManyNodesAreUpgradedAtOnce) {
  ForwardFleetTest fleet(4, R"(
waves:
  - {name: half, nodes: {percent: 50}, maxParallelUpgrades: 1}
  - {name: rest, nodes: {rest: true}})");
  fleet.policy().max_parallel = 2;
  fleet.policy().max_unavailable = IntOrPercent::count(2);
  EXPECT_EQ(fleet.starts(), (std::vector<int64_t>{0, 5, 10, 10}));
}

}  // namespace
}  // namespace lockstep::rollout::forward_rollout_test
