#include "base/reference_count.h"

#include <thread>

#include <gtest/gtest.h>

namespace lockstep::reference_count_test {
namespace {

TEST(ReferenceCount, TheLastOneToGoIsTold) {
  ReferenceCount count;
  EXPECT_FALSE(count.is_shared());
  count.add();
  EXPECT_TRUE(count.is_shared());
  EXPECT_FALSE(count.drop());
  EXPECT_FALSE(count.is_shared());
  EXPECT_TRUE(count.drop());
}

TEST(ReferenceCount, ThreadsDoNotLoseEachOther) {
  constexpr int times = 20'000;
  ReferenceCount count;
  auto hold = [&count] {
    for (int i = 0; i < times; ++i) count.add();
  };
  std::thread other(hold);
  hold();
  other.join();
  for (int i = 0; i < 2 * times; ++i) ASSERT_FALSE(count.drop());
  EXPECT_TRUE(count.drop());
}

}  // namespace
}  // namespace lockstep::reference_count_test
