#include "rollout/rate_evidence.h"

#include <cmath>
#include <random>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace lockstep::rollout::rate_evidence_test {
namespace {

// One incident, on a node of its own.
RateStep one_of(double upgraded_hours, double control_hours, bool on_upgraded) {
  static int node = 0;
  RateStep step{upgraded_hours, control_hours};
  if (on_upgraded) {
    step.upgraded_nodes = {std::to_string(++node)};
  } else {
    step.control_nodes = 1;
  }
  return step;
}

double evidence_after(RateEvidence rates, const RateStep& step) {
  rates.add(step);
  return rates.evidence();
}

TEST(RateEvidence, NothingSeenIsNoEvidence) {
  RateEvidence rates;
  EXPECT_DOUBLE_EQ(rates.evidence(), 1);
  rates.add({1000, 1000, {}, 0});
  EXPECT_DOUBLE_EQ(rates.evidence(), 1);
}

TEST(RateEvidence, EventsOnTheUpgradedSideAloneAreEvidence) {
  RateEvidence rates;
  rates.add({100, 1000, {"a"}, 0});
  double one = rates.evidence();
  EXPECT_GT(one, 1);
  rates.add({100, 1000, {"a"}, 0});
  EXPECT_GT(rates.evidence(), one);
}

TEST(RateEvidence, EventsOnTheControlSideSpeakAgainstIt) {
  RateEvidence rates;
  rates.add({100, 100, {}, 3});
  EXPECT_LT(rates.evidence(), 1);
}

TEST(RateEvidence, ASideWithoutExposureSaysNothing) {
  RateEvidence rates;
  rates.add({100, 0, {"a", "b", "c"}, 0});
  rates.add({0, 100, {}, 5});
  EXPECT_DOUBLE_EQ(rates.evidence(), 1);
}

// The mean over all ways in which the next event can fall is what there was before: a martingale.
RC_GTEST_PROP(RateEvidence, IsExpectedToStayWhenTheRatesAreEqual, ()) {
  double upgraded = *rc::gen::inRange(1, 1000);
  double control = *rc::gen::inRange(1, 1000);
  RateEvidence rates;
  int before = *rc::gen::inRange(0, 5);
  for (int i = 0; i < before; ++i) {
    bool on_upgraded = *rc::gen::arbitrary<bool>();
    rates.add(one_of(upgraded, control, on_upgraded));
  }
  double share = upgraded / (upgraded + control);
  double mean = share * evidence_after(rates, one_of(upgraded, control, true)) +
                (1 - share) * evidence_after(rates, one_of(upgraded, control, false));
  RC_ASSERT(std::abs(mean - rates.evidence()) < 1e-9 * rates.evidence());
}

// The promise, tested: the same rate on both sides, evaluated after every event.
TEST(RateEvidence, FalseAlarmsStayBelowAlpha) {
  std::mt19937_64 random(20261115);
  std::bernoulli_distribution on_upgraded(64.0 / 264);
  constexpr int runs = 2000;
  int alarms = 0;
  for (int run = 0; run < runs; ++run) {
    RateEvidence rates;
    for (int event = 0; event < 40; ++event) {
      bool upgraded = on_upgraded(random);
      rates.add(one_of(64, 200, upgraded));
      if (rates.evidence() < 20) continue;
      ++alarms;
      break;
    }
  }
  EXPECT_LE(alarms, runs * 0.05);
  // A test that never alarms would pass too.
  EXPECT_GT(alarms, 0);
}

TEST(RateEvidence, ANodeRaisesTheEvidenceByNoMoreThanIsAllowed) {
  RateEvidence rates(1, 4);
  rates.add({10, 1000, {"a"}, 0});
  EXPECT_LE(rates.evidence(), 4);
  EXPECT_GT(rates.evidence(), 3);
  for (int i = 0; i < 10; ++i) rates.add({10, 1000, {"a"}, 0});
  EXPECT_LE(rates.evidence(), 4) << "however often it breaks";
  rates.add({10, 1000, {"b"}, 0});
  EXPECT_GT(rates.evidence(), 9);
  EXPECT_LE(rates.evidence(), 16);
}

// Bounded, it can only be expected to fall.
RC_GTEST_PROP(RateEvidence, IsNeverExpectedToGrowWhenTheRatesAreEqual, ()) {
  double upgraded = *rc::gen::inRange(1, 1000);
  double control = *rc::gen::inRange(1, 1000);
  RateEvidence rates(1, 1 + *rc::gen::inRange(1, 10));
  double share = upgraded / (upgraded + control);
  double mean = share * evidence_after(rates, one_of(upgraded, control, true)) +
                (1 - share) * evidence_after(rates, one_of(upgraded, control, false));
  RC_ASSERT(mean <= rates.evidence() * (1 + 1e-9));
}

RateSearch often() {
  RateSearch search;
  search.per_hour = 1e-3;
  return search;
}

TEST(DetectableRatio, MoreExposureFindsSmallerOnes) {
  double small = detectable_ratio({500, 2000, 64}, often());
  double large = detectable_ratio({5000, 20000, 64}, often());
  EXPECT_LT(large, small);
  EXPECT_GT(large, 1);
}

TEST(DetectableRatio, IsWhereThePowerIsReached) {
  const RateExposure exposure{2000, 20000, 64};
  const double ratio = detectable_ratio(exposure, often());
  EXPECT_NEAR(detection_power(exposure, often(), ratio), 0.9, 1e-3);
  EXPECT_LT(detection_power(exposure, often(), 0.9 * ratio), 0.9);
}

TEST(DetectableRatio, OneNodeForTwoDaysExcludesOnlyWhatIsHundredsOfTimesWorse) {
  RateSearch rare;
  rare.per_hour = 1.0 / 79000;
  EXPECT_GT(detectable_ratio({8 * 48, 200 * 8 * 48, 1}, rare), 300);
  // Where a node says half of what is needed at most, one is never enough.
  rare.most_per_node = 4;
  EXPECT_TRUE(std::isinf(detectable_ratio({8 * 48, 200 * 8 * 48, 1}, rare)));
}

TEST(DetectableRatio, WithoutExposureNothingIsFound) {
  EXPECT_TRUE(std::isinf(detectable_ratio({0, 100, 8}, often())));
  EXPECT_TRUE(std::isinf(detectable_ratio({100, 0, 8}, often())));
}

TEST(PoissonAtLeast, AreTheKnownNumbers) {
  EXPECT_DOUBLE_EQ(poisson_at_least(0, 3), 1);
  EXPECT_NEAR(poisson_at_least(1, 0.05), 0.04877, 1e-5);
  EXPECT_NEAR(poisson_at_least(3, 1), 0.0803, 1e-4);
  EXPECT_NEAR(binomial_at_least(3, 5, 0.25), 0.1035, 1e-4);
  EXPECT_DOUBLE_EQ(binomial_at_least(0, 5, 0.25), 1);
}

}  // namespace
}  // namespace lockstep::rollout::rate_evidence_test
