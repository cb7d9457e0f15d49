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
  if (!health.empty()) made->meta.annotations = StringMap{{health_annotation, health}};
  return {made, upgraded, busy, upgraded ? "580" : ""};
}

KeptBake fresh() {
  KeptBake kept;
  kept.record.began = began;
  kept.record.rules.duration = hours(2);
  kept.record.rules.max_duration = hours(4);
  return kept;
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
  look_at_bake(kept, nodes, began);
  look_at_bake(kept, nodes, began + hours(1));
  look_at_bake(kept, nodes, began + hours(2));
  rollout::BakeVerdict verdict = kept.record.judge();
  EXPECT_DOUBLE_EQ(verdict.gpu_hours, 16);
  EXPECT_DOUBLE_EQ(verdict.control_gpu_hours, 16);
  // Hours in which nothing happened are kept as one step.
  EXPECT_EQ(kept.record.steps.size(), 1U);
  EXPECT_EQ(judge_bake(kept, began + hours(2)).outcome, rollout::Outcome::passed);
}

TEST(BakeKeeper, CountsWhatIsNewSinceTheBakeBegan) {
  KeptBake kept = fresh();
  look_at_bake(kept, {node("a", true, true, "{\"FatalXid\":5}"), node("c", false, true, "{}")},
               began);
  look_at_bake(
      kept, {node("a", true, true, "{\"FatalXid\":7}"), node("c", false, true, "{\"FatalXid\":1}")},
      began + minutes(5));
  // A machine that came up anew counts from nothing.
  look_at_bake(
      kept, {node("a", true, true, "{\"FatalXid\":1}"), node("c", false, true, "{\"FatalXid\":1}")},
      began + minutes(10));
  rollout::BakeVerdict verdict = kept.record.judge();
  ASSERT_EQ(verdict.kinds.size(), 1U);
  EXPECT_EQ(verdict.kinds[0].upgraded_events, 3);
  EXPECT_EQ(verdict.kinds[0].control_events, 1);
}

TEST(BakeKeeper, NoDataIsNeverAPass) {
  KeptBake kept = fresh();
  std::vector<BakeNode> nodes{node("a", true, true, ""), node("b", true, true, "{\"gpus\":8}")};
  look_at_bake(kept, nodes, began);
  look_at_bake(kept, nodes, began + hours(2));
  rollout::BakeView view = judge_bake(kept, began + hours(2));
  EXPECT_EQ(view.outcome, rollout::Outcome::inconclusive);
  EXPECT_EQ(view.text, "NoData: 1 of 2 upgraded nodes say nothing of their GPUs' health");
}

TEST(BakeKeeper, HardRulesAreLookedAtOnBothSides) {
  struct Case {
    const char* health;
    const char* rule;
  };
  for (const Case& each :
       {Case{"{\"gpus\":7}", "GpuMissing"}, Case{"{\"linksDown\":1}", "LinkDown"},
        Case{"{\"rowRemapFailures\":2}", "RowRemapFailure"}}) {
    KeptBake kept = fresh();
    look_at_bake(kept, {node("a", true, true, each.health)}, began);
    rollout::BakeView view = judge_bake(kept, began);
    EXPECT_EQ(view.outcome, rollout::Outcome::failed) << each.rule;
    EXPECT_FALSE(view.hold);
    EXPECT_EQ(view.text.find(each.rule), 0U) << view.text;
    KeptBake both = fresh();
    look_at_bake(both, {node("a", true, true, each.health), node("c", false, true, each.health)},
                 began);
    EXPECT_TRUE(judge_bake(both, began).hold) << each.rule;
  }
}

TEST(BakeKeeper, AnotherVersionThanMeantFails) {
  KeptBake kept = fresh();
  BakeNode wrong = node("a", true, true, "{}");
  wrong.version = "590";
  look_at_bake(kept, {wrong}, began);
  EXPECT_EQ(judge_bake(kept, began).text, "WrongVersion on a: 580 is loaded instead of 590");
}

TEST(BakeKeeper, ComesBackFromItsConfigMapAndGoesOn) {
  KeptBake kept = fresh();
  std::vector<BakeNode> nodes{node("a", true, true, "{\"FatalXid\":2}"),
                              node("c", false, true, "{}")};
  look_at_bake(kept, nodes, began);
  auto read = KeptBake::from_map(as_map(kept));
  ASSERT_TRUE(read);
  nodes[0] = node("a", true, true, "{\"FatalXid\":3}");
  look_at_bake(kept, nodes, began + minutes(5));
  look_at_bake(*read, nodes, began + minutes(5));
  EXPECT_EQ(read->record.text(), kept.record.text());
  EXPECT_EQ(read->seen, kept.seen);
}

TEST(BakeKeeper, TheNextWaveIsGivenOneStepForEachWaveBefore) {
  KeptBake first = fresh();
  std::vector<BakeNode> nodes{node("a", true, true, "{}"), node("c", false, true, "{}")};
  look_at_bake(first, nodes, began);
  nodes[0] = node("a", true, true, "{\"FatalXid\":1}");
  look_at_bake(first, nodes, began + hours(1));
  look_at_bake(first, nodes, began + hours(2));
  KeptBake second = fresh();
  second.record.steps = earlier_steps(first);
  look_at_bake(second, nodes, began + hours(3));
  look_at_bake(second, nodes, began + hours(4));
  KeptBake third = fresh();
  third.record.steps = earlier_steps(second);
  ASSERT_EQ(third.record.steps.size(), 2U);
  for (const auto& step : third.record.steps) EXPECT_TRUE(step.earlier);
  const rollout::BakeStep& of_first = third.record.steps[0];
  EXPECT_EQ(of_first.at, began + hours(2));
  ASSERT_EQ(of_first.models.size(), 1U);
  EXPECT_EQ(of_first.models[0].upgraded_hours, 16);
  EXPECT_EQ(of_first.models[0].upgraded_events, (std::map<std::string, int64_t>{{"FatalXid", 1}}));
  EXPECT_EQ(third.record.steps[1].models[0].upgraded_hours, 8);
  // And it stays so in the ConfigMap.
  look_at_bake(third, nodes, began + hours(5));
  ASSERT_TRUE(KeptBake::from_map(as_map(third)));
  EXPECT_EQ(KeptBake::from_map(as_map(third))->record.text(), third.record.text());
}

TEST(BakeKeeper, ABakeThatFoundSomethingIsNotCarriedOn) {
  KeptBake kept = fresh();
  look_at_bake(kept, {node("a", true, true, "{\"gpus\":7}")}, began);
  ASSERT_EQ(judge_bake(kept, began).outcome, rollout::Outcome::failed);
  EXPECT_TRUE(earlier_steps(kept).empty());
}

TEST(BakeKeeper, WhatIsNoBakeIsNone) { EXPECT_FALSE(KeptBake::from_map(ConfigMap{})); }

TEST(BakeKeeper, APluginThatTellsOfAnotherDriverThanIsLoadedIsABreach) {
  KeptBake kept = fresh();
  BakeNode upgraded = node("a", true, true, "{\"gpus\":8}");
  upgraded.published = {"570"};
  look_at_bake(kept, {upgraded}, began);
  EXPECT_EQ(judge_bake(kept, began).outcome, rollout::Outcome::failed);
  EXPECT_NE(judge_bake(kept, began).text.find("PluginDisagrees on a"), std::string::npos);
  // The same version, as the plugin writes it.
  KeptBake well = fresh();
  upgraded.published = {"580"};
  look_at_bake(well, {upgraded}, began);
  EXPECT_NE(judge_bake(well, began).outcome, rollout::Outcome::failed);
}

TEST(BakeKeeper, WordsThatWereReadBeforeCountTheSame) {
  HealthMemory memory;
  KeptBake with = fresh();
  KeptBake without = fresh();
  std::vector<BakeNode> nodes{node("a", true, true, "{\"FatalXid\":1}"),
                              node("c", false, true, "{\"gpus\":8}")};
  for (int look = 0; look < 4; ++look) {
    // One of them says something new each time.
    nodes[0] = node("a", true, true, fmt::format("{{\"FatalXid\":{}}}", 1 + look / 2));
    look_at_bake(with, nodes, began + minutes(5 * look), &memory);
    look_at_bake(without, nodes, began + minutes(5 * look));
  }
  EXPECT_EQ(with.record.text(), without.record.text());
  EXPECT_EQ(with.seen, without.seen);
  EXPECT_EQ(memory.size(), 2U);
}

}  // namespace
}  // namespace lockstep::controller::bake_keeper_test
