// Rollbacks: from every phase, after Complete, and until no node runs the rejected version.
#include <gtest/gtest.h>

#include "rollout/rollout_test_util.h"

namespace lockstep::rollout::decide_rollback_test {
namespace {

constexpr const char* waves = R"(
  waves:
    - {name: canary, nodes: {count: 1}, gates: [driver], bake: {duration: 48h}, approval: required}
    - {name: rest, nodes: {rest: true}}
)";

// Four nodes, as far as the phase.
TestRollout in_phase(Phase phase) {
  TestRollout rollout(4, waves);
  rollout.begin();
  if (phase == Phase::upgrading) return rollout;
  rollout.finish(1);
  rollout.settle();
  if (phase == Phase::gating) return rollout;
  if (phase == Phase::held) {
    rollout.view.gates[0].outcome = Outcome::inconclusive;
    rollout.settle();
    return rollout;
  }
  rollout.view.gates[0].outcome = Outcome::passed;
  rollout.settle();
  if (phase == Phase::baking) return rollout;
  rollout.view.bake = BakeView{Outcome::passed, false, "48h without a finding", ""};
  rollout.settle();
  if (phase == Phase::awaiting_approval) return rollout;
  rollout.command("promote");
  if (phase == Phase::promoting) {
    rollout.step();
    return rollout;
  }
  rollout.settle();
  for (int i = 2; i <= 4; ++i) rollout.finish(i);
  rollout.settle();
  return rollout;
}

// From the open canary on.
std::string finish_upgrade(TestRollout& rollout) {
  rollout.view.gates.clear();
  rollout.view.bake.reset();
  rollout.finish(1);
  rollout.settle();
  for (Verdict& gate : rollout.view.gates) gate.outcome = Outcome::passed;
  rollout.settle();
  rollout.view.bake = BakeView{Outcome::passed, false, "48h without a finding", ""};
  rollout.settle();
  rollout.command("promote");
  rollout.settle();
  for (int i = 2; i <= 4; ++i) rollout.finish(i);
  return rollout.settle();
}

// The gates of the rollback pass.
std::string finish_rollback(TestRollout& rollout) {
  for (int i = 1; i <= 4; ++i) rollout.finish(i);
  rollout.view.gates.clear();
  rollout.settle();
  for (Verdict& gate : rollout.view.gates) gate.outcome = Outcome::passed;
  return rollout.settle();
}

TEST(DecideRollback, WorksInEveryPhaseInWhichANodeMayRunTheNewDriver) {
  for (Phase phase : {Phase::upgrading, Phase::gating, Phase::baking, Phase::awaiting_approval,
                      Phase::held, Phase::promoting, Phase::complete}) {
    for (bool paused : {false, true}) {
      TestRollout rollout = in_phase(phase);
      ASSERT_EQ(rollout.view.status.phase, phase);
      rollout.view.spec.paused = paused;
      rollout.view.gates.clear();
      rollout.command("rollback");
      EXPECT_EQ(rollout.settle(), "RollingBack") << to_string(phase);
      EXPECT_EQ(rollout.reverts, 1) << to_string(phase);
      EXPECT_EQ(rollout.view.target.version, "570");
      EXPECT_TRUE(rollout.is_open(0));
      EXPECT_EQ(finish_rollback(rollout), "RolledBack") << to_string(phase);
      EXPECT_EQ(rollout.view.status.stable.version, "570");
    }
  }
}

TEST(DecideRollback, AfterCompleteTheCanaryReturnsFirstAndItsGatesRunAgain) {
  TestRollout rollout = in_phase(Phase::complete);
  ASSERT_EQ(rollout.phase(), "Complete");
  rollout.view.gates.clear();
  rollout.command("rollback");
  rollout.settle();
  EXPECT_TRUE(rollout.is_open(0));
  EXPECT_FALSE(rollout.is_open(1)) << "the canary is not rolled back yet";
  EXPECT_TRUE(rollout.view.gates.empty());
  rollout.finish(1);
  rollout.settle();
  EXPECT_FALSE(rollout.is_open(1)) << "its gates have not passed";
  ASSERT_EQ(rollout.view.gates.size(), 1U);
  rollout.view.gates[0].outcome = Outcome::passed;
  rollout.settle();
  EXPECT_TRUE(rollout.is_open(1)) << "without another bake";
}

// The version that the whole fleet ran until now needs no canary and no bake.
TEST(DecideRollback, ThePreviousVersionSetByHandAfterCompleteIsARollback) {
  TestRollout rollout = in_phase(Phase::complete);
  rollout.view.gates.clear();
  // The operator has changed something else as well: the same version in another revision.
  rollout.set_version("old-again", "570");
  EXPECT_EQ(rollout.settle(), "RollingBack");
  EXPECT_EQ(rollout.reverts, 0);
  EXPECT_TRUE(rollout.is_open(0));
  EXPECT_EQ(finish_rollback(rollout), "RolledBack");
}

// A toleration was added after the upgrade: that is a rollout of its own, and the version before it
// is still the one that a rollback restores.
TEST(DecideRollback, AChangeThatDoesNotAffectTheDriverKeepsThePreviousVersion) {
  for (std::string how : {"by command", "by hand", "by hand, while the change is in progress"}) {
    TestRollout rollout = in_phase(Phase::complete);
    rollout.set_version("restarted", "580");
    EXPECT_EQ(rollout.settle(), "Upgrading") << how;
    if (how != "by hand, while the change is in progress") {
      EXPECT_EQ(finish_upgrade(rollout), "Complete") << how;
    }
    rollout.view.gates.clear();
    if (how == "by command") {
      rollout.command("rollback");
    } else {
      rollout.set_version("old-restarted", "570");
    }
    EXPECT_EQ(rollout.settle(), "RollingBack") << how;
    EXPECT_EQ(rollout.view.target.version, "570") << how;
    EXPECT_EQ(rollout.view.status.from.version, "570") << how;
    EXPECT_EQ(finish_rollback(rollout), "RolledBack") << how;
  }
}

TEST(DecideRollback, AnotherVersionAfterCompleteBeginsAtTheCanary) {
  TestRollout rollout = in_phase(Phase::complete);
  rollout.set_version("newer", "590");
  EXPECT_EQ(rollout.settle(), "Upgrading");
  EXPECT_EQ(rollout.view.status.from.version, "580");
}

// The version before cannot be set, and nothing is wrong with what runs.
TEST(DecideRollback, WhatCannotBeRolledBackAfterCompleteStaysComplete) {
  TestRollout rollout = in_phase(Phase::complete);
  rollout.view.no_rollback = "no access to Git";
  rollout.command("rollback");
  EXPECT_EQ(rollout.settle(), "Complete");
  EXPECT_EQ(rollout.view.status.history.back().reason, "CommandIgnored");
  EXPECT_EQ(rollout.view.status.history.back().text, "rollback: no access to Git");
}

// A DaemonSet's version is set by its owner: that is a rollback without an obstacle, written once.
TEST(DecideRollback, WhatAUserHasSetBackNeedsNoAccess) {
  TestRollout rollout = in_phase(Phase::baking);
  rollout.view.no_rollback = "the version of a DaemonSet is set by its owner";
  rollout.set_version("old", "570");
  rollout.view.gates.clear();
  EXPECT_EQ(rollout.settle(), "RollingBack");
  EXPECT_EQ(finish_rollback(rollout), "RolledBack");
}

// Its driver pod was replaced by another hand: it is of the previous version, and the machine may
// still have the rejected one loaded.
TEST(DecideRollback, ANodeWhoseDriverIsNotReadyYetIsNotBack) {
  TestRollout rollout = in_phase(Phase::complete);
  rollout.view.gates.clear();
  rollout.command("rollback");
  rollout.settle();
  for (int i = 1; i <= 3; ++i) rollout.finish(i);
  RolloutNode& waiting = rollout.node(4);
  waiting.state = fleet::State::required;
  waiting.in_sync = waiting.out_of_sync = false;
  rollout.settle();
  for (Verdict& gate : rollout.view.gates) gate.outcome = Outcome::passed;
  EXPECT_EQ(rollout.settle(), "RollingBack");
  rollout.finish(4);
  EXPECT_EQ(rollout.settle(), "RolledBack");
}

// In the middle of the rollback: what the user sets is not fought.
TEST(DecideRollback, WhatAUserSetsForwardAgainStartsAgain) {
  TestRollout rollout = in_phase(Phase::baking);
  rollout.set_version("old", "570");
  rollout.view.gates.clear();
  ASSERT_EQ(rollout.settle(), "RollingBack");
  ASSERT_EQ(rollout.view.status.reason, "RollingBack");
  rollout.set_version("new", "580");
  EXPECT_EQ(rollout.settle(), "Gating") << "the canary runs it still";
  EXPECT_EQ(rollout.reverts, 0);
  EXPECT_EQ(rollout.view.target.version, "580");
}

// A version that was set a moment ago and has not begun must not turn the rollback into its start.
TEST(DecideRollback, AThirdVersionThatHasNotBegunIsSetBackToo) {
  TestRollout rollout = in_phase(Phase::complete);
  rollout.set_version("newer", "590");
  rollout.view.gates.clear();
  rollout.command("rollback");
  EXPECT_EQ(rollout.settle(), "RollingBack");
  EXPECT_EQ(rollout.view.target.version, "570");
  EXPECT_EQ(rollout.view.status.to.version, "580");
  EXPECT_EQ(finish_rollback(rollout), "RolledBack");
}

// gpu-4 was replaced during the bake and came up with the new driver outside the waves.
TEST(DecideRollback, NoNodeRunsTheRejectedVersionAfterIt) {
  TestRollout rollout = in_phase(Phase::baking);
  rollout.finish(4);
  rollout.finish(3);
  rollout.node(3).skipped = true;
  rollout.view.gates.clear();
  rollout.command("rollback");
  rollout.settle();
  rollout.finish(1);
  rollout.settle();
  ASSERT_EQ(rollout.view.gates.size(), 1U);
  rollout.view.gates[0].outcome = Outcome::passed;
  EXPECT_EQ(rollout.settle(), "RollingBack");
  EXPECT_TRUE(rollout.is_open(1)) << "gpu-4 may return";
  EXPECT_NE(rollout.view.status.message.find("1 node outside the opened waves"), std::string::npos)
      << rollout.view.status.message;
  rollout.finish(4);
  EXPECT_EQ(rollout.settle(), "RolledBack");
  EXPECT_EQ(rollout.view.status.message,
            "all nodes run 570 again, except 1 node that a user skips");
}

// Records of 580's waves must not send nodes back by the waves of 590.
TEST(DecideRollback, ANodeOfAnEarlierVersionsWaveReturnsToo) {
  TestRollout rollout(4, R"(
  waves:
    - {name: canary, nodes: {count: 1}}
    - {name: second, nodes: {count: 1}}
    - {name: rest, nodes: {rest: true}}
)");
  rollout.begin();
  rollout.finish(1);
  rollout.settle();
  rollout.finish(2);
  rollout.set_version("newer", "590");
  EXPECT_EQ(rollout.settle(), "Upgrading");
  ASSERT_EQ(rollout.view.status.open_waves, 1);
  // gpu-2 still runs 580.
  rollout.command("rollback");
  rollout.settle();
  rollout.finish(1);
  EXPECT_EQ(rollout.settle(), "RollingBack");
  rollout.finish(2);
  EXPECT_EQ(rollout.settle(), "RolledBack");
}

TEST(DecideRollback, APausedOneSaysSo) {
  TestRollout rollout = in_phase(Phase::complete);
  rollout.view.gates.clear();
  rollout.command("rollback");
  rollout.settle();
  rollout.view.spec.paused = true;
  rollout.settle();
  EXPECT_EQ(rollout.view.status.reason, "RolloutPaused");
  EXPECT_EQ(rollout.view.status.message,
            "the rollback is paused; wave canary: 0 of 1 nodes rolled back");
  // The user asks again, and the client's patch ends the pause.
  rollout.view.spec.paused = false;
  rollout.command("rollback");
  rollout.settle();
  EXPECT_EQ(rollout.view.status.reason, "RollingBack");
  EXPECT_EQ(rollout.view.status.history.back().reason, "RollbackAsked");
}

// All waves are still to return, not only those that had returned when it was held.
TEST(DecideRollback, AskedForAgainWhileItIsHeldItGoesOn) {
  TestRollout rollout = in_phase(Phase::complete);
  rollout.view.gates.clear();
  rollout.command("rollback");
  rollout.settle();
  rollout.fail_node(1);
  ASSERT_EQ(rollout.settle(), "Held");
  rollout.command("rollback");
  EXPECT_EQ(rollout.settle(), "RollingBack");
  EXPECT_EQ(rollout.view.status.waves_to_return, 2);
  EXPECT_EQ(finish_rollback(rollout), "RolledBack");
}

TEST(DecideRollback, ANodeThatFailsInAWaveThatHasReturnedHoldsIt) {
  TestRollout rollout = in_phase(Phase::complete);
  rollout.view.gates.clear();
  rollout.command("rollback");
  rollout.settle();
  rollout.finish(1);
  rollout.settle();
  rollout.view.gates[0].outcome = Outcome::passed;
  rollout.settle();
  rollout.fail_node(1);
  EXPECT_EQ(rollout.settle(), "Held");
  EXPECT_EQ(rollout.view.status.message, "1 failed during the rollback: gpu-1");
  rollout.command("retry");
  rollout.settle();
  EXPECT_EQ(rollout.node(1).state, fleet::State::required);
}

// It got the new driver outside the waves. With the failure budget used up, the canary waits for
// it.
TEST(DecideRollback, FailuresOutsideTheWavesThatUseUpTheBudgetHoldIt) {
  TestRollout rollout = in_phase(Phase::baking);
  rollout.finish(4);
  rollout.view.max_failures = 2;
  rollout.view.gates.clear();
  rollout.command("rollback");
  rollout.settle();
  rollout.fail_node(3);
  EXPECT_EQ(rollout.settle(), "RollingBack") << "the budget lets other nodes go on";
  rollout.fail_node(4);
  EXPECT_EQ(rollout.settle(), "Held");
  EXPECT_EQ(rollout.view.status.reason, "RollbackFailed");
  EXPECT_EQ(rollout.view.status.message, "2 failed during the rollback: gpu-3, gpu-4");
  rollout.command("retry");
  rollout.settle();
  EXPECT_EQ(rollout.phase(), "RollingBack");
  EXPECT_EQ(rollout.node(4).state, fleet::State::required);
}

// Its driver pod is missing or loads: the machine may still run the rejected version.
TEST(DecideRollback, ANodeInServiceWhoseDriverIsNotReadyIsNotBack) {
  TestRollout rollout = in_phase(Phase::baking);
  rollout.view.gates.clear();
  rollout.command("rollback");
  rollout.settle();
  rollout.finish(1);
  rollout.node(4).in_sync = false;
  rollout.settle();
  for (Verdict& gate : rollout.view.gates) gate.outcome = Outcome::passed;
  EXPECT_EQ(rollout.settle(), "RollingBack");
  EXPECT_NE(rollout.view.status.message.find("gpu-4"), std::string::npos)
      << rollout.view.status.message;
  rollout.node(4).in_sync = true;
  EXPECT_EQ(rollout.settle(), "RolledBack");
}

TEST(DecideRollback, AnApprovalDoesNotSurviveARetry) {
  TestRollout rollout = in_phase(Phase::promoting);
  ASSERT_EQ(rollout.view.status.waves[0].approved_by, "alice");
  rollout.command("abort");
  rollout.settle();
  rollout.view.bake.reset();
  rollout.view.gates.clear();
  rollout.command("retry");
  rollout.settle();
  EXPECT_EQ(rollout.view.status.waves[0].approved_by, "");
  EXPECT_EQ(rollout.view.status.waves[0].verdict, Outcome::running);
  rollout.view.gates = {{"driver", Outcome::passed, "", false}};
  rollout.settle();
  rollout.view.bake = BakeView{Outcome::passed, false, "48h without a finding", ""};
  EXPECT_EQ(rollout.settle(), "AwaitingApproval") << "the second try is approved by itself";
}

TEST(DecideRollback, OnlyAForcedPromotionEndsABakeAndIsRecordedAsAnOverride) {
  TestRollout rollout = in_phase(Phase::baking);
  rollout.view.bake = BakeView{Outcome::running, false, "1h of 48h", ""};
  rollout.command("promote");
  EXPECT_EQ(rollout.settle(), "Baking");
  Command command{"promote", "", "alice", rollout.now, "", true};
  rollout.view.command = Command::parse(print_json(command.to_json()));
  EXPECT_EQ(rollout.settle(), "Upgrading");
  EXPECT_TRUE(rollout.is_open(1));
  const WaveStatus& canary = rollout.view.status.waves[0];
  EXPECT_TRUE(canary.verdict_text.starts_with("override by alice: the bake was ended after"))
      << canary.verdict_text;
  EXPECT_TRUE(canary.verdict_text.ends_with("; 1h of 48h")) << canary.verdict_text;
  auto entry = std::find_if(rollout.view.status.history.begin(), rollout.view.status.history.end(),
                            [](const HistoryEntry& each) { return each.reason == "Override"; });
  ASSERT_NE(entry, rollout.view.status.history.end());
  EXPECT_EQ(entry->by, "alice");
}

}  // namespace
}  // namespace lockstep::rollout::decide_rollback_test
