#include "kube/backoff.h"

#include <gtest/gtest.h>

namespace lockstep::kube::backoff_test {
namespace {

TEST(Backoff, GrowsToItsMaximumAndStaysThere) {
  BackoffPolicy policy{seconds(1), seconds(10), 2.0, 0.0};
  SeededRandom random(1);
  Backoff backoff(policy, random);
  EXPECT_EQ(backoff.next(), seconds(1));
  EXPECT_EQ(backoff.next(), seconds(2));
  EXPECT_EQ(backoff.next(), seconds(4));
  EXPECT_EQ(backoff.next(), seconds(8));
  for (int i = 0; i < 100; ++i) EXPECT_EQ(backoff.next(), seconds(10));
}

TEST(Backoff, StartsAgainAfterSuccess) {
  SeededRandom random(1);
  Backoff backoff({seconds(1), seconds(10), 2.0, 0.0}, random);
  backoff.next();
  backoff.next();
  backoff.reset();
  EXPECT_EQ(backoff.failures(), 0u);
  EXPECT_EQ(backoff.next(), seconds(1));
}

TEST(Backoff, JitterStaysBetweenItsBounds) {
  BackoffPolicy policy{seconds(1), seconds(30), 2.0, 0.5};
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SeededRandom random(seed);
    Backoff backoff(policy, random);
    for (uint32_t failure = 1; failure < 10; ++failure) {
      Duration plain = backoff_delay(policy, failure);
      Duration delay = backoff.next();
      EXPECT_GE(delay, plain);
      EXPECT_LE(delay, std::min(policy.maximum, plain + plain / 2));
    }
  }
}

TEST(Backoff, TwoClientsDoNotWaitTheSame) {
  SeededRandom one(1);
  SeededRandom two(2);
  EXPECT_NE(Backoff({}, one).next(), Backoff({}, two).next());
}

TEST(Backoff, WaitsAtLeastAsLongAsAsked) {
  SeededRandom random(1);
  Backoff backoff({seconds(1), seconds(10), 2.0, 0.0}, random);
  Duration delay = backoff.next_at_least(seconds(60));
  EXPECT_GE(delay, seconds(60));
  EXPECT_LE(delay, seconds(66));
  EXPECT_EQ(backoff.next_at_least(seconds(1)), seconds(2));
}

TEST(Backoff, HugeValuesDoNotOverflow) {
  SeededRandom random(1);
  EXPECT_GE(jittered(Duration::max() / 2, 100.0, random), Duration::max() / 2);
  EXPECT_EQ(backoff_delay({Duration::max() / 2, Duration::max(), 8.0, 0.0}, 4'000'000),
            Duration::max());
}

}  // namespace
}  // namespace lockstep::kube::backoff_test
