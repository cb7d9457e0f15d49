#include "rollout/decide_rollout.h"

#include <gtest/gtest.h>

#include "rollout/rollout_test_util.h"

namespace lockstep::rollout::decide_rollout_test {
namespace {

constexpr const char* three_waves = R"(
  waves:
    - {name: canary, nodes: {count: 1}}
    - {name: tenth, nodes: {percent: 20}}
    - {name: rest, nodes: {rest: true}}
)";

using Names = std::vector<std::string>;

TEST(DecideRollout, WaitsForAnotherVersionAndRemembersThisOne) {
  TestRollout rollout(10, three_waves);
  EXPECT_EQ(rollout.settle(), "Pending");
  EXPECT_EQ(rollout.view.status.reason, "NothingToDo");
  EXPECT_EQ(rollout.view.status.stable.version, "570");
}

TEST(DecideRollout, GoesThroughTheWavesOneByOne) {
  TestRollout rollout(10, three_waves);
  EXPECT_EQ(rollout.begin(), "Upgrading");
  EXPECT_EQ(rollout.view.recorded[0]->nodes, (Names{"gpu-1"}));
  EXPECT_TRUE(rollout.is_open(0));
  EXPECT_FALSE(rollout.is_open(1));
  rollout.finish(1);
  EXPECT_EQ(rollout.settle(), "Upgrading");
  EXPECT_EQ(rollout.view.recorded[1]->nodes, (Names{"gpu-2", "gpu-3"}));
  EXPECT_TRUE(rollout.is_open(1));
  rollout.finish(2);
  rollout.settle();
  EXPECT_FALSE(rollout.is_open(2));
  rollout.finish(3);
  rollout.settle();
  EXPECT_TRUE(rollout.is_open(2));
  for (int i = 4; i <= 10; ++i) rollout.finish(i);
  EXPECT_EQ(rollout.settle(), "Complete");
  EXPECT_EQ(rollout.view.status.stable.version, "580");
  EXPECT_EQ(rollout.view.status.waves[0].verdict, Outcome::passed);
}

TEST(DecideRollout, EveryStepIsOneWriteAndTheWaveIsWrittenDownBeforeItOpens) {
  TestRollout rollout(5, three_waves);
  rollout.settle();
  rollout.set_version("new", "580");
  RolloutDecision first = rollout.step();
  ASSERT_NE(first.as<WaveWrite>(), nullptr);
  EXPECT_EQ(rollout.view.status.open_waves, 0);
  RolloutDecision second = rollout.step();
  ASSERT_NE(second.as<StatusWrite>(), nullptr);
  EXPECT_EQ(rollout.view.status.open_waves, 1);
}

TEST(DecideRollout, WaitsUntilEveryNodeKnowsOfTheRevision) {
  TestRollout rollout(5, three_waves);
  rollout.settle();
  rollout.set_version("new", "580");
  rollout.node(3).state = fleet::State::done;
  EXPECT_EQ(rollout.settle(), "Pending");
  EXPECT_EQ(rollout.view.status.reason, "Starting");
  rollout.node(3).state = fleet::State::required;
  EXPECT_EQ(rollout.settle(), "Upgrading");
}

TEST(DecideRollout, AFailedCanaryGoesBackByItself) {
  TestRollout rollout(10, three_waves);
  rollout.begin();
  rollout.fail_node(1);
  // The version is set back, and only the canary has to return.
  EXPECT_EQ(rollout.settle(), "RollingBack");
  EXPECT_EQ(rollout.reverts, 1);
  EXPECT_EQ(rollout.view.target.version, "570");
  EXPECT_TRUE(rollout.is_open(0));
  EXPECT_FALSE(rollout.is_open(1));
  for (int i = 1; i <= 10; ++i) rollout.finish(i);
  EXPECT_EQ(rollout.settle(), "RolledBack");
  EXPECT_EQ(rollout.view.status.stable.version, "570");
  EXPECT_EQ(rollout.view.status.waves[0].verdict, Outcome::failed);
  EXPECT_EQ(rollout.reverts, 1);
}

// Of two waves that were open the canary returns first, and the second only after it.
TEST(DecideRollout, TheCanaryGoesBackFirst) {
  TestRollout rollout(10, three_waves);
  rollout.view.max_failures = 1;
  rollout.begin();
  rollout.finish(1);
  EXPECT_EQ(rollout.settle(), "Upgrading");
  ASSERT_EQ(rollout.view.status.open_waves, 2);
  const std::vector<std::string> second = rollout.view.recorded[1]->nodes;
  ASSERT_FALSE(second.empty());
  int number = 1;
  while (rollout.node(number).name() != second.front()) ++number;
  rollout.fail_node(number);
  EXPECT_EQ(rollout.settle(), "RollingBack");
  EXPECT_TRUE(rollout.is_open(0));
  EXPECT_FALSE(rollout.is_open(1)) << "the canary is not rolled back yet";
  rollout.finish(1);
  EXPECT_EQ(rollout.settle(), "RollingBack");
  EXPECT_TRUE(rollout.is_open(1));
  for (int i = 1; i <= 10; ++i) rollout.finish(i);
  EXPECT_EQ(rollout.settle(), "RolledBack");
}

// Its wave was never open, but it got the version.
TEST(DecideRollout, RolledBackOnlyWhenNoNodeOfThePoolRunsTheRejectedVersion) {
  for (bool fails : {false, true}) {
    TestRollout rollout(6, three_waves);
    rollout.begin();
    rollout.fail_node(1);
    RolloutNode& outside = rollout.node(5);
    outside.set = test_set;
    outside.revision = "new";
    outside.image = "driver:580";
    rollout.settle();
    rollout.finish(1);
    outside.state = fails ? fleet::State::failed : fleet::State::required;
    outside.in_sync = false;
    outside.out_of_sync = true;
    EXPECT_EQ(rollout.settle(), fails ? "Held" : "RollingBack");
    EXPECT_EQ(rollout.view.status.reason, fails ? "RollbackFailed" : "RollingBack");
    EXPECT_NE(rollout.view.status.message.find("gpu-5"), std::string::npos)
        << rollout.view.status.message;
    if (fails) continue;
    rollout.finish(5);
    outside.revision = "old";
    outside.image = "driver:570";
    EXPECT_EQ(rollout.settle(), "RolledBack");
  }
}

TEST(DecideRollout, OnFailureHoldClosesTheWaves) {
  TestRollout rollout(10, std::string(three_waves) + "  onFailure: Hold\n");
  rollout.begin();
  rollout.fail_node(1);
  EXPECT_EQ(rollout.settle(), "Held");
  EXPECT_EQ(rollout.view.status.reason, "NodesFailed");
  EXPECT_TRUE(rollout.view.status.closed);
  EXPECT_EQ(rollout.reverts, 0);
  rollout.command("retry");
  rollout.settle();
  EXPECT_EQ(rollout.node(1).state, fleet::State::required);
  EXPECT_EQ(rollout.phase(), "Upgrading");
  EXPECT_TRUE(rollout.is_open(0));
}

TEST(DecideRollout, LaterWavesTolerateWhatThePolicySays) {
  TestRollout rollout(10, three_waves);
  rollout.view.max_failures = 2;
  rollout.begin();
  rollout.finish(1);
  rollout.settle();
  rollout.fail_node(2);
  rollout.finish(3);
  EXPECT_EQ(rollout.settle(), "Upgrading");
  EXPECT_TRUE(rollout.is_open(2));
  rollout.fail_node(4);
  rollout.settle();
  EXPECT_EQ(rollout.phase(), "RollingBack");
}

TEST(DecideRollout, AFailureOnTheWayBackHoldsAndSaysSo) {
  TestRollout rollout(4, three_waves);
  rollout.begin();
  rollout.fail_node(1);
  rollout.settle();
  rollout.fail_node(1);
  EXPECT_EQ(rollout.settle(), "Held");
  EXPECT_EQ(rollout.view.status.reason, "RollbackFailed");
  EXPECT_NE(rollout.view.status.message.find("gpu-1"), std::string::npos);
  // Once it is repaired the rollback continues.
  rollout.command("retry");
  rollout.settle();
  EXPECT_EQ(rollout.phase(), "RollingBack");
  rollout.finish(1);
  EXPECT_EQ(rollout.settle(), "RolledBack");
}

TEST(DecideRollout, AFailureOfAnotherRevisionIsTriedAgainAndNotHeldAgainstThisOne) {
  TestRollout rollout(4, three_waves);
  rollout.begin();
  rollout.fail_node(1);
  rollout.settle();
  ASSERT_EQ(rollout.phase(), "RollingBack");
  rollout.node(1).state = fleet::State::failed;
  rollout.node(1).old_failure = true;
  EXPECT_EQ(rollout.settle(), "RollingBack");
  rollout.finish(1);
  EXPECT_EQ(rollout.settle(), "RolledBack");
}

// Setting the version that is set already would change nothing, indefinitely.
TEST(DecideRollout, AChangeThatIsNotTheVersionsIsNotTakenBackByTheVersion) {
  TestRollout rollout(4, three_waves);
  rollout.settle();
  rollout.set_version("new", "570");
  rollout.settle();
  ASSERT_EQ(rollout.phase(), "Upgrading");
  rollout.fail_node(1);
  EXPECT_EQ(rollout.settle(), "Held");
  EXPECT_EQ(rollout.view.status.reason, "RollbackUnavailable");
}

TEST(DecideRollout, WithoutARollbackItDoesNotStart) {
  TestRollout rollout(4, three_waves);
  rollout.view.no_rollback = "one-way firmware step";
  EXPECT_EQ(rollout.begin(), "Pending");
  EXPECT_EQ(rollout.view.status.reason, "RollbackUnavailable");
}

// What the object said for it is not known: it could not be restored.
TEST(DecideRollout, TheDriverBeforeIsFoundAmongTheRevisionsAndIsNotEnoughToRollBack) {
  for (const char* on_failure : {"RollBack", "Hold"}) {
    TestRollout rollout(4, std::string(three_waves) + "  onFailure: " + on_failure + "\n");
    const bool holds = std::string_view(on_failure) == "Hold";
    // The rollout was made after the version had changed.
    rollout.set_version("new", "580");
    rollout.view.previous = revision("old", "570");
    EXPECT_EQ(rollout.settle(), holds ? "Upgrading" : "Pending");
    EXPECT_EQ(rollout.view.status.reason, holds ? "Upgrading" : "RollbackUnavailable");
    EXPECT_EQ(rollout.view.status.stable.version, "570");
    if (!holds) continue;
    rollout.command("rollback");
    EXPECT_EQ(rollout.settle(), "Held");
    EXPECT_EQ(rollout.view.status.reason, "RollbackUnavailable");
    EXPECT_EQ(rollout.reverts, 0);
    // By hand it works.
    rollout.set_version("old", "570");
    EXPECT_EQ(rollout.settle(), "RolledBack");
  }
}

TEST(DecideRollout, AnotherVersionInTheMiddleBeginsAtTheCanary) {
  TestRollout rollout(10, three_waves);
  rollout.begin();
  rollout.finish(1);
  rollout.settle();
  ASSERT_TRUE(rollout.is_open(1));
  rollout.set_version("newer", "590");
  EXPECT_FALSE(rollout.is_open(0));
  EXPECT_EQ(rollout.settle(), "Upgrading");
  EXPECT_EQ(rollout.view.status.open_waves, 1);
  EXPECT_EQ(rollout.view.status.to.version, "590");
  EXPECT_EQ(rollout.view.status.from.version, "570");
}

TEST(DecideRollout, TheOldVersionSetByHandTakesItsNodesBack) {
  TestRollout rollout(10, three_waves);
  rollout.begin();
  rollout.finish(1);
  rollout.settle();
  rollout.set_version("old", "570");
  EXPECT_EQ(rollout.settle(), "RollingBack");
  EXPECT_EQ(rollout.reverts, 0);
  for (int i = 1; i <= 3; ++i) rollout.finish(i);
  EXPECT_EQ(rollout.settle(), "RolledBack");
}

constexpr const char* gated = R"(
  waves:
    - {name: canary, nodes: {count: 1}, gates: [driver, {name: ecc, dryRun: true}]}
    - {name: rest, nodes: {rest: true}}
)";

TEST(DecideRollout, GatesAreStartedOnceAndDecide) {
  struct Case {
    Outcome outcome;
    const char* phase;
    const char* reason;
  };
  for (const Case& each : {Case{Outcome::passed, "Upgrading", "Upgrading"},
                           Case{Outcome::failed, "RollingBack", "RollingBack"},
                           Case{Outcome::inconclusive, "Held", "GateInconclusive"},
                           Case{Outcome::error, "Held", "GateInconclusive"},
                           Case{Outcome::running, "Gating", "Gating"}}) {
    TestRollout rollout(3, gated);
    rollout.begin();
    rollout.finish(1);
    EXPECT_EQ(rollout.settle(), "Gating");
    ASSERT_EQ(rollout.view.gates.size(), 2U);
    rollout.view.gates[0].outcome = each.outcome;
    rollout.view.gates[0].text = "4 of 8 GPUs";
    // What is only shown decides nothing, and is shown.
    rollout.view.gates[1].outcome = Outcome::failed;
    rollout.settle();
    EXPECT_EQ(rollout.phase(), each.phase) << to_string(each.outcome);
    EXPECT_EQ(rollout.view.status.reason, each.reason);
    ASSERT_EQ(rollout.view.status.waves[0].gates.size(), 2U);
    EXPECT_EQ(rollout.view.status.waves[0].gates[1].outcome, Outcome::failed);
  }
}

TEST(GatesInProgress, AreShownAtOnceAndNotWithTheNextCounts) {
  TestRollout rollout(3, gated);
  rollout.begin();
  rollout.finish(1);
  ASSERT_EQ(rollout.settle(), "Gating");
  // As two gates that have been asked and have not answered yet.
  ASSERT_EQ(rollout.view.gates.size(), 2U);
  for (Verdict& gate : rollout.view.gates) gate.outcome = Outcome::running;
  rollout.view.status.waves[0].gates.clear();
  const RolloutDecision begun = decide_rollout(rollout.view, rollout.now);
  ASSERT_NE(begun.as<StatusWrite>(), nullptr);
  EXPECT_FALSE(begun.as<StatusWrite>()->counts_only);
  ASSERT_EQ(begun.as<StatusWrite>()->status.waves[0].gates.size(), 2U);
  rollout.view.status = begun.as<StatusWrite>()->status;
  rollout.view.gates[0].text = "1 of 3 measurements";
  const RolloutDecision measured = decide_rollout(rollout.view, rollout.now);
  ASSERT_NE(measured.as<StatusWrite>(), nullptr);
  EXPECT_TRUE(measured.as<StatusWrite>()->counts_only) << "a measurement more can wait";
}

TEST(DecideRollout, TryingAgainLetsTheGatesRunAnew) {
  TestRollout rollout(3, std::string(gated) + "  onFailure: Hold\n");
  rollout.begin();
  rollout.finish(1);
  rollout.settle();
  rollout.view.gates[0].outcome = Outcome::failed;
  EXPECT_EQ(rollout.settle(), "Held");
  EXPECT_EQ(rollout.view.status.waves[0].gate_round, 0);
  rollout.command("retry");
  // Of the new round nothing has been started.
  rollout.view.gates.clear();
  EXPECT_EQ(rollout.settle(), "Gating");
  EXPECT_EQ(rollout.view.status.waves[0].gate_round, 1);
}

constexpr const char* baked = R"(
  waves:
    - {name: canary, nodes: {count: 1}, bake: {duration: 48h}, approval: required}
    - {name: rest, nodes: {rest: true}}
)";

TEST(DecideRollout, ABakeThatPassesAwaitsItsApproval) {
  TestRollout rollout(3, baked);
  rollout.begin();
  rollout.finish(1);
  EXPECT_EQ(rollout.settle(), "Baking");
  EXPECT_TRUE(rollout.view.status.waves[0].bake_began.is_set());
  rollout.view.bake = BakeView{Outcome::passed, false, "48h without a finding", "600 times"};
  EXPECT_EQ(rollout.settle(), "AwaitingApproval");
  EXPECT_EQ(rollout.view.status.waves[0].detectable, "600 times");
  rollout.command("promote", "rest");
  EXPECT_EQ(rollout.settle(), "AwaitingApproval");
  rollout.command("promote", "canary");
  EXPECT_EQ(rollout.settle(), "Upgrading");
  EXPECT_EQ(rollout.view.status.waves[0].approved_by, "alice");
  EXPECT_TRUE(rollout.view.status.waves[0].approved_at.is_set());
  EXPECT_TRUE(rollout.is_open(1));
}

TEST(DecideRollout, ABakeThatFailsGoesBackAndOneThatIsNotTheDriversHolds) {
  for (bool hold : {false, true}) {
    TestRollout rollout(3, baked);
    rollout.begin();
    rollout.finish(1);
    rollout.settle();
    rollout.view.bake = BakeView{Outcome::failed, hold, "12 FatalXid", ""};
    rollout.settle();
    EXPECT_EQ(rollout.phase(), hold ? "Held" : "RollingBack");
    EXPECT_EQ(rollout.reverts, hold ? 0 : 1);
  }
}

TEST(DecideRollout, WhatIsInconclusiveIsHeldForAPersonWhoMayTakeItUponThemselves) {
  TestRollout rollout(3, baked);
  rollout.begin();
  rollout.finish(1);
  rollout.settle();
  rollout.view.bake = BakeView{Outcome::inconclusive, false, "12 of 300 GPU-hours", ""};
  EXPECT_EQ(rollout.settle(), "Held");
  EXPECT_EQ(rollout.view.status.waves[0].verdict, Outcome::inconclusive);
  rollout.command("promote");
  EXPECT_EQ(rollout.settle(), "Upgrading");
  EXPECT_NE(rollout.view.status.waves[0].verdict_text.find("alice"), std::string::npos);
}

TEST(DecideRollout, AbortLeavesNodesAsTheyAre) {
  TestRollout rollout(3, three_waves);
  rollout.begin();
  rollout.command("abort");
  EXPECT_EQ(rollout.settle(), "Held");
  EXPECT_EQ(rollout.view.status.reason, "Aborted");
  EXPECT_FALSE(rollout.is_open(0));
  EXPECT_EQ(rollout.reverts, 0);
  rollout.command("rollback");
  rollout.settle();
  EXPECT_EQ(rollout.reverts, 1);
}

TEST(DecideRollout, ACommandIsDoneOnce) {
  TestRollout rollout(3, three_waves);
  rollout.settle();
  rollout.command("promote");
  rollout.settle();
  ASSERT_EQ(rollout.view.status.history.size(), 1U);
  EXPECT_EQ(rollout.view.status.history[0].reason, "CommandIgnored");
  rollout.settle();
  EXPECT_EQ(rollout.view.status.history.size(), 1U);
}

TEST(DecideRollout, SkippedNodesDelayNoWave) {
  TestRollout rollout(3, three_waves);
  rollout.skip(1);
  rollout.begin();
  EXPECT_EQ(rollout.view.recorded[0]->nodes, (Names{"gpu-2"}));
  rollout.finish(2);
  rollout.finish(3);
  EXPECT_EQ(rollout.settle(), "Complete");
}

TEST(DecideRollout, WhoComesLaterFallsIntoTheLastWave) {
  TestRollout rollout(10, three_waves);
  rollout.begin();
  rollout.add_node(0);
  auto late = std::make_shared<Node>(*rollout.view.nodes.back().node);
  late->meta.created = rollout.now;
  rollout.view.nodes.back().node = late;
  rollout.view.nodes.back().state = fleet::State::required;
  rollout.view.nodes.back().out_of_sync = true;
  rollout.view.nodes.back().in_sync = false;
  rollout.finish(1);
  rollout.settle();
  // gpu-0 would have been the first by name.
  EXPECT_EQ(rollout.view.recorded[1]->nodes, (Names{"gpu-2", "gpu-3", "gpu-4"}));
}

TEST(DecideRollout, AnInvalidSpecBeginsNothing) {
  TestRollout rollout(3, "  onFailure: Panic\n");
  rollout.set_version("new", "580");
  EXPECT_EQ(rollout.settle(), "Pending");
  EXPECT_EQ(rollout.view.status.reason, "InvalidSpec");
}

TEST(DecideRollout, OneRolloutAtATime) {
  TestRollout rollout(3, three_waves);
  rollout.settle();
  rollout.view.other = "another";
  rollout.set_version("new", "580");
  EXPECT_EQ(rollout.settle(), "Pending");
  EXPECT_EQ(rollout.view.status.reason, "AnotherRollout");
}

// What gates measure before a wave is upgraded is kept before the wave opens, and measured again
// for each opening.
TEST(DecideRollout, TakesTheBaselineOfAWaveBeforeItOpens) {
  TestRollout rollout(3, R"(
  waves:
    - {name: canary, nodes: {count: 1}, gates: [inference]}
    - {name: rest, nodes: {rest: true}, gates: [driver]}
)");
  rollout.settle();
  rollout.set_version("new", "580");
  RolloutDecision decision;
  for (int i = 0; i < 10 && decision.as<TakeBaseline>() == nullptr; ++i) {
    decision = decide_rollout(rollout.view, rollout.now);
    if (decision.as<TakeBaseline>() == nullptr) rollout.step();
  }
  ASSERT_NE(decision.as<TakeBaseline>(), nullptr);
  EXPECT_EQ(decision.as<TakeBaseline>()->wave, 0U);
  EXPECT_EQ(rollout.phase(), "Pending") << "nothing is open";
  EXPECT_EQ(rollout.view.status.reason, "TakingBaseline");
  EXPECT_FALSE(rollout.view.status.started.is_set()) << "it has not begun";
  // As long as it is not kept, it is asked for.
  EXPECT_NE(decide_rollout(rollout.view, rollout.now + hours(1)).as<TakeBaseline>(), nullptr);
  EXPECT_EQ(rollout.settle(), "Upgrading");
  EXPECT_EQ(rollout.baselines, 1);
  // The same version allowed again after it was rolled back: what was measured then is old.
  rollout.finish(1);
  rollout.settle();
  rollout.view.gates = {{"inference", Outcome::failed, "slow", false}};
  rollout.settle();
  rollout.finish(1);
  rollout.view.gates = {{"inference", Outcome::passed, "", false}};
  EXPECT_EQ(rollout.settle(), "RolledBack");
  rollout.view.gates.clear();
  rollout.set_version("new", "580");
  EXPECT_EQ(rollout.settle(), "Held");
  EXPECT_EQ(rollout.baselines, 1);
  rollout.command("retry");
  EXPECT_EQ(rollout.settle(), "Upgrading");
  EXPECT_EQ(rollout.baselines, 2);
}

// The version that was about to begin is reverted before any wave was open.
TEST(DecideRollout, ABaselineThatIsNoLongerWantedIsForgotten) {
  TestRollout rollout(3, R"(
  waves:
    - {name: all, nodes: {rest: true}, gates: [inference]}
)");
  rollout.settle();
  rollout.set_version("new", "580");
  for (int i = 0; i < 10 && rollout.view.status.reason != "TakingBaseline"; ++i) rollout.step();
  ASSERT_EQ(rollout.view.status.reason, "TakingBaseline");
  rollout.set_version("old", "570");
  EXPECT_EQ(rollout.settle(), "Pending");
  EXPECT_EQ(rollout.view.status.reason, "NothingToDo");
  EXPECT_EQ(rollout.baselines, 0);
}

// A string that is longer than what is kept is not written repeatedly.
TEST(DecideRollout, ALongReasonIsWrittenOnce) {
  TestRollout rollout(2, R"(
  waves:
    - {name: all, nodes: {rest: true}, gates: [driver]}
)");
  rollout.begin();
  rollout.finish(1);
  rollout.finish(2);
  rollout.settle();
  rollout.view.gates = {{"driver", Outcome::running, std::string(3000, 'x'), false}};
  rollout.settle();
  EXPECT_EQ(rollout.phase(), "Gating");
  EXPECT_TRUE(
      std::holds_alternative<std::monostate>(decide_rollout(rollout.view, rollout.now).write));
}

TEST(DecideRollout, AnApprovalByAUserOutsideTheGroupsIsIgnoredAndSaid) {
  TestRollout rollout(3, R"(
  waves:
    - {name: canary, nodes: {count: 1}, approvers: {groups: [sre]}}
    - {name: rest, nodes: {rest: true}}
)");
  rollout.begin();
  rollout.finish(1);
  EXPECT_EQ(rollout.settle(), "AwaitingApproval");
  rollout.command("promote");
  EXPECT_EQ(rollout.settle(), "AwaitingApproval");
  EXPECT_EQ(rollout.view.status.history.back().reason, "CommandIgnored");
  EXPECT_EQ(rollout.view.status.history.back().text,
            "promote: wave canary needs an approver from sre, and alice is not a member");
  rollout.command("promote");
  rollout.view.command->groups = {"sre"};
  EXPECT_EQ(rollout.settle(), "Upgrading");
  EXPECT_EQ(rollout.view.status.waves[0].approved_by, "alice");
}

// A user's command with a very long name is done once, too.
TEST(DecideRollout, ALongCommandIsDoneOnce) {
  TestRollout rollout(2, R"(
  waves:
    - {name: all, nodes: {rest: true}}
)");
  rollout.begin();
  Command command{"abort", "", std::string(2000, 'a'), rollout.now, ""};
  rollout.view.command = Command::parse(print_json(command.to_json()));
  EXPECT_EQ(rollout.settle(), "Held");
  size_t entries = rollout.view.status.history.size();
  EXPECT_EQ(rollout.settle(), "Held");
  EXPECT_EQ(rollout.view.status.history.size(), entries);
}

}  // namespace
}  // namespace lockstep::rollout::decide_rollout_test
