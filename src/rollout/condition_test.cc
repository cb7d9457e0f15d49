#include "rollout/condition.h"

#include <cmath>

#include <gtest/gtest.h>

namespace lockstep::rollout::condition_test {
namespace {

bool holds(const char* text, double result) {
  auto condition = Condition::parse(text);
  EXPECT_TRUE(condition) << text;
  return condition && condition->holds(result);
}

TEST(Condition, ComparesTheResultWithANumber) {
  EXPECT_TRUE(holds("result < 0.01", 0));
  EXPECT_FALSE(holds("result < 0.01", 0.01));
  EXPECT_TRUE(holds("result<=0.01", 0.01));
  EXPECT_TRUE(holds(" result >= -1 ", -1));
  EXPECT_FALSE(holds("result > 5e2", 500));
  EXPECT_TRUE(holds("result == 0", 0));
  EXPECT_TRUE(holds("result != 0", 1));
  EXPECT_TRUE(holds("result > 1", INFINITY));
}

TEST(Condition, AndBindsTighterThanOr) {
  const char* text = "result > 1 && result < 2 || result == 7";
  EXPECT_TRUE(holds(text, 1.5));
  EXPECT_TRUE(holds(text, 7));
  EXPECT_FALSE(holds(text, 3));
  EXPECT_FALSE(holds(text, 1));
}

TEST(Condition, NothingHoldsForWhatIsNoNumber) {
  EXPECT_FALSE(holds("result != 0", std::nan("")));
  EXPECT_FALSE(holds("result < 1 || result >= 1", std::nan("")));
}

TEST(Condition, SaysWhatItCannotRead) {
  for (const char* text : {"", "result", "result <", "result < many", "result < 1 &&", "x < 1",
                           "result < nan", "result =< 1", "result < 1 2", "|| result < 1"}) {
    auto condition = Condition::parse(text);
    EXPECT_FALSE(condition) << text;
    if (!condition) {
      EXPECT_NE(condition.error().text().find("result < 0.01"), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace lockstep::rollout::condition_test
