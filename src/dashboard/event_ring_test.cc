#include "dashboard/event_ring.h"

#include <gtest/gtest.h>

namespace lockstep::dashboard::event_ring_test {
namespace {

TEST(EventRing, GivesWhatCameAfterANumber) {
  EventRing ring("abc");
  ring.push(1, "one");
  ring.push(2, "two");
  EXPECT_EQ(*ring.after(0), "id: abc:1\ndata: one\n\n");
  EXPECT_EQ(*ring.after(1), "id: abc:2\ndata: two\n\n");
  EXPECT_EQ(ring.after(2), nullptr);
  EXPECT_TRUE(ring.holds_after(0));
  EXPECT_TRUE(ring.holds_after(2));
  EXPECT_FALSE(ring.holds_after(3)) << "a number that was never given out";
}

TEST(EventRing, WhoWasAwayTooLongBeginsAnew) {
  EventRing ring("abc", {.events = 2, .bytes = 1000});
  for (uint64_t number = 1; number <= 5; ++number) ring.push(number, "x");
  EXPECT_EQ(ring.size(), 2U);
  EXPECT_FALSE(ring.holds_after(2));
  EXPECT_EQ(ring.after(2), nullptr);
  EXPECT_TRUE(ring.holds_after(3));
  EXPECT_EQ(*ring.after(3), "id: abc:4\ndata: x\n\n");
}

TEST(EventRing, HoldsNoMoreBytesThanItMayButAlwaysTheLast) {
  EventRing ring("abc", {.events = 100, .bytes = 300});
  for (uint64_t number = 1; number <= 10; ++number) ring.push(number, std::string(100, 'x'));
  EXPECT_LE(ring.bytes(), 300U);
  ring.push(11, std::string(1000, 'y'));
  EXPECT_EQ(ring.size(), 1U);
  EXPECT_NE(ring.after(10), nullptr);
}

TEST(EventRing, KnowsItsOwnIdsOnly) {
  EventRing ring("abc");
  EXPECT_EQ(ring.number_of(ring.id(17)), 17U);
  for (const char* id : {"", "17", "abd:17", "abc:", "abc:x", "abc:-1", ":17"}) {
    EXPECT_FALSE(ring.number_of(id)) << id;
  }
}

}  // namespace
}  // namespace lockstep::dashboard::event_ring_test
