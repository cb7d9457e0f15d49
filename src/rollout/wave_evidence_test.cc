#include "rollout/wave_evidence.h"

#include <gtest/gtest.h>

#include "rollout/rollout_test_util.h"

namespace lockstep::rollout::wave_evidence_test {
namespace {

constexpr const char* canary_then_rest = R"(
  waves:
    - {name: canary, nodes: {count: 1}}
    - {name: rest, nodes: {rest: true}}
)";
constexpr const char* labelled_canary = R"(
  waves:
    - {name: canary, nodes: {matchLabels: {gpu-canary: "true"}}}
    - {name: rest, nodes: {rest: true}}
)";

using Names = std::vector<std::string>;

TEST(NoWavePassesWithoutAnUpgradedNode, LabelsThatMatchNoNodeHold) {
  TestRollout rollout(6, labelled_canary);
  EXPECT_EQ(rollout.begin(), "Held");
  EXPECT_EQ(rollout.view.status.reason, "WaveEmpty");
  EXPECT_EQ(rollout.view.status.message, "wave canary matches no node (gpu-canary=true)");
  EXPECT_FALSE(rollout.is_open(0));
  EXPECT_FALSE(rollout.is_open(1));
  rollout.label(3, "gpu-canary", "true");
  EXPECT_EQ(rollout.settle(), "Upgrading") << "it continues by itself";
  EXPECT_EQ(rollout.view.recorded[0]->nodes, (Names{"gpu-3"}));
}

TEST(NoWavePassesWithoutAnUpgradedNode, ACanaryWhoseOnlyNodeIsSkippedHolds) {
  TestRollout rollout(6, labelled_canary);
  rollout.label(2, "gpu-canary", "true");
  rollout.skip(2);
  EXPECT_EQ(rollout.begin(), "Held");
  EXPECT_EQ(rollout.view.status.reason, "WaveEmpty");
  EXPECT_EQ(
      rollout.view.status.message,
      "wave canary has no node that can be upgraded now; excluded: gpu-2 (skipped by a user)");
}

TEST(NoWavePassesWithoutAnUpgradedNode, TheFirstNodesByNameAreNotTakenWhenTheyAreExcluded) {
  TestRollout rollout(6, canary_then_rest);
  rollout.skip(1);
  rollout.exclude(2, "not Ready");
  EXPECT_EQ(rollout.begin(), "Upgrading");
  EXPECT_EQ(rollout.view.recorded[0]->nodes, (Names{"gpu-3"}));
}

TEST(NoWavePassesWithoutAnUpgradedNode, ASkipAfterOpeningHoldsUntilTheNodeReturns) {
  TestRollout rollout(6, canary_then_rest);
  rollout.begin();
  rollout.skip(1);
  EXPECT_EQ(rollout.settle(), "Held");
  EXPECT_EQ(rollout.view.status.reason, "WaveEmpty");
  EXPECT_FALSE(rollout.is_open(1));
  rollout.node(1).skipped = false;
  EXPECT_EQ(rollout.settle(), "Upgrading");
  rollout.finish(1);
  rollout.settle();
  EXPECT_TRUE(rollout.is_open(1));
}

TEST(NoWavePassesWithoutAnUpgradedNode, ACanaryDeletedDuringItsBakeHolds) {
  TestRollout rollout(6, R"(
  waves:
    - {name: canary, nodes: {count: 1}, bake: {duration: 48h}}
    - {name: rest, nodes: {rest: true}}
)");
  rollout.begin();
  rollout.finish(1);
  ASSERT_EQ(rollout.settle(), "Baking");
  rollout.remove(1);
  rollout.view.bake = BakeView{Outcome::passed, false, "48h without an incident", ""};
  EXPECT_EQ(rollout.settle(), "Held");
  EXPECT_EQ(rollout.view.status.reason, "WaveEmpty");
  EXPECT_FALSE(rollout.is_open(1));
}

TEST(NoWavePassesWithoutAnUpgradedNode, EveryKindKeepsAnUpgradedNode) {
  TestRollout rollout(6, R"(
  waves:
    - {name: canary, nodes: {count: 2}, stratify: [model]}
    - {name: rest, nodes: {rest: true}}
)");
  for (int i : {1, 2, 3}) rollout.label(i, "model", "H100");
  for (int i : {4, 5, 6}) rollout.label(i, "model", "L4");
  rollout.begin();
  ASSERT_EQ(rollout.view.recorded[0]->nodes, (Names{"gpu-1", "gpu-4"}));
  rollout.finish(1);
  rollout.remove(4);
  EXPECT_EQ(rollout.settle(), "Held");
  EXPECT_EQ(rollout.view.status.reason, "WaveTooSmall");
  EXPECT_EQ(rollout.view.status.message,
            "wave canary needs an upgraded node of each kind (model), and has none of L4");
  rollout.command("retry");
  EXPECT_EQ(rollout.settle(), "Upgrading");
  EXPECT_EQ(rollout.view.recorded[0]->nodes, (Names{"gpu-1", "gpu-5"}));
}

// By a clock that was set back, every node came after the rollout started.
TEST(NoWavePassesWithoutAnUpgradedNode, AClockThatWasSetBackLeavesNoWaveEmpty) {
  TestRollout rollout(6, R"(
  waves:
    - {name: canary, nodes: {count: 1}}
    - {name: half, nodes: {percent: 50}}
    - {name: rest, nodes: {rest: true}}
)");
  rollout.now = rollout.now - hours(24);
  rollout.begin();
  rollout.finish(1);
  EXPECT_EQ(rollout.settle(), "Upgrading");
  EXPECT_EQ(rollout.view.recorded[1]->nodes, (Names{"gpu-2", "gpu-3", "gpu-4"}));
  EXPECT_FALSE(rollout.is_open(2));
}

TEST(NoWavePassesWithoutAnUpgradedNode, AFleetThatBecomesEmptyDoesNotComplete) {
  TestRollout rollout(1, canary_then_rest);
  rollout.begin();
  rollout.remove(1);
  rollout.settle();
  EXPECT_NE(rollout.phase(), "Complete");
}

TEST(WaveTooSmall, SaysHowManyAreMissingAndWhichAreExcluded) {
  TestRollout rollout(3, R"(
  waves:
    - {name: canary, nodes: {count: 3}}
    - {name: rest, nodes: {rest: true}}
)");
  rollout.exclude(2, "not Ready");
  EXPECT_EQ(rollout.begin(), "Held");
  EXPECT_EQ(rollout.view.status.reason, "WaveTooSmall");
  EXPECT_EQ(rollout.view.status.message,
            "wave canary asks for 3 nodes, and 2 can be upgraded now; excluded: gpu-2 (not Ready)");
}

TEST(WaveTooSmall, IsSaidOnceAndNotWrittenAgain) {
  TestRollout rollout(3, labelled_canary);
  rollout.begin();
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(std::holds_alternative<std::monostate>(rollout.step().write));
  }
}

TEST(WaveTooSmall, ALaterWaveHoldsAndKeepsWhatHasPassed) {
  TestRollout rollout(4, R"(
  waves:
    - {name: canary, nodes: {count: 1}}
    - {name: marked, nodes: {matchLabels: {tier: "2"}}}
    - {name: rest, nodes: {rest: true}}
)");
  rollout.begin();
  rollout.finish(1);
  EXPECT_EQ(rollout.settle(), "Held");
  EXPECT_EQ(rollout.view.status.reason, "WaveEmpty");
  EXPECT_EQ(rollout.view.status.waves[0].verdict, Outcome::passed);
  rollout.label(2, "tier", "2");
  EXPECT_EQ(rollout.settle(), "Upgrading");
  EXPECT_TRUE(rollout.is_open(1));
}

// Whatever is left was left out by a user: nothing is upgraded without evidence.
TEST(WaveTooSmall, AWaveForWhichNoNodeIsLeftIsPassedOver) {
  TestRollout rollout(3, R"(
  waves:
    - {name: canary, nodes: {count: 2}}
    - {name: tenth, nodes: {percent: 10}, gates: [driver]}
    - {name: rest, nodes: {rest: true}, bake: {duration: 1h}}
)");
  rollout.skip(3);
  rollout.begin();
  rollout.finish(1);
  rollout.finish(2);
  EXPECT_EQ(rollout.settle(), "Complete");
  EXPECT_EQ(rollout.view.status.waves[1].verdict_text, "no node remained for this wave");
}

TEST(SpecChanged, FewerWavesThanHaveOpenedHoldAndContinue) {
  constexpr const char* three = R"(
  waves:
    - {name: canary, nodes: {count: 1}}
    - {name: tenth, nodes: {percent: 20}}
    - {name: rest, nodes: {rest: true}}
)";
  TestRollout rollout(10, three);
  rollout.begin();
  rollout.finish(1);
  rollout.settle();
  ASSERT_TRUE(rollout.is_open(1));
  rollout.set_spec("  waves:\n    - {name: canary, nodes: {rest: true}}\n");
  EXPECT_EQ(rollout.settle(), "Held");
  EXPECT_EQ(rollout.view.status.reason, "SpecChanged");
  EXPECT_EQ(rollout.view.status.waves.size(), 3U) << "nothing is forgotten";
  rollout.command("retry");
  EXPECT_EQ(rollout.settle(), "Held");
  rollout.command("promote");
  EXPECT_EQ(rollout.settle(), "Held");
  rollout.set_spec(three);
  EXPECT_EQ(rollout.settle(), "Upgrading");
  EXPECT_TRUE(rollout.is_open(1));
}

TEST(SpecChanged, ARenamedOpenWaveHoldsWhateverThePhase) {
  const std::string waves = R"(
  waves:
    - {name: canary, nodes: {count: 1}, approval: required}
    - {name: rest, nodes: {rest: true}}
)";
  TestRollout rollout(4, waves);
  rollout.begin();
  rollout.finish(1);
  ASSERT_EQ(rollout.settle(), "AwaitingApproval");
  rollout.set_spec(R"(
  waves:
    - {name: first, nodes: {count: 1}, approval: required}
    - {name: rest, nodes: {rest: true}}
)");
  EXPECT_EQ(rollout.settle(), "Held");
  rollout.set_spec(waves);
  EXPECT_EQ(rollout.settle(), "AwaitingApproval") << "no approval was given meanwhile";
}

TEST(SpecChanged, RollbackGoesOnWhateverTheSpecSays) {
  TestRollout rollout(10, R"(
  waves:
    - {name: canary, nodes: {count: 1}}
    - {name: tenth, nodes: {percent: 20}}
    - {name: rest, nodes: {rest: true}}
)");
  rollout.begin();
  rollout.finish(1);
  rollout.settle();
  rollout.finish(2);
  rollout.set_spec("  waves:\n    - {name: all, nodes: {rest: true}}\n");
  rollout.settle();
  rollout.command("rollback");
  rollout.settle();
  for (int i = 1; i <= 10; ++i) rollout.finish(i);
  EXPECT_EQ(rollout.settle(), "RolledBack");
}

TEST(SpecChanged, TheVersionBeforeSetByHandIsARollback) {
  TestRollout rollout(4, canary_then_rest);
  rollout.begin();
  rollout.finish(1);
  rollout.settle();
  rollout.set_spec("  waves:\n    - {name: all, nodes: {rest: true}}\n");
  ASSERT_EQ(rollout.settle(), "Held");
  rollout.set_version("old", "570");
  rollout.settle();
  for (int i = 1; i <= 4; ++i) rollout.finish(i);
  EXPECT_EQ(rollout.settle(), "RolledBack");
}

TEST(SpecChanged, AMistakeMeanwhileDoesNotKeepItHeld) {
  TestRollout rollout(4, labelled_canary);
  rollout.begin();
  ASSERT_EQ(rollout.view.status.reason, "WaveEmpty");
  rollout.view.spec.problems = {"spec.waves[0].nodes: must say which"};
  rollout.settle();
  rollout.view.spec.problems.clear();
  rollout.label(3, "gpu-canary", "true");
  EXPECT_EQ(rollout.settle(), "Upgrading");
}

TEST(WaveTooSmall, IsMeasuredBeforeItOpensAfterAll) {
  TestRollout rollout(4, R"(
  waves:
    - {name: canary, nodes: {matchLabels: {gpu-canary: "true"}}, gates: [inference]}
    - {name: rest, nodes: {rest: true}}
)");
  rollout.begin();
  ASSERT_EQ(rollout.phase(), "Held");
  rollout.label(3, "gpu-canary", "true");
  EXPECT_EQ(rollout.settle(), "Upgrading");
  EXPECT_EQ(rollout.baselines, 1);
}

TEST(WaveTooSmall, WavesOfTheVersionBeforeAreNotOpenForTheNext) {
  TestRollout rollout(4, canary_then_rest);
  rollout.begin();
  rollout.finish(1);
  rollout.settle();
  ASSERT_EQ(rollout.view.status.open_waves, 2);
  rollout.set_version("newer", "590");
  for (int i = 1; i <= 4; ++i) rollout.exclude(i, "not Ready");
  EXPECT_EQ(rollout.settle(), "Held");
  EXPECT_EQ(rollout.view.status.open_waves, 0);
}

TEST(SpecChanged, ABakeThatIsRemovedInTheMiddleHolds) {
  TestRollout rollout(4, R"(
  waves:
    - {name: canary, nodes: {count: 1}, bake: {duration: 1h}}
    - {name: rest, nodes: {rest: true}}
)");
  rollout.begin();
  rollout.finish(1);
  ASSERT_EQ(rollout.settle(), "Baking");
  rollout.set_spec(canary_then_rest);
  EXPECT_EQ(rollout.settle(), "Held");
  EXPECT_EQ(rollout.view.status.reason, "BakeRemoved");
}

TEST(SpecChanged, WavesAreAddedAtTheEnd) {
  TestRollout rollout(4, R"(
  waves:
    - {name: canary, nodes: {count: 1}}
    - {name: some, nodes: {count: 1}}
)");
  rollout.begin();
  rollout.set_spec(R"(
  waves:
    - {name: canary, nodes: {count: 1}}
    - {name: some, nodes: {count: 1}}
    - {name: rest, nodes: {rest: true}}
)");
  rollout.finish(1);
  EXPECT_EQ(rollout.settle(), "Upgrading");
  EXPECT_TRUE(rollout.is_open(1));
  EXPECT_FALSE(rollout.is_open(2));
}

// A status that was edited by hand, or written by an older version.
TEST(SpecChanged, NoStatusIndexesBeyondTheWaves) {
  for (int64_t open : {int64_t{-5}, int64_t{0}, int64_t{7}, int64_t{1} << 40}) {
    for (Phase phase : {Phase::pending, Phase::upgrading, Phase::gating, Phase::baking,
                        Phase::awaiting_approval, Phase::promoting, Phase::complete, Phase::held,
                        Phase::rolling_back, Phase::rolled_back}) {
      for (const char* verb : {"", "retry", "promote", "rollback", "abort"}) {
        TestRollout rollout(3, canary_then_rest);
        rollout.begin();
        rollout.view.status.phase = phase;
        rollout.view.status.open_waves = open;
        rollout.view.status.waves_to_return = open;
        rollout.view.status.waves.clear();
        rollout.view.status = read_rollout_status(
            JsonObject{{"status", rollout_status_to_json(rollout.view.status)}});
        if (*verb != 0) rollout.command(verb);
        rollout.settle();
        EXPECT_LE(rollout.view.status.open_waves, 2);
      }
    }
  }
}

TEST(Complete, SaysWhichNodesFailed) {
  TestRollout rollout(4, canary_then_rest);
  rollout.view.max_failures = 2;
  rollout.begin();
  rollout.finish(1);
  rollout.settle();
  rollout.finish(2);
  rollout.finish(3);
  rollout.fail_node(4);
  EXPECT_EQ(rollout.settle(), "Complete");
  EXPECT_EQ(rollout.view.status.reason, "CompleteWithFailures");
  EXPECT_NE(rollout.view.status.message.find("gpu-4"), std::string::npos);
  EXPECT_NE(rollout.view.status.waves[1].verdict_text.find("1 failed (gpu-4)"), std::string::npos);
}

TEST(GateRefused, IsSaidOnceAndTriedAgain) {
  TestRollout rollout(4, R"(
  waves:
    - {name: canary, nodes: {count: 1}, gates: [driver]}
    - {name: rest, nodes: {rest: true}}
)");
  rollout.begin();
  rollout.finish(1);
  rollout.view.gate_refusal = "jobs.batch is forbidden";
  int written = 0;
  int tried = 0;
  for (int i = 0; i < 10; ++i) {
    RolloutDecision decision = rollout.step();
    rollout.view.gates.clear();
    if (decision.as<StatusWrite>() != nullptr) ++written;
    if (decision.as<StartGates>() != nullptr) ++tried;
  }
  EXPECT_EQ(rollout.view.status.reason, "GateRefused");
  EXPECT_EQ(written, 2) << "that it gates, and that it is refused";
  EXPECT_EQ(tried, 8);
}

// Upgrades are switched off, so that no node learns of the version.
TEST(AVersionThatChangesWhileFrozen, IsWrittenOnce) {
  TestRollout rollout(4, canary_then_rest);
  rollout.begin();
  rollout.finish(1);
  rollout.settle();
  const auto waves = rollout.view.status.waves;
  rollout.set_version("newer", "590");
  for (RolloutNode& node : rollout.view.nodes) node.state = fleet::State::done;
  rollout.settle();
  const auto history = rollout.view.status.history;
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(std::holds_alternative<std::monostate>(rollout.step().write));
  }
  EXPECT_EQ(rollout.view.status.history, history);
  EXPECT_EQ(rollout.view.status.waves[0].verdict, waves[0].verdict)
      << "results stay until it starts";
}

}  // namespace
}  // namespace lockstep::rollout::wave_evidence_test
