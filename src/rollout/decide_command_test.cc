#include <gtest/gtest.h>

#include "rollout/decide_rollout.h"
#include "rollout/rollout_test_util.h"

namespace lockstep::rollout::decide_command_test {
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

TEST(DecideCommand, RetryChoosesTheWaveAgain) {
  TestRollout rollout(6, canary_then_rest);
  rollout.begin();
  rollout.remove(1);
  ASSERT_EQ(rollout.settle(), "Held");
  rollout.command("retry");
  EXPECT_EQ(rollout.settle(), "Upgrading");
  EXPECT_EQ(rollout.view.recorded[0]->nodes, (Names{"gpu-2"}));
  EXPECT_TRUE(rollout.is_open(0));
  EXPECT_FALSE(rollout.is_open(1));
}

TEST(DecideCommand, RollbackFromAHeldRolloutThatNeverOpened) {
  TestRollout rollout(3, labelled_canary);
  rollout.begin();
  rollout.command("rollback");
  rollout.settle();
  for (int i = 1; i <= 3; ++i) rollout.finish(i);
  EXPECT_EQ(rollout.settle(), "RolledBack");
  EXPECT_EQ(rollout.view.target.version, "570");
}

TEST(DecideCommand, PromoteDoesNotOpenAWaveWithoutNodes) {
  TestRollout rollout(3, labelled_canary);
  rollout.begin();
  rollout.command("promote");
  EXPECT_EQ(rollout.settle(), "Held");
  EXPECT_FALSE(rollout.is_open(0));
  EXPECT_EQ(rollout.view.status.history.back().reason, "CommandIgnored");
}

TEST(DecideCommand, AnAbortedHoldIsTriedAgain) {
  TestRollout rollout(3, labelled_canary);
  rollout.begin();
  rollout.command("abort");
  EXPECT_EQ(rollout.settle(), "Held");
  EXPECT_EQ(rollout.view.status.reason, "Aborted");
  rollout.label(1, "gpu-canary", "true");
  rollout.command("retry");
  EXPECT_EQ(rollout.settle(), "Upgrading");
  EXPECT_TRUE(rollout.is_open(0));
}

TEST(DecideCommand, PromoteDoesNotPassAWaveThatLostItsNodes) {
  TestRollout rollout(6, canary_then_rest);
  rollout.begin();
  rollout.remove(1);
  ASSERT_EQ(rollout.settle(), "Held");
  rollout.command("promote");
  EXPECT_EQ(rollout.settle(), "Held");
  EXPECT_FALSE(rollout.is_open(1));
}

TEST(DecideCommand, ARollbackIsHeldNeitherByAnInvalidSpecNorByAChangedOne) {
  for (bool is_invalid : {true, false}) {
    TestRollout rollout(4, canary_then_rest);
    rollout.begin();
    rollout.finish(1);
    rollout.settle();
    if (is_invalid) {
      rollout.view.spec.problems = {"spec.windows[0].timeZone: is unknown"};
    } else {
      rollout.set_spec("  waves:\n    - {name: all, nodes: {rest: true}}\n");
    }
    rollout.settle();
    rollout.command("rollback");
    rollout.settle();
    for (int i = 1; i <= 4; ++i) rollout.finish(i);
    EXPECT_EQ(rollout.settle(), "RolledBack") << is_invalid;
  }
}

}  // namespace
}  // namespace lockstep::rollout::decide_command_test
