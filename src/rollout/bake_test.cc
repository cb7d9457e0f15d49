#include "rollout/bake.h"

#include <gtest/gtest.h>

#include "rollout/bake_test_util.h"

namespace lockstep::rollout::bake_test {
namespace {

ModelStep with_events(ModelStep model, const NodeEvents& upgraded, const NodeEvents& control = {}) {
  model.upgraded_events = upgraded;
  model.control_events = control;
  return model;
}

BakeStep with_breaches(Duration after, std::vector<Breach> upgraded,
                       std::vector<Breach> control = {}) {
  BakeStep step = step_at(after, hours_of(1, 1));
  step.upgraded_breaches = std::move(upgraded);
  step.control_breaches = std::move(control);
  return step;
}

std::string node_name(int number) { return fmt::format("gpu-{}", number); }

TEST(BakeJudge, PassesWhenTimeAndExposureAreReached) {
  BakeRules rules;
  rules.min_gpu_hours = 300;
  BakeJudge judge(rules);
  judge.add(step_at(hours(47), hours_of(299, 1000)));
  EXPECT_EQ(judge.verdict().outcome, BakeOutcome::going_on);
  judge.add(step_at(hours(48), hours_of(0, 0)));
  EXPECT_EQ(judge.verdict().outcome, BakeOutcome::going_on);
  judge.add(step_at(hours(49), hours_of(1, 1)));
  EXPECT_EQ(judge.verdict().outcome, BakeOutcome::passed);
}

TEST(BakeJudge, WithoutEnoughExposureItIsInconclusive) {
  BakeRules rules;
  rules.min_gpu_hours = 300;
  BakeJudge judge(rules);
  judge.add(step_at(hours(96), hours_of(299, 1000)));
  BakeVerdict verdict = judge.verdict();
  EXPECT_EQ(verdict.outcome, BakeOutcome::inconclusive);
  EXPECT_EQ(verdict.reason, "TooLittleExposure");
}

TEST(BakeJudge, WithoutAnyExposureItDoesNotPassWhateverIsAskedFor) {
  BakeJudge judge({});
  judge.add(step_at(hours(48), hours_of(0, 5000)));
  EXPECT_EQ(judge.verdict().outcome, BakeOutcome::going_on);
  judge.add(step_at(hours(96), hours_of(0, 5000)));
  EXPECT_EQ(judge.verdict().outcome, BakeOutcome::inconclusive);
  EXPECT_NE(judge.verdict().text.find("not busy enough"), std::string::npos);
}

TEST(BakeJudge, SilentNodesAreNeverAPass) {
  BakeJudge judge({});
  BakeStep step = step_at(hours(48), hours_of(300, 1000));
  step.silent_nodes = 1;
  judge.add(step);
  EXPECT_EQ(judge.verdict().outcome, BakeOutcome::inconclusive);
  EXPECT_EQ(judge.verdict().text, "NoData: 1 of 8 upgraded nodes report no GPU health");
}

// Each wave by itself shows nothing; together they do.
TEST(BakeJudge, ExposureOfEarlierWavesCountsForRates) {
  int node = 0;
  auto wave = [&](Duration after) {
    ModelStep model = with_events(hours_of(100, 10'000), {{node_name(++node), {{"FatalXid", 1}}}});
    return step_at(after, model);
  };
  BakeJudge alone({});
  alone.add(wave(hours(1)));
  EXPECT_EQ(alone.verdict().outcome, BakeOutcome::going_on);
  BakeJudge pooled({});
  for (int earlier = 3; earlier > 0; --earlier) {
    BakeStep step = wave(hours(48));
    step.earlier = true;
    pooled.add(step);
  }
  EXPECT_EQ(pooled.verdict().outcome, BakeOutcome::going_on)
      << "they were judged in their own waves";
  pooled.add(wave(hours(1)));
  BakeVerdict verdict = pooled.verdict();
  EXPECT_EQ(verdict.outcome, BakeOutcome::failed) << verdict.evidence;
  EXPECT_NE(verdict.text.find("FatalXid: 4 incidents in 400 GPU-hours after the upgrade"),
            std::string::npos)
      << verdict.text;
}

TEST(BakeJudge, EachWaveNeedsItsOwnExposure) {
  BakeRules rules;
  rules.min_gpu_hours = 300;
  BakeJudge judge(rules);
  BakeStep before = step_at(hours(50), hours_of(1000, 1000));
  before.earlier = true;
  judge.add(before);
  judge.add(step_at(hours(48), hours_of(200, 1000)));
  BakeVerdict verdict = judge.verdict();
  EXPECT_EQ(verdict.outcome, BakeOutcome::going_on);
  EXPECT_EQ(verdict.gpu_hours, 200);
  judge.add(step_at(hours(60), hours_of(100, 1000)));
  EXPECT_EQ(judge.verdict().outcome, BakeOutcome::passed);
}

// A breach of a rule counted in the analysis of its own wave.
TEST(BakeJudge, BreachesAndSpeedsOfEarlierWavesAreNotJudgedAgain) {
  BakeJudge judge({});
  BakeStep before = with_breaches(hours(48), {{Reason::gpu_missing, "gpu-1", "7 of 8 GPUs"}});
  before.earlier = true;
  before.speeds = {{"gpu-1", "inference", 100, 10}};
  judge.add(before);
  judge.add(step_at(hours(1), hours_of(1, 1)));
  EXPECT_EQ(judge.verdict().outcome, BakeOutcome::going_on);
}

TEST(BakeJudge, ABreachThatLastsFails) {
  BakeJudge judge({});
  judge.add(with_breaches(hours(1), {{Reason::gpu_missing, "gpu-1", "7 of 8 GPUs"}}));
  EXPECT_EQ(judge.verdict().outcome, BakeOutcome::going_on) << "labels lag";
  judge.add(with_breaches(hours(1) + seconds(89), {{Reason::gpu_missing, "gpu-1", "7 of 8 GPUs"}}));
  EXPECT_EQ(judge.verdict().outcome, BakeOutcome::going_on);
  judge.add(with_breaches(hours(1) + seconds(90), {{Reason::gpu_missing, "gpu-1", "7 of 8 GPUs"}}));
  EXPECT_EQ(judge.verdict().outcome, BakeOutcome::failed);
  EXPECT_EQ(judge.verdict().text, "GpuMissing on gpu-1: 7 of 8 GPUs");
  // And it stays so.
  judge.add(step_at(hours(100), hours_of(1000, 1000)));
  EXPECT_EQ(judge.verdict().outcome, BakeOutcome::failed);
}

TEST(BakeJudge, ABreachThatEndsDoesNotFail) {
  BakeJudge judge({});
  judge.add(
      with_breaches(hours(1), {{Reason::wrong_version, "gpu-1", "570 is loaded instead of 580"}}));
  judge.add(step_at(hours(2), hours_of(1, 1)));
  judge.add(
      with_breaches(hours(3), {{Reason::wrong_version, "gpu-1", "570 is loaded instead of 580"}}));
  judge.add(
      with_breaches(hours(4), {{Reason::wrong_version, "gpu-2", "570 is loaded instead of 580"}}));
  EXPECT_EQ(judge.verdict().outcome, BakeOutcome::going_on);
  // Nor does the bake pass as long as it may be one.
  judge.add(with_breaches(hours(48), {{Reason::gpu_missing, "gpu-1", "7 of 8 GPUs"}}));
  EXPECT_EQ(judge.verdict().outcome, BakeOutcome::going_on);
  judge.add(step_at(hours(48) + minutes(5), hours_of(1, 1)));
  EXPECT_EQ(judge.verdict().outcome, BakeOutcome::passed);
}

TEST(BakeJudge, TheSameBreachOnTheControlSideHolds) {
  BakeJudge judge({});
  judge.add(with_breaches(minutes(50), {}, {{Reason::link_down, "gpu-9", "1"}}));
  judge.add(with_breaches(hours(1), {{Reason::link_down, "gpu-1", "1"}}));
  judge.add(with_breaches(hours(1) + minutes(5), {{Reason::link_down, "gpu-1", "1"}}));
  EXPECT_EQ(judge.verdict().outcome, BakeOutcome::held);
  EXPECT_EQ(judge.verdict().reason, "ControlGroupFailing");
}

TEST(BakeJudge, AnOldBreachOnTheControlSideDoesNot) {
  for (bool lasts : {false, true}) {
    BakeJudge judge({});
    const std::vector<Breach> old = {{Reason::link_down, "gpu-9", "1"}};
    judge.add(with_breaches(minutes(10), {}, old));
    judge.add(with_breaches(minutes(40), {}, lasts ? old : std::vector<Breach>{}));
    judge.add(with_breaches(hours(1), {{Reason::link_down, "gpu-1", "1"}},
                            lasts ? old : std::vector<Breach>{}));
    judge.add(with_breaches(hours(1) + minutes(5), {{Reason::link_down, "gpu-1", "1"}},
                            lasts ? old : std::vector<Breach>{}));
    EXPECT_EQ(judge.verdict().outcome, BakeOutcome::failed) << lasts;
  }
}

TEST(BakeJudge, ManyMoreIncidentsThanOnTheControlSideFail) {
  BakeJudge judge({});
  for (int hour = 1; hour <= 6; ++hour) {
    judge.add(step_at(hours(hour),
                      with_events(hours_of(64, 1600), {{node_name(hour), {{"FatalXid", 1}}}})));
  }
  BakeVerdict verdict = judge.verdict();
  EXPECT_EQ(verdict.outcome, BakeOutcome::failed);
  EXPECT_EQ(verdict.reason, "RateTooHigh");
  EXPECT_GE(verdict.evidence, verdict.limit);
  ASSERT_EQ(verdict.kinds.size(), 1U);
  EXPECT_EQ(verdict.kinds[0].upgraded_events, 6);
}

TEST(BakeJudge, AsManyAsOnTheControlSideDoNot) {
  BakeJudge judge({});
  for (int hour = 1; hour <= 20; ++hour) {
    judge.add(
        step_at(hours(hour), with_events(hours_of(100, 100), {{node_name(hour), {{"FatalXid", 1}}}},
                                         {{node_name(100 + hour), {{"FatalXid", 1}}}})));
  }
  EXPECT_EQ(judge.verdict().outcome, BakeOutcome::going_on);
}

// However often it breaks, and whatever it reports.
TEST(BakeJudge, OneNodeAloneDoesNotRollBackAFleet) {
  BakeJudge judge({});
  for (int hour = 1; hour <= 47; ++hour) {
    judge.add(step_at(
        hours(hour),
        with_events(hours_of(64, 16000),
                    {{"gpu-1", {{"FatalXid", 9}, {"GpuLost", 8}, {"UncorrectableEcc", 7}}}})));
  }
  BakeVerdict verdict = judge.verdict();
  EXPECT_EQ(verdict.outcome, BakeOutcome::going_on);
  EXPECT_LT(verdict.evidence * verdict.evidence, verdict.limit * 1.01);
  // But it does not pass either.
  judge.add(step_at(hours(48), hours_of(64, 16000)));
  EXPECT_EQ(judge.verdict().outcome, BakeOutcome::inconclusive);
  EXPECT_EQ(judge.verdict().reason, "IncidentsUnexplained");
}

// The error killed the work: at the observation, the canary was idle.
TEST(BakeJudge, EventsOfAnIdleNodeCount) {
  for (double control : {0.0, 5000.0}) {
    BakeRules rules;
    rules.duration = hours(2);
    BakeJudge judge(rules);
    BakeStep step = step_at(
        hours(1),
        with_events(hours_of(0, control),
                    {{"gpu-1", {{"FatalXid", 10}, {"GpuLost", 2}, {"UncorrectableEcc", 4}}}}));
    judge.add(step);
    judge.add(step_at(hours(2), hours_of(100, control)));
    BakeVerdict verdict = judge.verdict();
    EXPECT_EQ(verdict.outcome, BakeOutcome::inconclusive) << control;
    EXPECT_EQ(verdict.incidents, 1);
    EXPECT_NE(verdict.text.find("1 incident on 1 of 8 upgraded nodes (gpu-1: 10 FatalXid, "
                                "2 GpuLost, 4 UncorrectableEcc)"),
              std::string::npos)
        << verdict.text;
  }
}

TEST(BakeJudge, IncidentsOfTheOnlyCanaryAreNeverAPass) {
  BakeJudge judge({});
  BakeStep step = step_at(hours(1), with_events(hours_of(8, 8), {{"gpu-1", {{"FatalXid", 10}}}},
                                                {{"gpu-2", {{"FatalXid", 1}}}}));
  step.upgraded_nodes = 1;
  judge.add(step);
  BakeStep last = step_at(hours(48), hours_of(376, 376));
  last.upgraded_nodes = 1;
  judge.add(last);
  BakeVerdict verdict = judge.verdict();
  EXPECT_EQ(verdict.outcome, BakeOutcome::inconclusive);
  EXPECT_NE(verdict.text.find("every upgraded node had one"), std::string::npos) << verdict.text;
}

// Four nodes that got the driver outside the wave, near the end, do not excuse the canary.
TEST(BakeJudge, NodesThatCameLateAreNoEvidenceForTheOnlyCanary) {
  BakeJudge judge({});
  for (const auto& [hour, upgraded] : {std::pair(1, 1), {47, 5}, {48, 5}}) {
    BakeStep step = step_at(hours(hour), hours_of(8000, 8000));
    if (hour == 1) {
      step =
          step_at(hours(hour), with_events(hours_of(8000, 8000), {{"gpu-1", {{"FatalXid", 1}}}}));
    }
    step.upgraded_nodes = upgraded;
    judge.add(step);
  }
  EXPECT_EQ(judge.verdict().outcome, BakeOutcome::inconclusive);
  EXPECT_EQ(judge.verdict().reason, "IncidentsUnexplained");
}

TEST(BakeJudge, WithoutAControlSideIncidentsAreNotAPass) {
  BakeJudge judge({});
  judge.add(step_at(hours(1), with_events(hours_of(8000, 0), {{"gpu-1", {{"FatalXid", 1}}}})));
  judge.add(step_at(hours(48), hours_of(400'000, 0)));
  EXPECT_EQ(judge.verdict().outcome, BakeOutcome::inconclusive);
  EXPECT_NE(judge.verdict().text.find("no busy node without the upgrade for comparison"),
            std::string::npos)
      << judge.verdict().text;
}

TEST(BakeJudge, AsManyIncidentsAsAreToBeExpectedPass) {
  BakeJudge judge({});
  judge.add(step_at(hours(1), with_events(hours_of(8000, 8000), {{"gpu-1", {{"FatalXid", 1}}}})));
  judge.add(step_at(hours(48), hours_of(50'000, 50'000)));
  EXPECT_EQ(judge.verdict().outcome, BakeOutcome::passed) << judge.verdict().text;
}

TEST(BakeJudge, TheSameIncidentsOnBothSidesHold) {
  BakeJudge judge({});
  judge.add(step_at(hours(10), hours_of(640, 1600)));
  NodeEvents upgraded;
  NodeEvents control;
  for (int i = 0; i < 6; ++i) upgraded[node_name(i)]["FatalXid"] = 2;
  for (int i = 10; i < 15; ++i) control[node_name(i)]["FatalXid"] = 1;
  judge.add(step_at(hours(10) + minutes(5), with_events(hours_of(5, 13), upgraded, control)));
  EXPECT_EQ(judge.verdict().outcome, BakeOutcome::held);
  EXPECT_EQ(
      judge.verdict().text,
      "FatalXid on 5 nodes that were not upgraded, within 15m: the driver is not the only cause");
}

TEST(BakeJudge, SlowerInTheMedianFails) {
  BakeJudge judge({});
  BakeStep step = step_at(hours(1), hours_of(1, 1));
  for (int i = 0; i < 6; ++i) step.speeds.push_back({node_name(i), "inference", 100, 93});
  judge.add(step);
  BakeVerdict verdict = judge.verdict();
  EXPECT_EQ(verdict.outcome, BakeOutcome::failed);
  EXPECT_EQ(verdict.reason, "Slower");
}

TEST(BakeJudge, ALittleSlowerOnAFewNodesDoesNot) {
  BakeJudge judge({});
  BakeStep step = step_at(hours(1), hours_of(1, 1));
  step.speeds = {{"gpu-1", "inference", 100, 93}, {"gpu-2", "inference", 100, 101}};
  judge.add(step);
  EXPECT_EQ(judge.verdict().outcome, BakeOutcome::going_on);
  step.speeds = {{"gpu-3", "inference", 100, 80}};
  judge.add(step);
  EXPECT_EQ(judge.verdict().reason, "Slower");
}

TEST(BakeJudge, SaysWhatItCouldHaveDetectedOrHowMuchMoreItNeeds) {
  struct Case {
    double upgraded;
    double control;
    const char* text;
  };
  for (const Case& each :
       {Case{0, 5000,
             "Exposure so far is too small to detect a realistic regression (0 GPU-hours)"},
        Case{0.03, 0.32,
             "Exposure so far is too small to detect a realistic regression (0.03 "
             "GPU-hours; "},
        Case{384, 0, "no busy node without the upgrade to compare with"},
        Case{50'000, 200'000, "Detects with 90% probability incidents that become at least "}}) {
    BakeJudge judge({});
    BakeStep step = step_at(hours(1), hours_of(each.upgraded, each.control));
    step.upgraded_nodes = 64;
    judge.add(step);
    EXPECT_NE(judge.verdict().detectable.find(each.text), std::string::npos)
        << judge.verdict().detectable;
  }
}

}  // namespace
}  // namespace lockstep::rollout::bake_test
