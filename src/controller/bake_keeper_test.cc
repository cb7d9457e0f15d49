#include "controller/bake_keeper.h"

#include <gtest/gtest.h>

#include "rollout/rollout_spec.h"

namespace lockstep::controller::bake_keeper_test {
namespace {

const Time began = Time::from_unix(1'800'000'000);

BakeNode node(const std::string& name, bool upgraded, bool busy, const std::string& health) {
  auto made = std::make_shared<Node>();
  made->meta.name = name;
  made->meta.labels = StringMap{{rollout::gpu_model_label, "H100"},
                                {"nvidia.com/gpu.count", "8"},
                                {"nvidia.com/cuda.driver-version.full", upgraded ? "580" : "570"}};
  if (!health.empty()) made->meta.annotations = StringMap{{view::health_annotation, health}};
  return {made, upgraded, busy, upgraded ? "580" : ""};
}

KeptBake fresh() {
  KeptBake kept;
  kept.record.began = began;
  kept.record.rules.duration = hours(2);
  kept.record.rules.max_duration = hours(4);
  return kept;
}

// So long after the bake began, by every clock.
void look(KeptBake& kept, const std::vector<BakeNode>& nodes, Duration after,
          HealthMemory* memory = nullptr) {
  const Duration passed = kept.until.is_set() ? began + after - kept.until : Duration::zero();
  look_at_bake(kept, nodes, began + after, passed, memory);
}

int64_t events_of(const KeptBake& kept, bool upgraded) {
  int64_t sum = 0;
  for (const rollout::BakeStep& step : kept.record.steps) {
    for (const rollout::ModelStep& model : step.models) {
      for (const auto& [name, counts] : upgraded ? model.upgraded_events : model.control_events) {
        for (const auto& [kind, count] : counts) sum += count;
      }
    }
  }
  return sum;
}

ConfigMap as_map(const KeptBake& kept) {
  Json json = kept.to_json({"ns", "name"}, "driver", "");
  ConfigMap map;
  for (const auto& [key, value] : json.at("data").as_object()) {
    map.data.set(Text(std::string_view(key)), Text(as_text(&value)));
  }
  return map;
}

TEST(BakeKeeper, CountsTheGpuHoursOfBusyNodesOnly) {
  KeptBake kept = fresh();
  std::vector<BakeNode> nodes{node("a", true, true, "{\"gpus\":8}"),
                              node("b", true, false, "{\"gpus\":8}"),
                              node("c", false, true, "{\"gpus\":8}")};
  look(kept, nodes, hours(0));
  look(kept, nodes, hours(1));
  look(kept, nodes, hours(2));
  rollout::BakeVerdict verdict = kept.record.judge();
  EXPECT_DOUBLE_EQ(verdict.gpu_hours, 16);
  EXPECT_DOUBLE_EQ(verdict.control_gpu_hours, 16);
  // Hours in which nothing happened are kept as one step.
  EXPECT_EQ(kept.record.steps.size(), 1U);
  EXPECT_EQ(judge_bake(kept).outcome, rollout::Outcome::passed);
}

// A fatal error kills the work: a busy node is idle at the next observation, and what happened on
// it belongs to the hours in which it was busy.
TEST(BakeKeeper, ExposureIsWhatWasKnownBeforeTheInterval) {
  KeptBake kept = fresh();
  std::vector<BakeNode> nodes{node("a", true, true, "{}"), node("b", true, true, "{}"),
                              node("c", false, true, "{}")};
  look(kept, nodes, hours(0));
  nodes[0] = node("a", true, false, "{\"FatalXid\":10,\"GpuLost\":2,\"UncorrectableEcc\":4}");
  look(kept, nodes, hours(1));
  const rollout::ModelStep& hit = kept.record.steps.back().models[0];
  EXPECT_EQ(hit.upgraded_hours, 16);
  EXPECT_EQ(hit.upgraded_events.at("a").at("FatalXid"), 10);
  EXPECT_GT(kept.record.judge().evidence, 1);
  // Idle since: of two nodes one adds hours, and of a node that is counted none are compared.
  nodes[1] = node("b", true, true, "{\"FatalXid\":1}");
  look(kept, nodes, hours(2));
  nodes[0] = node("a", true, true, "{\"FatalXid\":10,\"GpuLost\":2,\"UncorrectableEcc\":4}");
  look(kept, nodes, hours(3));
  look(kept, nodes, hours(4));
  const rollout::ModelStep& last = kept.record.steps.back().models[0];
  EXPECT_EQ(last.upgraded_hours, 8 + 16);
  EXPECT_EQ(last.upgraded_repeat_hours[0], 8 + 16);
  EXPECT_EQ(judge_bake(kept).outcome, rollout::Outcome::inconclusive);
}

TEST(BakeKeeper, CountsWhatIsNewSinceTheBakeBegan) {
  KeptBake kept = fresh();
  look(kept, {node("a", true, true, "{\"FatalXid\":5}"), node("c", false, true, "{}")}, hours(0));
  look(kept,
       {node("a", true, true, "{\"FatalXid\":7}"), node("c", false, true, "{\"FatalXid\":1}")},
       minutes(5));
  // A machine that came up again counts from nothing.
  look(kept,
       {node("a", true, true, "{\"FatalXid\":1}"), node("c", false, true, "{\"FatalXid\":1}")},
       minutes(10));
  EXPECT_EQ(events_of(kept, true), 3);
  EXPECT_EQ(events_of(kept, false), 1);
}

TEST(BakeKeeper, ANodesFirstReportIsItsZero) {
  KeptBake kept = fresh();
  look(kept, {node("a", true, true, ""), node("c", false, true, "{}")}, hours(0));
  look(kept,
       {node("a", true, true, "{\"FatalXid\":50}"), node("c", false, true, "{}"),
        node("late", false, true, "{\"FatalXid\":9}")},
       minutes(5));
  EXPECT_EQ(events_of(kept, true) + events_of(kept, false), 0);
  KeptBake read = *KeptBake::from_map(as_map(kept));
  look(read,
       {node("a", true, true, "{\"FatalXid\":51}"), node("c", false, true, "{\"FatalXid\":2}")},
       minutes(10));
  EXPECT_EQ(events_of(read, true), 1);
  EXPECT_EQ(events_of(read, false), 2) << "it had reported that there were none";
}

TEST(BakeKeeper, NoDataIsNeverAPass) {
  KeptBake kept = fresh();
  std::vector<BakeNode> nodes{node("a", true, true, ""), node("b", true, true, "{\"gpus\":8}")};
  look(kept, nodes, hours(0));
  look(kept, nodes, hours(2));
  rollout::BakeView view = judge_bake(kept);
  EXPECT_EQ(view.outcome, rollout::Outcome::inconclusive);
  EXPECT_EQ(view.text, "NoData: 1 of 2 upgraded nodes report no GPU health");
}

TEST(BakeKeeper, WhatBreaksDuringTheBakeFailsUnlessTheControlSideBreaksToo) {
  struct Case {
    const char* health;
    const char* rule;
  };
  for (const Case& each :
       {Case{"{\"gpus\":7}", "GpuMissing"}, Case{"{\"linksDown\":1}", "LinkDown"},
        Case{"{\"rowRemapFailures\":2}", "RowRemapFailure"}}) {
    for (bool both : {false, true}) {
      KeptBake kept = fresh();
      look(kept, {node("a", true, true, "{\"gpus\":8}"), node("c", false, true, "{\"gpus\":8}")},
           hours(0));
      const std::vector<BakeNode> broken{
          node("a", true, true, each.health),
          node("c", false, true, both ? each.health : "{\"gpus\":8}")};
      look(kept, broken, minutes(5));
      EXPECT_EQ(judge_bake(kept).outcome, rollout::Outcome::running)
          << "it may be a label that lags";
      look(kept, broken, minutes(10));
      rollout::BakeView view = judge_bake(kept);
      EXPECT_EQ(view.outcome, rollout::Outcome::failed) << each.rule;
      EXPECT_EQ(view.hold, both);
      EXPECT_EQ(view.text.find(each.rule), 0U) << view.text;
    }
  }
}

TEST(BakeKeeper, WhatWasBrokenBeforeTheUpgradeIsNotTheDriversDoing) {
  const std::string old = "{\"gpus\":8,\"linksDown\":1,\"rowRemapFailures\":2}";
  KeptBake kept = fresh();
  note_before(kept, {node("a", false, true, old), node("b", false, true, "{\"gpus\":8}")});
  look(kept, {node("a", true, true, old), node("b", true, true, "{\"gpus\":8}")}, hours(0));
  look(kept, {node("a", true, true, old), node("b", true, true, "{\"gpus\":8}")}, minutes(5));
  EXPECT_EQ(judge_bake(kept).outcome, rollout::Outcome::running);
  // One that went down with the upgrade is.
  KeptBake worse = fresh();
  note_before(worse, {node("a", false, true, old), node("b", false, true, "{\"gpus\":8}")});
  look(worse, {node("a", true, true, "{\"linksDown\":2}")}, hours(0));
  KeptBake read = *KeptBake::from_map(as_map(worse));
  look(read, {node("a", true, true, "{\"linksDown\":2}")}, minutes(5));
  EXPECT_EQ(judge_bake(read).text, "LinkDown on a: 2, and 1 before");
  // What is repaired and goes down again is new.
  look(kept, {node("a", true, true, "{\"gpus\":8}")}, minutes(10));
  look(kept, {node("a", true, true, old)}, minutes(15));
  look(kept, {node("a", true, true, old)}, minutes(20));
  EXPECT_EQ(judge_bake(kept).outcome, rollout::Outcome::failed);
}

TEST(BakeKeeper, ANodeThatIsBrokenSinceLongDoesNotExcuseTheDriver) {
  for (const char* health : {"{\"gpus\":7}", "{\"gpus\":8,\"linksDown\":1}"}) {
    KeptBake kept = fresh();
    const BakeNode old = node("c", false, true, health);
    look(kept, {node("a", true, true, "{\"gpus\":8}"), old}, hours(0));
    look(kept, {node("a", true, true, health), old}, minutes(5));
    KeptBake read = *KeptBake::from_map(as_map(kept));
    look(read, {node("a", true, true, health), old}, minutes(10));
    EXPECT_EQ(judge_bake(read).outcome, rollout::Outcome::failed);
    EXPECT_FALSE(judge_bake(read).hold);
  }
}

TEST(BakeKeeper, AnotherVersionThanMeantFailsWhenItLasts) {
  KeptBake kept = fresh();
  BakeNode wrong = node("a", true, true, "");
  wrong.version = "590";
  look(kept, {wrong}, hours(0));
  EXPECT_EQ(judge_bake(kept).outcome, rollout::Outcome::running);
  look(kept, {wrong}, minutes(1));
  EXPECT_EQ(judge_bake(kept).outcome, rollout::Outcome::running);
  look(kept, {wrong}, minutes(2));
  EXPECT_EQ(judge_bake(kept).text, "WrongVersion on a: 580 is loaded instead of 590");
}

TEST(BakeKeeper, ALabelThatLagsRollsNothingBack) {
  KeptBake kept = fresh();
  BakeNode lagging = node("a", true, true, "{\"gpus\":8}");
  lagging.version = "590";
  look(kept, {lagging}, hours(0));
  lagging.version = "580";
  for (int hour = 1; hour <= 2; ++hour) look(kept, {lagging}, hours(hour));
  EXPECT_EQ(judge_bake(kept).outcome, rollout::Outcome::passed);
}

TEST(BakeKeeper, ComesBackFromItsConfigMapAndGoesOn) {
  KeptBake kept = fresh();
  std::vector<BakeNode> nodes{node("a", true, true, "{\"FatalXid\":2}"),
                              node("c", false, true, "{}")};
  look(kept, nodes, hours(0));
  auto read = KeptBake::from_map(as_map(kept));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->busy, kept.busy);
  nodes[0] = node("a", true, true, "{\"FatalXid\":3}");
  look(kept, nodes, minutes(5));
  look(*read, nodes, minutes(5));
  EXPECT_EQ(read->record.text(), kept.record.text());
  EXPECT_EQ(read->seen, kept.seen);
}

// The time of the wall clock is written down and decides nothing.
TEST(BakeKeeper, AStepOfTheClockNeitherEndsABakeNorProlongsIt) {
  KeptBake kept = fresh();
  std::vector<BakeNode> nodes{node("a", true, true, "{}"), node("c", false, true, "{}")};
  look_at_bake(kept, nodes, began, Duration::zero());
  look_at_bake(kept, nodes, began + hours(48), minutes(5));
  EXPECT_EQ(judge_bake(kept).outcome, rollout::Outcome::running);
  EXPECT_EQ(kept.record.judge().passed, minutes(5));
  for (int hour = 1; hour <= 2; ++hour) {
    look_at_bake(kept, nodes, began - hours(20) + hours(hour), hours(1));
  }
  EXPECT_EQ(judge_bake(kept).outcome, rollout::Outcome::passed);
  EXPECT_EQ(kept.record.judge().passed, hours(2) + minutes(5));
}

TEST(BakeKeeper, IsLookedAtAgainWhenItMayEnd) {
  KeptBake kept = fresh();
  EXPECT_EQ(next_look(kept, minutes(5)), minutes(5));
  look(kept, {node("a", true, true, "{}")}, hours(0));
  EXPECT_EQ(next_look(kept, minutes(5)), minutes(5));
  look(kept, {node("a", true, true, "{}")}, hours(2) - minutes(1));
  EXPECT_EQ(next_look(kept, minutes(5)), minutes(1));
  look(kept, {node("a", true, true, "{}")}, hours(2));
  EXPECT_EQ(next_look(kept, minutes(5)), minutes(5));
}

TEST(BakeKeeper, TheUsualExposureIsATenthOfWhatTheUpgradedNodesCanGive) {
  std::vector<BakeNode> nodes{node("a", true, false, "{}"), node("b", true, true, ""),
                              node("c", false, true, "{}")};
  EXPECT_DOUBLE_EQ(usual_gpu_hours(nodes, hours(48)), 0.1 * 16 * 48);
}

TEST(BakeKeeper, TheNextWaveIsGivenOneStepForEachWaveBefore) {
  KeptBake first = fresh();
  std::vector<BakeNode> nodes{node("a", true, true, "{}"), node("b", true, true, "{}"),
                              node("c", false, true, "{}")};
  look(first, nodes, hours(0));
  nodes[0] = node("a", true, true, "{\"FatalXid\":1}");
  look(first, nodes, hours(1));
  look(first, nodes, hours(2));
  KeptBake second = fresh();
  second.record.steps = earlier_steps(first);
  look(second, nodes, hours(3));
  look(second, nodes, hours(4));
  KeptBake third = fresh();
  third.record.steps = earlier_steps(second);
  ASSERT_EQ(third.record.steps.size(), 2U);
  for (const auto& step : third.record.steps) EXPECT_TRUE(step.earlier);
  const rollout::BakeStep& of_first = third.record.steps[0];
  EXPECT_EQ(of_first.at, began + hours(2));
  ASSERT_EQ(of_first.models.size(), 1U);
  EXPECT_EQ(of_first.models[0].upgraded_hours, 32);
  EXPECT_EQ(of_first.models[0].upgraded_events, (rollout::NodeEvents{{"a", {{"FatalXid", 1}}}}));
  EXPECT_EQ(third.record.steps[1].models[0].upgraded_hours, 16);
  EXPECT_EQ(third.record.steps[1].models[0].upgraded_repeat_hours[0], 8)
      << "of the node with events";
  // And it stays so in the ConfigMap.
  look(third, nodes, hours(5));
  ASSERT_TRUE(KeptBake::from_map(as_map(third)));
  EXPECT_EQ(KeptBake::from_map(as_map(third))->record.text(), third.record.text());
}

TEST(BakeKeeper, ABakeThatFoundSomethingIsNotCarriedOn) {
  KeptBake kept = fresh();
  for (Duration after : {minutes(0), minutes(5)}) {
    look(kept, {node("a", true, true, "{\"gpus\":7}")}, after);
  }
  ASSERT_EQ(judge_bake(kept).outcome, rollout::Outcome::failed);
  EXPECT_TRUE(earlier_steps(kept).empty());
}

TEST(BakeKeeper, APluginThatTellsOfAnotherDriverThanIsLoadedIsABreach) {
  for (const char* published : {"570", "580"}) {
    KeptBake kept = fresh();
    BakeNode upgraded = node("a", true, true, "{\"gpus\":8}");
    upgraded.published = {published};
    look(kept, {upgraded}, hours(0));
    look(kept, {upgraded}, minutes(5));
    // The same version, as the plugin writes it, does not fail.
    const bool fails = published == std::string("570");
    EXPECT_EQ(judge_bake(kept).outcome == rollout::Outcome::failed, fails);
    EXPECT_EQ(judge_bake(kept).text.find("PluginDisagrees on a") == 0, fails);
  }
}

TEST(BakeKeeper, ReportsThatWereReadBeforeCountTheSame) {
  HealthMemory memory;
  KeptBake with = fresh();
  KeptBake without = fresh();
  std::vector<BakeNode> nodes{node("a", true, true, "{\"FatalXid\":1}"),
                              node("c", false, true, "{\"gpus\":8}")};
  for (int round = 0; round < 4; ++round) {
    // One of them says something new each time.
    nodes[0] = node("a", true, true, fmt::format("{{\"FatalXid\":{}}}", 1 + round / 2));
    look(with, nodes, minutes(5 * round), &memory);
    look(without, nodes, minutes(5 * round));
  }
  EXPECT_EQ(with.record.text(), without.record.text());
  EXPECT_EQ(with.seen, without.seen);
  EXPECT_EQ(memory.size(), 2U);
}

}  // namespace
}  // namespace lockstep::controller::bake_keeper_test
