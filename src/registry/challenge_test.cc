#include "registry/challenge.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace lockstep::registry::challenge_test {
namespace {

TEST(Challenge, AsRegistriesWriteIt) {
  const auto challenges = parse_challenges(
      R"(Bearer realm="https://auth.test/token",service="registry.test",scope="repository:a/b:pull,push")");
  ASSERT_EQ(challenges.size(), 1U);
  EXPECT_EQ(challenges[0].scheme, "bearer");
  EXPECT_EQ(challenges[0].parameter("realm"), "https://auth.test/token");
  EXPECT_EQ(challenges[0].parameter("service"), "registry.test");
  EXPECT_EQ(challenges[0].parameter("scope"), "repository:a/b:pull,push");
  EXPECT_EQ(challenges[0].parameter("error"), "");
}

TEST(Challenge, SeveralInOneHeader) {
  const std::vector<Challenge> expected = {{"basic", {{"realm", "a \"b\", c"}}},
                                           {"bearer", {{"realm", "x"}, {"service", ""}}},
                                           {"other", {}}};
  EXPECT_EQ(parse_challenges(R"(Basic realm="a \"b\", c", Bearer  Realm = x , service="",Other)"),
            expected);
}

TEST(Challenge, NonsenseDoesNoHarm) {
  EXPECT_TRUE(parse_challenges("").empty());
  EXPECT_TRUE(parse_challenges(" ,=, ").empty());
  EXPECT_TRUE(parse_challenges("a=b").empty());
  EXPECT_EQ(parse_challenges(R"(Basic realm="open)"),
            (std::vector<Challenge>{{"basic", {{"realm", "open"}}}}));
}

RC_GTEST_PROP(Challenge, AnyTextIsReadToItsEnd, (const std::string& text)) {
  RC_ASSERT(parse_challenges(text).size() <= text.size());
}

}  // namespace
}  // namespace lockstep::registry::challenge_test
