#include "rollout/bake.h"

#include <gtest/gtest.h>

#include "rollout/bake_test_util.h"

namespace lockstep::rollout::bake_test {
namespace {

TEST(BakeJudge, PassesWhenTimeAndExposureAreReached) {
  BakeRules rules;
  rules.min_gpu_hours = 300;
  BakeJudge judge(rules, began);
  judge.add(step_at(hours(47), hours_of(299, 1000)));
  EXPECT_EQ(judge.verdict(began + hours(47)).outcome, BakeOutcome::going_on);
  EXPECT_EQ(judge.verdict(began + hours(48)).outcome, BakeOutcome::going_on);
  judge.add(step_at(hours(49), hours_of(1, 1)));
  EXPECT_EQ(judge.verdict(began + hours(47)).outcome, BakeOutcome::going_on);
  BakeVerdict passed = judge.verdict(began + hours(49));
  EXPECT_EQ(passed.outcome, BakeOutcome::passed);
  EXPECT_NE(passed.detectable.find("300 GPU-hours after the upgrade"), std::string::npos)
      << passed.detectable;
}

TEST(BakeJudge, WithoutEnoughExposureItIsInconclusive) {
  BakeRules rules;
  rules.min_gpu_hours = 300;
  BakeJudge judge(rules, began);
  BakeVerdict verdict = judge.verdict(began + hours(96));
  EXPECT_EQ(verdict.outcome, BakeOutcome::inconclusive);
  EXPECT_EQ(verdict.reason, "TooLittleExposure");
}

// Each wave by itself shows nothing; together they do.
TEST(BakeJudge, ExposureOfEarlierWavesCountsForRates) {
  auto with_events = [](Duration after, int64_t events) {
    ModelStep model = hours_of(100, 10'000);
    if (events > 0) model.upgraded_events["FatalXid"] = events;
    model.control_events["FatalXid"] = 1;
    return step_at(after, model);
  };
  BakeJudge alone({}, began);
  alone.add(with_events(hours(1), 1));
  EXPECT_EQ(alone.verdict(began + hours(1)).outcome, BakeOutcome::going_on);
  BakeJudge pooled({}, began);
  for (int wave = 3; wave > 0; --wave) {
    BakeStep step = with_events(-hours(48 * wave), 1);
    step.earlier = true;
    pooled.add(step);
  }
  EXPECT_EQ(pooled.verdict(began).outcome, BakeOutcome::going_on)
      << "they were judged in their own waves";
  pooled.add(with_events(hours(1), 1));
  BakeVerdict verdict = pooled.verdict(began + hours(1));
  EXPECT_EQ(verdict.outcome, BakeOutcome::failed) << verdict.evidence;
  EXPECT_NE(verdict.text.find("FatalXid: 4 in 400 GPU-hours"), std::string::npos) << verdict.text;
}

TEST(BakeJudge, EachWaveNeedsItsOwnExposure) {
  BakeRules rules;
  rules.min_gpu_hours = 300;
  BakeJudge judge(rules, began);
  BakeStep before = step_at(-hours(1), hours_of(1000, 1000));
  before.earlier = true;
  judge.add(before);
  judge.add(step_at(hours(48), hours_of(200, 1000)));
  BakeVerdict verdict = judge.verdict(began + hours(48));
  EXPECT_EQ(verdict.outcome, BakeOutcome::going_on);
  EXPECT_EQ(verdict.gpu_hours, 200);
  EXPECT_NE(verdict.detectable.find("With 1200 GPU-hours"), std::string::npos)
      << verdict.detectable;
  judge.add(step_at(hours(60), hours_of(100, 1000)));
  EXPECT_EQ(judge.verdict(began + hours(60)).outcome, BakeOutcome::passed);
}

// What breached a rule then was judged then.
TEST(BakeJudge, BreachesAndSpeedsOfEarlierWavesAreNotJudgedAgain) {
  BakeJudge judge({}, began);
  BakeStep before = step_at(-hours(1), hours_of(1, 1));
  before.earlier = true;
  before.upgraded_breaches = {{"GpuMissing", "gpu-1", "7 of 8 GPUs"}};
  before.speeds = {{"gpu-1", "inference", 100, 10}};
  judge.add(before);
  judge.add(step_at(hours(1), hours_of(1, 1)));
  EXPECT_EQ(judge.verdict(began + hours(1)).outcome, BakeOutcome::going_on);
}

TEST(BakeJudge, OneBreachOfAHardRuleFails) {
  BakeJudge judge({}, began);
  BakeStep step = step_at(hours(1), hours_of(1, 1));
  step.upgraded_breaches = {{"GpuMissing", "gpu-1", "7 of 8 GPUs"}};
  judge.add(step);
  BakeVerdict verdict = judge.verdict(began + hours(1));
  EXPECT_EQ(verdict.outcome, BakeOutcome::failed);
  EXPECT_EQ(verdict.text, "GpuMissing on gpu-1: 7 of 8 GPUs");
  // And it stays so.
  EXPECT_EQ(judge.verdict(began + hours(100)).outcome, BakeOutcome::failed);
}

TEST(BakeJudge, TheSameBreachOnTheControlSideHolds) {
  BakeJudge judge({}, began);
  BakeStep control = step_at(minutes(50), hours_of(1, 1));
  control.control_breaches = {{"LinkDown", "gpu-9", "1 of 4 links"}};
  judge.add(control);
  BakeStep upgraded = step_at(hours(1), hours_of(1, 1));
  upgraded.upgraded_breaches = {{"LinkDown", "gpu-1", "1 of 4 links"}};
  judge.add(upgraded);
  EXPECT_EQ(judge.verdict(began + hours(1)).outcome, BakeOutcome::held);
  EXPECT_EQ(judge.verdict(began + hours(1)).reason, "ControlFailsToo");
}

TEST(BakeJudge, AnOldBreachOnTheControlSideDoesNot) {
  BakeJudge judge({}, began);
  BakeStep control = step_at(minutes(10), hours_of(1, 1));
  control.control_breaches = {{"LinkDown", "gpu-9", "1 of 4 links"}};
  judge.add(control);
  BakeStep upgraded = step_at(hours(1), hours_of(1, 1));
  upgraded.upgraded_breaches = {{"LinkDown", "gpu-1", "1 of 4 links"}};
  judge.add(upgraded);
  EXPECT_EQ(judge.verdict(began + hours(1)).outcome, BakeOutcome::failed);
}

TEST(BakeJudge, ManyMoreEventsThanOnTheControlSideFail) {
  BakeJudge judge({}, began);
  for (int hour = 1; hour <= 6; ++hour) {
    ModelStep model = hours_of(64, 1600);
    model.upgraded_events["FatalXid"] = 1;
    judge.add(step_at(hours(hour), model));
  }
  BakeVerdict verdict = judge.verdict(began + hours(6));
  EXPECT_EQ(verdict.outcome, BakeOutcome::failed);
  EXPECT_EQ(verdict.reason, "RateTooHigh");
  EXPECT_GE(verdict.evidence, verdict.limit);
  ASSERT_EQ(verdict.kinds.size(), 1U);
  EXPECT_EQ(verdict.kinds[0].upgraded_events, 6);
}

TEST(BakeJudge, AsManyAsOnTheControlSideDoNot) {
  BakeJudge judge({}, began);
  for (int hour = 1; hour <= 20; ++hour) {
    ModelStep model = hours_of(100, 100);
    model.upgraded_events["FatalXid"] = 1;
    model.control_events["FatalXid"] = 1;
    judge.add(step_at(hours(hour), model));
  }
  EXPECT_EQ(judge.verdict(began + hours(20)).outcome, BakeOutcome::going_on);
}

TEST(BakeJudge, ABurstOnBothSidesHolds) {
  BakeJudge judge({}, began);
  ModelStep quiet = hours_of(640, 1600);
  judge.add(step_at(hours(10), quiet));
  ModelStep storm = hours_of(5, 13);
  storm.upgraded_events["FatalXid"] = 12;
  storm.control_events["FatalXid"] = 5;
  judge.add(step_at(hours(10) + minutes(5), storm));
  BakeVerdict verdict = judge.verdict(began + hours(11));
  ASSERT_GE(verdict.evidence, verdict.limit);
  EXPECT_EQ(verdict.outcome, BakeOutcome::held);
}

TEST(BakeJudge, SlowerInTheMedianFails) {
  BakeJudge judge({}, began);
  BakeStep step = step_at(hours(1), hours_of(1, 1));
  for (int i = 0; i < 6; ++i) {
    step.speeds.push_back({"gpu-" + std::to_string(i), "inference", 100, 93});
  }
  judge.add(step);
  BakeVerdict verdict = judge.verdict(began + hours(1));
  EXPECT_EQ(verdict.outcome, BakeOutcome::failed);
  EXPECT_EQ(verdict.reason, "Slower");
}

TEST(BakeJudge, ALittleSlowerOnAFewNodesDoesNot) {
  BakeJudge judge({}, began);
  BakeStep step = step_at(hours(1), hours_of(1, 1));
  step.speeds = {{"gpu-1", "inference", 100, 93}, {"gpu-2", "inference", 100, 101}};
  judge.add(step);
  EXPECT_EQ(judge.verdict(began + hours(1)).outcome, BakeOutcome::going_on);
  step.speeds = {{"gpu-3", "inference", 100, 80}};
  judge.add(step);
  EXPECT_EQ(judge.verdict(began + hours(1)).reason, "Slower");
}

}  // namespace
}  // namespace lockstep::rollout::bake_test
