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

constexpr const char* approved_by_group = R"(
  waves:
    - {name: canary, nodes: {count: 1}, approvers: {groups: [sre, "CN=gpu,OU=ops"], notAuthor: true}}
    - {name: rest, nodes: {rest: true}}
)";

std::string refusal_to(const std::string& by, const std::vector<std::string>& groups, Phase phase,
                       const std::string& author, bool force = false) {
  Command command;
  command.verb = "promote";
  command.by = by;
  command.groups = groups;
  command.force = force;
  RolloutSpec spec = spec_of(approved_by_group);
  spec.author = author;
  return refusal_of(command, spec, status_in(phase));
}

// Whether it approves, overrides or ends a bake: each lets the wave pass.
TEST(CommandRules, OnlyAMemberOfTheGroupsPromotes) {
  for (Phase phase : {Phase::awaiting_approval, Phase::held, Phase::baking}) {
    const bool force = phase == Phase::baking;
    EXPECT_EQ(refusal_to("bob", {"dev"}, phase, "ann", force),
              "wave canary needs an approver from sre or CN=gpu,OU=ops, and bob is not a member");
    EXPECT_NE(refusal_to("bob", {}, phase, "ann", force), "");
    EXPECT_EQ(refusal_to("bob", {"dev", "CN=gpu,OU=ops"}, phase, "ann", force), "");
  }
  EXPECT_EQ(refusal_to("bob", {}, Phase::baking, "ann"), "the bake of wave canary is in progress");
}

TEST(CommandRules, TheAuthorOfTheSpecDoesNotPromote) {
  EXPECT_EQ(refusal_to("ann", {"sre"}, Phase::awaiting_approval, "ann"),
            "the author of the spec, ann, must not approve wave canary");
  EXPECT_EQ(refusal_to("ann", {"sre"}, Phase::baking, "ann", true),
            "the author of the spec, ann, must not approve wave canary");
  EXPECT_EQ(refusal_to("bob", {"sre"}, Phase::awaiting_approval, ""),
            "the author of the spec must not approve wave canary, and the author is not recorded "
            "(annotation lockstep.dev/spec-by)");
}

TEST(CommandRules, OtherCommandsAndWavesAskForNoGroup) {
  RolloutStatus status = status_in(Phase::held);
  status.open_waves = 2;
  status.waves[1].opened = Time::from_unix(2);
  status.waves[1].done = 1;
  EXPECT_TRUE(works("promote", spec_of(approved_by_group), status));
  EXPECT_TRUE(works("rollback", spec_of(approved_by_group), status_in(Phase::held)));
}

TEST(CommandRules, ACommandCarriesItsUserAndTheGroupsThatMatter) {
  Command command;
  command.verb = "promote";
  command.by = "ann";
  command.groups = groups_asked_for(spec_of(approved_by_group),
                                    {"system:authenticated", "sre", "CN=gpu,OU=ops"});
  const Json patch = patch_of(command, spec_of(approved_by_group));
  EXPECT_EQ(text_at(patch, "metadata", "annotations", command_by_annotation), "ann");
  EXPECT_EQ(text_at(patch, "metadata", "annotations", command_groups_annotation),
            "sre\nCN=gpu,OU=ops");
  EXPECT_EQ(Command::of(patch)->groups, command.groups);
  // What another user left there goes.
  command.groups = groups_asked_for(spec_of(two_waves), {"sre"});
  EXPECT_TRUE(find(patch_of(command, spec_of(two_waves)), "metadata", "annotations",
                   command_groups_annotation)
                  ->is_null());
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
            "rollout driver: rollback changes nothing: the rollout is already rolled back to 570. "
            "Next: lockstep rollout pause driver");
  EXPECT_EQ(refused("sing", Phase::held),
            "rollout driver: sing changes nothing: unknown command \"sing\". Next: lockstep "
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
