#include "sim/scenario/shifted_loop.h"

#include <gtest/gtest.h>

#include "world/virtual_loop.h"

namespace lockstep::sim::shifted_loop_test {
namespace {

TEST(ShiftedLoop, ItsWallClockIsItsOwnAndTimersDoNotCare) {
  VirtualLoop inner(1);
  ShiftedLoop loop(inner);
  Time before = inner.now();
  EXPECT_EQ(loop.now(), before);
  int ran = 0;
  loop.after(seconds(10), [&] { ++ran; });
  TimerId cancelled = loop.after(seconds(10), [&] { ran += 100; });
  loop.cancel(cancelled);
  loop.step_clock(-hours(1));
  EXPECT_EQ(loop.now(), before - hours(1));
  EXPECT_EQ(inner.now(), before);
  inner.run_for(seconds(9));
  EXPECT_EQ(ran, 0);
  inner.run_for(seconds(2));
  EXPECT_EQ(ran, 1);
  EXPECT_EQ(loop.uptime(), inner.uptime());
  loop.step_clock(hours(3));
  EXPECT_EQ(loop.shift(), hours(2));
  EXPECT_EQ(loop.now(), before + seconds(11) + hours(2));
}

}  // namespace
}  // namespace lockstep::sim::shifted_loop_test
