// What the analysis of a bake promises, tested on random bakes: how often it raises a false alarm,
// and how often it finds the effect that it calls detectable.
#include <gtest/gtest.h>

#include "rollout/bake_test_util.h"

namespace lockstep::rollout::bake_promise_test {
namespace {

struct Share {
  double failed = 0;
  double held = 0;  // for a user
};

Share draw_many(const DrawnBake& drawn, int runs) {
  std::mt19937_64 random(20261115);
  Share share;
  for (int run = 0; run < runs; ++run) {
    const BakeVerdict verdict = draw_bake(drawn, random);
    if (verdict.outcome == BakeOutcome::failed) share.failed += 1.0 / runs;
    if (verdict.outcome == BakeOutcome::inconclusive || verdict.outcome == BakeOutcome::held) {
      share.held += 1.0 / runs;
    }
  }
  return share;
}

// The driver is as good as the one before; what breaks reports one to ten errors, and few nodes
// have nearly all of the incidents.
TEST(BakePromise, FalseAlarmsStayBelowAlphaWithBurstsAndFragileNodes) {
  constexpr int runs = 1000;
  const double alpha = BakeRules().alpha;
  double most = 0;
  for (int upgraded : {4, 64}) {
    for (double fragile_factor : {1.0, 300.0}) {
      DrawnBake drawn{upgraded, 200, 2, 1.0 / 3000};
      drawn.fragile_share = 0.05;
      drawn.fragile_factor = fragile_factor;
      drawn.most_events = 10;
      const Share share = draw_many(drawn, runs);
      EXPECT_LE(share.failed, alpha) << upgraded << " upgraded, factor " << fragile_factor;
      most = std::max(most, share.failed);
    }
  }
  // One that never alarms would pass too.
  EXPECT_GT(most, 0);
}

TEST(BakePromise, WhatItSaysThatItDetectsIsFoundWithThatProbability) {
  const BakeRules rules;
  for (int upgraded : {16, 64}) {
    const RateExposure exposure{upgraded * 8.0 * 48, 200 * 8.0 * 48, upgraded};
    BakeJudge judge(rules);
    BakeStep step = step_at(hours(47), hours_of(exposure.upgraded_hours, exposure.control_hours));
    step.upgraded_nodes = upgraded;
    judge.add(step);
    const std::string text = judge.verdict().detectable;
    const std::string before = "become at least ";
    ASSERT_NE(text.find(before), std::string::npos) << text;
    DrawnBake drawn{upgraded, 200, 2};
    drawn.ratio = std::stod(text.substr(text.find(before) + before.size()));
    constexpr int runs = 2000;
    const double found = draw_many(drawn, runs).failed;
    // Within two standard deviations of what is drawn; and not far more, or it would say less than
    // it can.
    EXPECT_GE(found, rules.power - 0.014) << drawn.ratio;
    EXPECT_LE(found, 0.97) << drawn.ratio;
  }
}

// In a small fleet every canary is soon counted; repeated events count, too.
TEST(BakePromise, AFewCanariesThatBreakAgainAndAgainAreFound) {
  DrawnBake drawn{4, 12, 2, 0.002, 30};
  EXPECT_GE(draw_many(drawn, 300).failed, 0.8);
}

// A pass asks for no more incidents than are to be expected: that costs a good driver little.
TEST(BakePromise, AGoodDriverIsSeldomHeld) {
  DrawnBake drawn{64, 200, 2};
  drawn.most_events = 10;
  EXPECT_LE(draw_many(drawn, 2000).held, BakeRules().alpha);
}

}  // namespace
}  // namespace lockstep::rollout::bake_promise_test
