#include "rollout/rate_evidence.h"

#include <cmath>
#include <random>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace lockstep::rollout::rate_evidence_test {
namespace {

TEST(RateEvidence, NothingSeenIsNoEvidence) {
  RateEvidence rates;
  EXPECT_DOUBLE_EQ(rates.evidence(), 1);
  rates.add({1000, 1000, 0, 0});
  EXPECT_DOUBLE_EQ(rates.evidence(), 1);
}

TEST(RateEvidence, EventsOnTheUpgradedSideAloneAreEvidence) {
  RateEvidence rates;
  rates.add({100, 1000, 1, 0});
  double one = rates.evidence();
  EXPECT_GT(one, 1);
  rates.add({100, 1000, 1, 0});
  EXPECT_GT(rates.evidence(), one);
}

TEST(RateEvidence, EventsOnTheControlSideSpeakAgainstIt) {
  RateEvidence rates;
  rates.add({100, 100, 0, 3});
  EXPECT_LT(rates.evidence(), 1);
}

TEST(RateEvidence, ASideWithoutExposureSaysNothing) {
  RateEvidence rates;
  rates.add({100, 0, 5, 0});
  rates.add({0, 100, 0, 5});
  EXPECT_DOUBLE_EQ(rates.evidence(), 1);
}

TEST(RateEvidence, LookingAheadChangesNothing) {
  RateEvidence rates;
  RateStep step{100, 1000, 2, 0};
  double ahead = rates.evidence_after(step);
  EXPECT_DOUBLE_EQ(rates.evidence(), 1);
  rates.add(step);
  EXPECT_DOUBLE_EQ(rates.evidence(), ahead);
}

// The mean over all ways in which the next event can fall is what there was before: a martingale.
RC_GTEST_PROP(RateEvidence, IsExpectedToStayWhenTheRatesAreEqual, ()) {
  double upgraded = *rc::gen::inRange(1, 1000);
  double control = *rc::gen::inRange(1, 1000);
  RateEvidence rates;
  int before = *rc::gen::inRange(0, 5);
  for (int i = 0; i < before; ++i) {
    bool on_upgraded = *rc::gen::arbitrary<bool>();
    rates.add({upgraded, control, on_upgraded ? 1 : 0, on_upgraded ? 0 : 1});
  }
  double share = upgraded / (upgraded + control);
  double mean = share * rates.evidence_after({upgraded, control, 1, 0}) +
                (1 - share) * rates.evidence_after({upgraded, control, 0, 1});
  RC_ASSERT(std::abs(mean - rates.evidence()) < 1e-9 * rates.evidence());
}

// The promise, tried: the same rate on both sides, looked at after every event.
TEST(RateEvidence, FalseAlarmsStayBelowAlpha) {
  std::mt19937_64 random(20261115);
  std::bernoulli_distribution on_upgraded(64.0 / 264);
  constexpr int runs = 2000;
  int alarms = 0;
  for (int run = 0; run < runs; ++run) {
    RateEvidence rates;
    for (int event = 0; event < 40; ++event) {
      bool upgraded = on_upgraded(random);
      rates.add({64, 200, upgraded ? 1 : 0, upgraded ? 0 : 1});
      if (rates.evidence() < 20) continue;
      ++alarms;
      break;
    }
  }
  EXPECT_LE(alarms, runs * 0.05);
  // A test that never alarms would pass too.
  EXPECT_GT(alarms, 0);
}

TEST(DetectableRatio, MoreExposureFindsSmallerOnes) {
  double small = detectable_ratio(500, 2000, 1e-3, 0.05, 0.9);
  double large = detectable_ratio(5000, 20000, 1e-3, 0.05, 0.9);
  EXPECT_LT(large, small);
  EXPECT_GT(large, 1);
}

TEST(DetectableRatio, OneNodeForTwoDaysExcludesOnlyWhatIsHundredsOfTimesWorse) {
  double ratio = detectable_ratio(8 * 48, 200 * 8 * 48, 1.0 / 79000, 0.05, 0.9);
  EXPECT_GT(ratio, 300);
}

TEST(DetectableRatio, WithoutExposureNothingIsFound) {
  EXPECT_TRUE(std::isinf(detectable_ratio(0, 100, 1e-3, 0.05, 0.9)));
  EXPECT_TRUE(std::isinf(detectable_ratio(100, 0, 1e-3, 0.05, 0.9)));
}

}  // namespace
}  // namespace lockstep::rollout::rate_evidence_test
