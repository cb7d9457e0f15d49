#include "rollout/command_rules.h"

#include <gtest/gtest.h>

#include "rollout/rollout_test_util.h"

namespace lockstep::rollout::command_rules_test {
namespace {

RolloutSpec spec_of(const std::string& yaml) { return TestRollout(3, yaml).view.spec; }

constexpr const char* two_waves = R"(
  waves:
    - {name: canary, nodes: {count: 1}}
    - {name: rest, nodes: {rest: true}}
)";

RolloutStatus status_in(Phase phase) {
  RolloutStatus status;
  status.phase = phase;
  if (phase == Phase::pending) return status;
  status.from = revision("old", "570");
  status.to = revision("new", "580");
  status.open_waves = phase == Phase::rolled_back ? 0 : 1;
  status.waves.resize(2);
  status.waves[0].name = "canary";
  status.waves[0].opened = Time::from_unix(1);
  status.waves[0].done = 1;
  status.waves[1].name = "rest";
  return status;
}

bool works(const std::string& verb, const RolloutSpec& spec, const RolloutStatus& status) {
  Command command;
  command.verb = verb;
  return refusal_of(command, spec, status).empty();
}

// In each phase these commands do something, and no others.
TEST(CommandRules, EachPhaseHasItsCommands) {
  const std::vector<std::pair<Phase, std::set<std::string>>> table = {
      {Phase::pending, {"pause"}},
      {Phase::upgrading, {"pause", "abort", "rollback"}},
      {Phase::gating, {"pause", "abort", "rollback"}},
      {Phase::baking, {"pause", "abort", "rollback"}},
      {Phase::awaiting_approval, {"pause", "abort", "rollback", "promote"}},
      {Phase::promoting, {"pause", "abort", "rollback"}},
      {Phase::complete, {"pause", "rollback"}},
      {Phase::held, {"pause", "retry", "rollback", "promote"}},
      {Phase::rolling_back, {"pause", "abort"}},
      {Phase::rolled_back, {"pause"}},
  };
  const RolloutSpec spec = spec_of(two_waves);
  const RolloutSpec paused = spec_of(std::string(two_waves) + "  paused: true\n");
  for (const auto& [phase, expected] : table) {
    for (const char* verb : {"promote", "pause", "resume", "abort", "retry", "rollback"}) {
      EXPECT_EQ(works(verb, spec, status_in(phase)), expected.contains(verb))
          << verb << " in " << to_string(phase);
    }
    EXPECT_FALSE(works("pause", paused, status_in(phase)));
    EXPECT_TRUE(works("resume", paused, status_in(phase)));
  }
}

TEST(CommandRules, ARefusalNamesWhatWorksInstead) {
  auto refused = [](const std::string& verb, Phase phase) {
    Command command;
    command.verb = verb;
    auto checked = check_command("driver", command, spec_of(two_waves), status_in(phase));
    EXPECT_FALSE(checked);
    return checked ? std::string() : checked.error().text();
  };
  EXPECT_EQ(refused("promote", Phase::complete),
            "rollout driver: promote changes nothing: the rollout to 580 is Complete. Next: "
            "lockstep rollout rollback | pause driver");
  EXPECT_EQ(refused("promote", Phase::baking),
            "rollout driver: promote changes nothing: the bake of wave canary is in progress. "
            "Next: lockstep rollout promote --force | rollback | abort | pause driver");
  EXPECT_EQ(refused("rollback", Phase::rolled_back),
            "rollout driver: rollback changes nothing: the rollout was rolled back to 570 already. "
            "Next: lockstep rollout pause driver");
  EXPECT_EQ(refused("sing", Phase::held),
            "rollout driver: sing changes nothing: there is no command \"sing\". Next: lockstep "
            "rollout promote | retry | rollback | pause driver");
}

TEST(CommandRules, PromoteNamesTheCurrentWaveAndNeedsItsNodes) {
  RolloutStatus status = status_in(Phase::held);
  Command promote;
  promote.verb = "promote";
  promote.wave = "rest";
  EXPECT_EQ(refusal_of(promote, spec_of(two_waves), status),
            "the current wave is canary, not rest");
  promote.wave = "canary";
  EXPECT_EQ(refusal_of(promote, spec_of(two_waves), status), "");
  status.waves[0].pending = 2;
  EXPECT_EQ(refusal_of(promote, spec_of(two_waves), status),
            "2 nodes of wave canary are not upgraded");
}

TEST(CommandRules, WhatIsHeldDuringARollbackIsNotPromoted) {
  RolloutStatus status = status_in(Phase::held);
  status.waves_to_return = 2;
  EXPECT_FALSE(works("promote", spec_of(two_waves), status));
  EXPECT_TRUE(works("retry", spec_of(two_waves), status));
  EXPECT_TRUE(works("rollback", spec_of(two_waves), status));
}

TEST(CommandRules, RollbackNeedsAVersionThatLockstepCanSet) {
  RolloutStatus status = status_in(Phase::complete);
  status.from = {};
  EXPECT_FALSE(works("rollback", spec_of(two_waves), status));
  RolloutSpec spec = spec_of(two_waves);
  spec.driver.kind = DriverKind::daemon_set;
  EXPECT_FALSE(works("rollback", spec, status_in(Phase::complete)));
}

// An old or hand-edited status: no wave is named that is not there.
TEST(CommandRules, AnyStatusIsReadWithinItsBounds) {
  for (int64_t open : {int64_t{-3}, int64_t{0}, int64_t{99}}) {
    RolloutStatus status = status_in(Phase::held);
    status.open_waves = open;
    EXPECT_FALSE(works("promote", spec_of(two_waves), status)) << open;
    EXPECT_TRUE(works("rollback", spec_of(two_waves), status)) << open;
  }
}

TEST(CommandRules, RollbackEndsAPauseInTheSamePatch) {
  Command rollback;
  rollback.verb = "rollback";
  const RolloutSpec paused = spec_of(std::string(two_waves) + "  paused: true\n");
  EXPECT_EQ(*find(patch_of(rollback, paused), "spec", "paused"), Json(false));
  EXPECT_EQ(find(patch_of(rollback, spec_of(two_waves)), "spec"), nullptr);
  EXPECT_TRUE(works("rollback", paused, status_in(Phase::rolling_back)));
  Command pause;
  pause.verb = "pause";
  EXPECT_EQ(print_json(patch_of(pause, paused)), R"({"spec":{"paused":true}})");
}

}  // namespace
}  // namespace lockstep::rollout::command_rules_test
