#include "data/json_text.h"

#include <gtest/gtest.h>

namespace lockstep::json_text_test {
namespace {

TEST(JsonText, LinesAndColumnsCountFromOne) {
  EXPECT_EQ(line_and_column("ab\ncd", 0), "1:1");
  EXPECT_EQ(line_and_column("ab\ncd", 2), "1:3");
  EXPECT_EQ(line_and_column("ab\ncd", 3), "2:1");
  EXPECT_EQ(line_and_column("ab\ncd", 99), "2:3");
}

TEST(JsonText, IntegersAreThoseWithoutAFraction) {
  EXPECT_EQ(integer_of(Json(1e3)), 1000);
  EXPECT_EQ(integer_of(-9223372036854775808.0), INT64_MIN);
  EXPECT_FALSE(integer_of(9223372036854775808.0));
  EXPECT_FALSE(integer_of(0.5));
  EXPECT_FALSE(integer_of(Json(uint64_t{1} << 63)));
  EXPECT_FALSE(integer_of(Json("1")));
}

TEST(JsonText, TooLargeIsNothingAndTooSmallIsZero) {
  EXPECT_FALSE(number_from_json_text("1e309"));
  EXPECT_FALSE(number_from_json_text("0.001e400"));
  EXPECT_EQ(number_from_json_text("1000e-400"), 0.0);
  EXPECT_EQ(number_from_json_text("0e400"), 0.0);
  EXPECT_EQ(number_from_json_text("5e-324"), 5e-324);
}

}  // namespace
}  // namespace lockstep::json_text_test
