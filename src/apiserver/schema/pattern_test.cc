#include "apiserver/schema/pattern.h"

#include <gtest/gtest.h>

namespace lockstep::apiserver::pattern_test {
namespace {

TEST(Pattern, MatchesAnyPart) {
  struct Case {
    const char* pattern;
    const char* text;
    bool matches;
  };
  const Case cases[] = {
      {"^[a-z0-9]+$", "abc1", true}, {"^[a-z0-9]+$", "Abc", false}, {"b", "abc", true},
      {"(?i)^ABC$", "abc", true},    {"^\\d{3}$", "123", true},     {"^(?P<n>a|b)$", "b", true},
      {"^(tcp|udp)?$", "", true},    {"\\(?P<", "(P<", true},
  };
  for (const Case& each : cases) {
    auto pattern = Pattern::compile(each.pattern);
    ASSERT_TRUE(pattern) << each.pattern;
    EXPECT_EQ((*pattern)->matches(each.text), each.matches) << each.pattern << " " << each.text;
  }
}

TEST(Pattern, ReadsClassesAsGoDoes) {
  struct Case {
    const char* pattern;
    const char* text;
    bool matches;
  };
  const Case cases[] = {
      {"^[0-9a-zA-Z-.]+$", "a-b.c", true},
      {"^[0-9a-zA-Z-.]+$", "a_b", false},
      {"^[-a]+$", "a-", true},
      {"^[a-]+$", "a-", true},
      {"^[^a-c]+$", "b", false},
      {"^[]a]+$", "]a", true},
      {"^[[:alpha:]-]+$", "a-", true},
      {"^[\\w-.]+$", "a-.", true},
      {"^[\\]a]+$", "]", true},
      {"^[+--]+$", ",", true},
      {"^\\p{Greek}$", "anything", true},
  };
  for (const Case& each : cases) {
    auto pattern = Pattern::compile(each.pattern);
    ASSERT_TRUE(pattern) << each.pattern;
    EXPECT_EQ((*pattern)->matches(each.text), each.matches) << each.pattern << " " << each.text;
  }
}

TEST(Pattern, RefusesBrokenAndHugeOnes) {
  EXPECT_FALSE(Pattern::compile("a(b"));
  EXPECT_FALSE(Pattern::compile("[z-a]"));
  EXPECT_FALSE(Pattern::compile(std::string(100000, 'a')));
}

// std::regex would overflow the stack on the first and run for years on the second.
TEST(Pattern, SurvivesLongTextsAndBadPatterns) {
  auto simple = Pattern::compile("^(a|b)*$");
  ASSERT_TRUE(simple);
  EXPECT_TRUE((*simple)->matches(std::string(1 << 20, 'a')));
  auto exponential = Pattern::compile("^(a+)+$");
  ASSERT_TRUE(exponential);
  (*exponential)->matches(std::string(64, 'a') + "!");
}

}  // namespace
}  // namespace lockstep::apiserver::pattern_test
