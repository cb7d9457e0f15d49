#include "rollout/pace.h"

#include <gtest/gtest.h>

namespace lockstep::rollout::pace_test {
namespace {

TEST(Pace, IsThatOfTheNodesThatEndedLast) {
  EXPECT_EQ(time_by_pace({minutes(1), minutes(3), minutes(2)}, 10), minutes(10));
  EXPECT_FALSE(time_by_pace({minutes(1), minutes(3)}, 10)) << "too few";
  EXPECT_FALSE(time_by_pace({minutes(1), minutes(1), minutes(1)}, 10)) << "all at once";
  EXPECT_FALSE(time_by_pace({minutes(1), minutes(2), minutes(3)}, 0)) << "nobody is left";
  std::vector<Duration> ages(50, minutes(1));
  for (int i = 0; i < 50; ++i) ages[static_cast<size_t>(i)] = minutes(i);
  ages.push_back(hours(100));
  EXPECT_EQ(time_by_pace(ages, 2), minutes(2)) << "what was long ago does not count";
}

TEST(Pace, OfNodesThatNoLongerMoveIsNone) {
  EXPECT_EQ(time_by_pace({minutes(3), minutes(4), minutes(5)}, 10), minutes(10));
  EXPECT_FALSE(time_by_pace({minutes(4), minutes(5), minutes(6)}, 10)) << "they came every minute";
  EXPECT_TRUE(time_by_pace({seconds(20), seconds(21), seconds(22)}, 10)) << "several at once";
}

TEST(Pace, OfAPoolThatWaitsForSomethingElseIsNone) {
  const std::vector<Duration> ages{minutes(1), minutes(2), minutes(3)};
  fleet::PoolCounts counts;
  counts.waiting = 5;
  counts.active = 1;
  auto left = [&](ReasonName held, bool in_waves = false) {
    std::optional<Reason> reason;
    if (!held.empty()) reason = Reason{held, "", ""};
    return pool_time_left(ages, counts, reason, in_waves);
  };
  EXPECT_EQ(left({}), minutes(6));
  EXPECT_EQ(left(Reason::parallel_limit), minutes(6));
  for (auto held : {Reason::paused, Reason::failure_budget, Reason::invalid_policy}) {
    EXPECT_FALSE(left(held)) << to_string(held);
  }
  EXPECT_FALSE(left({}, true)) << "waves";
  counts.waiting = 0;
  EXPECT_EQ(left(Reason::paused), minutes(1)) << "those in flight finish";
  counts.active = 0;
  counts.waiting = 5;
  EXPECT_FALSE(left({})) << "nothing is in progress";
}

struct Baking {
  Baking() {
    spec.duration = hours(4);
    spec.max_duration = hours(20);
    seen.outcome = BakeOutcome::going_on;
    seen.passed = hours(2);
    seen.gpu_hours = 10;
  }
  BakeSpec spec;
  BakeVerdict seen;
};

TEST(BakeLeft, IsTheTimeThatIsAskedFor) {
  Baking bake;
  EXPECT_EQ(bake_left(bake.spec, bake.seen), hours(2));
  bake.seen.passed = hours(5);
  EXPECT_EQ(bake_left(bake.spec, bake.seen), Duration::zero());
}

TEST(BakeLeft, IsLongerWhereGpuHoursComeSlowly) {
  Baking bake;
  bake.seen.min_gpu_hours = 50;
  EXPECT_EQ(bake_left(bake.spec, bake.seen), hours(8));
  bake.seen.min_gpu_hours = 1e300;
  EXPECT_EQ(bake_left(bake.spec, bake.seen), hours(18)) << "it is judged then at the latest";
  bake.seen.gpu_hours = 0;
  EXPECT_FALSE(bake_left(bake.spec, bake.seen));
}

TEST(NodeTimeByHistory, IsTheWavesTimeByItsTurns) {
  const Time start = Time::from_unix(1'800'000'000);
  auto turns = [](const std::string& wave) { return wave == "canary" ? 1 : 10; };
  std::vector<HistoryEntry> history = {
      {start, Phase::upgrading, "canary", Reason::wave_open, "", ""},
      {start + minutes(8), Phase::gating, "canary", Reason::gating, "", ""},
      {start + hours(60), Phase::promoting, "canary", Reason::wave_passed, "", ""},
      {start + hours(61), Phase::upgrading, "rest", Reason::wave_open, "", ""},
      {start + hours(62), Phase::promoting, "rest", Reason::wave_passed, "", ""}};
  EXPECT_EQ(node_time_by_history(history, turns), minutes(8)) << "of 6 and 8 minutes";
  history.resize(2);
  EXPECT_EQ(node_time_by_history(history, turns), minutes(8));
  // The time of a failed wave says nothing about a node's time.
  history[1] = {start + minutes(40), Phase::rolling_back, "canary", Reason::nodes_failed, "", ""};
  EXPECT_FALSE(node_time_by_history(history, turns));
  EXPECT_FALSE(node_time_by_history({}, turns));
}

TEST(BakeLeft, IsNothingOnceItIsOver) {
  Baking bake;
  bake.seen.outcome = BakeOutcome::passed;
  EXPECT_FALSE(bake_left(bake.spec, bake.seen));
}

}  // namespace
}  // namespace lockstep::rollout::pace_test
