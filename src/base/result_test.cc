#include "base/result.h"

#include <string>

#include <gtest/gtest.h>

namespace lockstep::result_test {
namespace {

Result<int> half(int number) {
  if (number % 2 != 0) return failf(ErrorKind::invalid, "{} is odd", number);
  return number / 2;
}

Result<int> quarter(int number) {
  LOCKSTEP_TRY(const int once, half(number));
  LOCKSTEP_TRY(const int twice, half(once));
  return twice;
}

Result<void> must_be_even(int number) {
  LOCKSTEP_CHECK(half(number));
  return {};
}

TEST(Result, TryPassesValuesOnAndErrorsOut) {
  EXPECT_EQ(quarter(12).value(), 3);
  ASSERT_FALSE(quarter(6));
  EXPECT_EQ(quarter(6).error(), (Error{ErrorKind::invalid, "3 is odd", ""}));
}

TEST(Result, CheckLeavesOnAnErrorOnly) {
  EXPECT_TRUE(must_be_even(2));
  ASSERT_FALSE(must_be_even(3));
  EXPECT_EQ(must_be_even(3).error().message, "3 is odd");
}

TEST(Error, TextNamesThePlaceFirst) {
  const Error error{ErrorKind::invalid, "unknown field", "spec.replicas"};
  EXPECT_EQ(error.text(), "spec.replicas: unknown field");
  EXPECT_EQ((Error{ErrorKind::invalid, "unknown field", ""}.text()), "unknown field");
}

TEST(Error, AtPrefixesThePlaceAndKeepsTheRest) {
  const Error inner{ErrorKind::conflict, "changed meanwhile", ""};
  const Error outer = inner.at("Node gpu-7").at("wave 2");
  EXPECT_EQ(outer.place, "wave 2: Node gpu-7");
  EXPECT_EQ(outer.kind, ErrorKind::conflict);
  EXPECT_EQ(outer.text(), "wave 2: Node gpu-7: changed meanwhile");
}

TEST(ErrorKind, EveryKindHasANameOfItsOwn) {
  for (int a = 0; a <= static_cast<int>(ErrorKind::internal); ++a) {
    EXPECT_NE(to_string(static_cast<ErrorKind>(a)), "unknown error");
    for (int b = 0; b < a; ++b) {
      EXPECT_NE(to_string(static_cast<ErrorKind>(a)), to_string(static_cast<ErrorKind>(b)));
    }
  }
}

}  // namespace
}  // namespace lockstep::result_test
