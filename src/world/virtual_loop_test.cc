#include "world/virtual_loop.h"

#include <functional>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "base/digest.h"

namespace lockstep::virtual_loop_test {
namespace {

TEST(VirtualLoop, TimeMovesFromEventToEvent) {
  VirtualLoop loop(1, Time::from_unix(1000));
  std::vector<Duration> seen;
  loop.after(minutes(2), [&] { seen.push_back(loop.uptime()); });
  loop.after(seconds(1), [&] { seen.push_back(loop.uptime()); });
  EXPECT_EQ(loop.pending(), 2U);
  EXPECT_TRUE(loop.step());
  EXPECT_EQ(loop.now(), Time::from_unix(1001));
  EXPECT_TRUE(loop.step());
  EXPECT_FALSE(loop.step());
  EXPECT_EQ(seen, (std::vector<Duration>{seconds(1), minutes(2)}));
}

TEST(VirtualLoop, PostRunsLaterButAtTheSameInstant) {
  VirtualLoop loop(1);
  bool ran = false;
  loop.post([&] { ran = true; });
  EXPECT_FALSE(ran);
  loop.after(nanoseconds(1), [&] { EXPECT_TRUE(ran); });
  EXPECT_EQ(loop.run_for(seconds(1)), 2U);
  EXPECT_TRUE(ran);
}

TEST(VirtualLoop, RunForRunsWhatIsDueAndLetsTheTimePass) {
  VirtualLoop loop(1);
  int ran = 0;
  loop.after(seconds(10), [&] { ++ran; });
  loop.after(seconds(11), [&] { ++ran; });
  EXPECT_EQ(loop.run_for(seconds(10)), 1U);
  EXPECT_EQ(loop.uptime(), seconds(10));
  EXPECT_EQ(loop.run_for(milliseconds(500)), 0U);
  EXPECT_EQ(loop.uptime(), milliseconds(10'500));
  EXPECT_EQ(loop.run_for(Duration::max()), 1U);
  EXPECT_EQ(loop.uptime(), seconds(11));
  EXPECT_EQ(ran, 2);
}

TEST(VirtualLoop, RunUntilStopsAtThePredicateOrTheLimit) {
  VirtualLoop loop(1);
  int ticks = 0;
  std::function<void()> tick = [&] {
    ++ticks;
    loop.after(seconds(1), tick);
  };
  loop.after(seconds(1), tick);
  EXPECT_TRUE(loop.run_until([&] { return ticks == 3; }, minutes(1)));
  EXPECT_EQ(loop.uptime(), seconds(3));
  EXPECT_FALSE(loop.run_until([&] { return ticks == 100; }, milliseconds(2500)));
  EXPECT_EQ(ticks, 5);
  EXPECT_EQ(loop.uptime(), milliseconds(5500));
}

TEST(VirtualLoop, RunUntilEndsWhenNothingIsLeft) {
  VirtualLoop loop(1);
  loop.after(seconds(1), [] {});
  EXPECT_FALSE(loop.run_until([] { return false; }, hours(1)));
  EXPECT_EQ(loop.uptime(), seconds(1));
}

TEST(VirtualLoop, CancelledTimersDoNotRun) {
  VirtualLoop loop(1);
  const TimerId timer = loop.after(seconds(2), [] { FAIL(); });
  loop.after(seconds(1), [&] { loop.cancel(timer); });
  loop.cancel(0);
  EXPECT_EQ(loop.run_for(minutes(1)), 1U);
  EXPECT_EQ(loop.pending(), 0U);
}

TEST(VirtualLoop, ATimerMayCancelItselfWhileItRuns) {
  VirtualLoop loop(1);
  TimerId timer = 0;
  timer = loop.after(seconds(1), [&] { loop.cancel(timer); });
  EXPECT_EQ(loop.run_for(minutes(1)), 1U);
}

TEST(VirtualLoop, SteppingTheClockMovesNoTimer) {
  VirtualLoop loop(1, Time::from_unix(1000));
  Time seen;
  loop.after(seconds(10), [&] { seen = loop.now(); });
  loop.step_clock(hours(-1));
  EXPECT_EQ(loop.now(), Time::from_unix(1000 - 3600));
  EXPECT_EQ(loop.uptime(), Duration::zero());
  loop.run_for(seconds(10));
  EXPECT_EQ(seen, Time::from_unix(1010 - 3600));
}

TEST(VirtualLoop, AnExceptionLeavesTheLoopUsable) {
  VirtualLoop loop(1);
  loop.after(seconds(1), [] { throw std::runtime_error("on purpose"); });
  loop.after(seconds(2), [] {});
  EXPECT_THROW(loop.run_for(minutes(1)), std::runtime_error);
  EXPECT_EQ(loop.run_for(minutes(1)), 1U);
}

TEST(VirtualLoop, DestroyingItDestroysWhatIsPending) {
  const auto owned = std::make_shared<int>(1);
  {
    VirtualLoop loop(1);
    loop.after(seconds(1), [owned] {});
    EXPECT_EQ(owned.use_count(), 2);
  }
  EXPECT_EQ(owned.use_count(), 1);
}

std::string order_of_ties(uint64_t seed) {
  VirtualLoop loop(seed);
  std::string order;
  for (const char name : {'a', 'b', 'c', 'd'}) {
    loop.after(seconds(1), [&order, name] { order += name; });
  }
  loop.run_for(seconds(1));
  return order;
}

TEST(VirtualLoop, TiesRunInEveryOrder) {
  std::set<std::string> orders;
  for (uint64_t seed = 0; seed < 500; ++seed) orders.insert(order_of_ties(seed));
  EXPECT_EQ(orders.size(), 24U);
}

// A little world that branches on chance and time; its history is its digest.
std::string history(uint64_t seed) {
  VirtualLoop loop(seed);
  SeededRandom random(seed + 1);
  Digest digest;
  size_t budget = 500;
  std::function<void(uint64_t)> act = [&](uint64_t actor) {
    digest.add(actor);
    digest.add(static_cast<uint64_t>(loop.uptime().count()));
    for (uint64_t i = 0; i < 2 && budget > 0; ++i, --budget) {
      const TimerId timer = loop.after(seconds(static_cast<int64_t>(random.below(3))),
                                       [&, next = actor * 2 + i] { act(next); });
      if (random.below(10) == 0) loop.cancel(timer);
    }
  };
  for (uint64_t actor = 1; actor < 4; ++actor) loop.post([&, actor] { act(actor); });
  loop.run_for(hours(1));
  return digest.hex();
}

RC_GTEST_PROP(VirtualLoop, OneSeedOneHistory, (uint64_t seed)) {
  RC_ASSERT(history(seed) == history(seed));
}

TEST(VirtualLoop, OtherSeedsOtherHistories) {
  std::set<std::string> histories;
  for (uint64_t seed = 0; seed < 50; ++seed) histories.insert(history(seed));
  EXPECT_EQ(histories.size(), 50U);
}

}  // namespace
}  // namespace lockstep::virtual_loop_test
