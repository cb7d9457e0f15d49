#include "objects/int_or_percent.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace lockstep::int_or_percent_test {
namespace {

TEST(IntOrPercent, ReadsBothForms) {
  EXPECT_EQ(*IntOrPercent::parse("5"), IntOrPercent::count(5));
  EXPECT_EQ(*IntOrPercent::parse("25%"), IntOrPercent::percentage(25));
  EXPECT_EQ(*IntOrPercent::parse("0"), IntOrPercent::count(0));
  EXPECT_EQ(*IntOrPercent::parse("100%"), IntOrPercent::percentage(100));
  EXPECT_EQ(*IntOrPercent::from_json(Json(5)), IntOrPercent::count(5));
  EXPECT_EQ(*IntOrPercent::from_json(Json("25%")), IntOrPercent::percentage(25));
}

TEST(IntOrPercent, IsStrict) {
  for (std::string_view text : {"", "%", "-1", "-1%", "101%", "2.5", "25 %", "a", "5%%", "0x5",
                                "99999999999999999999%", "4294967296"}) {
    EXPECT_FALSE(IntOrPercent::parse(text).has_value()) << text;
  }
  for (std::string_view text :
       {"\"5\"", "2.5", "-1", "true", "null", "[]", "{}", "\"\"", "18446744073709551615"}) {
    EXPECT_FALSE(IntOrPercent::from_json(*parse_json(text)).has_value()) << text;
  }
  EXPECT_EQ(IntOrPercent::parse("101%").error().message, "must not be greater than 100%");
  EXPECT_EQ(IntOrPercent::parse("-1").error().message, "must be greater than or equal to 0");
}

TEST(IntOrPercent, IsScaledAndRounded) {
  struct Case {
    std::string_view text;
    int64_t total, up, down;
  };
  for (const Case& each : std::vector<Case>{{"5", 3, 5, 5},
                                            {"25%", 10, 3, 2},
                                            {"25%", 4, 1, 1},
                                            {"1%", 4, 1, 0},
                                            {"0%", 100, 0, 0},
                                            {"100%", 7, 7, 7},
                                            {"50%", 0, 0, 0}}) {
    auto value = IntOrPercent::parse(each.text);
    ASSERT_TRUE(value.has_value());
    EXPECT_EQ(value->of(each.total, Rounding::up), each.up) << each.text;
    EXPECT_EQ(value->of(each.total, Rounding::down), each.down) << each.text;
  }
}

RC_GTEST_PROP(IntOrPercent, ComesBackFromItsText, (bool percent)) {
  IntOrPercent value{*rc::gen::inRange<int64_t>(0, percent ? 101 : 1000000), percent};
  RC_ASSERT(*IntOrPercent::parse(value.text()) == value);
  RC_ASSERT(*IntOrPercent::from_json(value.to_json()) == value);
}

}  // namespace
}  // namespace lockstep::int_or_percent_test
