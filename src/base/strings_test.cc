#include "base/strings.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace lockstep::strings_test {
namespace {

using Views = std::vector<std::string_view>;

TEST(Strings, Split) {
  EXPECT_EQ(split("", ','), (Views{""}));
  EXPECT_EQ(split("a", ','), (Views{"a"}));
  EXPECT_EQ(split("a,,b,", ','), (Views{"a", "", "b", ""}));
}

RC_GTEST_PROP(Strings, JoinUndoesSplit, ()) {
  const auto text = *rc::gen::container<std::string>(rc::gen::element('a', 'b', ','));
  std::vector<std::string> parts;
  for (const std::string_view part : split(text, ',')) parts.emplace_back(part);
  RC_ASSERT(join(parts, ",") == text);
}

TEST(Strings, Trim) {
  EXPECT_EQ(trim(" \t\r\n a b \v\f"), "a b");
  EXPECT_EQ(trim("   "), "");
  EXPECT_EQ(trim(""), "");
}

TEST(Strings, LowerChangesAsciiOnly) {
  EXPECT_EQ(lower("ABCxyz-\u00c4[@`{"), "abcxyz-\u00c4[@`{");
  EXPECT_TRUE(equal_ignoring_case("Content-Type", "content-tYPE"));
  EXPECT_FALSE(equal_ignoring_case("a", "ab"));
  EXPECT_FALSE(equal_ignoring_case("[", "{"));
}

TEST(Strings, ParseInteger) {
  EXPECT_EQ(parse_integer("-9223372036854775808"), INT64_MIN);
  EXPECT_EQ(parse_integer("007"), 7);
  for (const std::string text : {"", "-", "+1", " 1", "1 ", "0x1", "1.0", "9223372036854775808"}) {
    EXPECT_EQ(parse_integer(text), std::nullopt) << text;
  }
  EXPECT_EQ(parse_unsigned("18446744073709551615"), UINT64_MAX);
  for (const std::string text : {"", "-1", "+1", "18446744073709551616"}) {
    EXPECT_EQ(parse_unsigned(text), std::nullopt) << text;
  }
}

TEST(Base64, KnownValues) {
  const std::vector<std::pair<std::string, std::string>> cases = {{"", ""},
                                                                  {"f", "Zg=="},
                                                                  {"fo", "Zm8="},
                                                                  {"foo", "Zm9v"},
                                                                  {"foob", "Zm9vYg=="},
                                                                  {"fooba", "Zm9vYmE="},
                                                                  {"foobar", "Zm9vYmFy"},
                                                                  {"\xfb\xff", "+/8="}};
  for (const auto& [bytes, text] : cases) {
    EXPECT_EQ(base64_encode(bytes), text);
    EXPECT_EQ(base64_decode(text).value(), bytes);
  }
}

TEST(Base64, LineBreaksAreSkipped) {
  EXPECT_EQ(base64_decode("Zm9v\nYmFy\r\n").value(), "foobar");
  EXPECT_EQ(base64_decode("Z\ng=\n=\n").value(), "f");
}

TEST(Base64, RefusesWhatIsBroken) {
  for (const std::string text : {"Z", "Zg", "Zg=", "Zg===", "Zm8==", "=", "====", "Z===", "Zm9v=",
                                 "Zm9vZg==Zg==", "Zg=g", "Zm 9v", "Zm-v", "Zm_v", "Zm9\xff"}) {
    const auto decoded = base64_decode(text);
    ASSERT_FALSE(decoded) << text;
    EXPECT_EQ(decoded.error().kind, ErrorKind::invalid);
  }
}

RC_GTEST_PROP(Base64, SurvivesTheRoundTrip, (const std::string& bytes)) {
  RC_ASSERT(base64_decode(base64_encode(bytes)).value() == bytes);
}

TEST(Url, Decode) {
  EXPECT_EQ(url_decode("a%20b+c%2Fd", true).value(), "a b c/d");
  EXPECT_EQ(url_decode("a+b%2f", false).value(), "a+b/");
  for (const std::string text : {"%", "a%2", "%zz", "%2g", "%%20"}) {
    ASSERT_FALSE(url_decode(text, true)) << text;
  }
}

TEST(Url, Encode) { EXPECT_EQ(url_encode("aZ09-._~ +/=\xff"), "aZ09-._~%20%2B%2F%3D%FF"); }

RC_GTEST_PROP(Url, SurvivesTheRoundTrip, (const std::string& text, bool plus_is_space)) {
  RC_ASSERT(url_decode(url_encode(text), plus_is_space).value() == text);
}

TEST(NaturalLess, NumbersCountAsNumbers) {
  const std::vector<std::string> ordered = {
      "",           "0",        "1",         "9",     "10",
      "gpu",        "gpu-1",    "gpu-1a",    "gpu-2", "gpu-9",
      "gpu-10",     "gpu-10-2", "gpu-10-10", "gpu-a", "gpu-99999999999999999999999",
      "rack1-gpu-2"};
  std::vector<std::string> sorted = {ordered.rbegin(), ordered.rend()};
  std::sort(sorted.begin(), sorted.end(), natural_less);
  // Against letters a number of any length comes first.
  std::vector<std::string> expected = ordered;
  std::swap(expected[13], expected[14]);
  EXPECT_EQ(sorted, expected);
}

TEST(NaturalLess, LeadingZerosDecideLast) {
  EXPECT_TRUE(natural_less("a01", "a1"));
  EXPECT_FALSE(natural_less("a1", "a01"));
  EXPECT_TRUE(natural_less("a1b", "a01c"));
  EXPECT_TRUE(natural_less("a00", "a1"));
}

// Few characters, so that strings agree in long prefixes.
std::string any_name() {
  return *rc::gen::container<std::string>(rc::gen::element('0', '1', '2', 'a', '-', '~'));
}

RC_GTEST_PROP(NaturalLess, IsATotalOrder, ()) {
  const std::string a = any_name(), b = any_name(), c = any_name();
  RC_ASSERT(!natural_less(a, a));
  RC_ASSERT((a == b) == (!natural_less(a, b) && !natural_less(b, a)));
  RC_ASSERT(!(natural_less(a, b) && natural_less(b, a)));
  if (natural_less(a, b) && natural_less(b, c)) RC_ASSERT(natural_less(a, c));
}

TEST(Nearest, FindsTypingErrors) {
  const std::vector<std::string> commands = {"plan", "status", "pause", "promote", "rollback"};
  EXPECT_EQ(nearest("statsu", commands), "status");
  EXPECT_EQ(nearest("plna", commands), "plan");
  EXPECT_EQ(nearest("PROMOTE", commands), "promote");
  EXPECT_EQ(nearest("rolback", commands), "rollback");
  EXPECT_EQ(nearest("plan", commands), "plan");
}

TEST(Nearest, DoesNotGuessWildly) {
  const std::vector<std::string> commands = {"plan", "status", "pause", "x"};
  EXPECT_EQ(nearest("doctor", commands), std::nullopt);
  EXPECT_EQ(nearest("", commands), std::nullopt);
  EXPECT_EQ(nearest("y", commands), std::nullopt);
  EXPECT_EQ(nearest("anything", {}), std::nullopt);
}

TEST(Suggestion, IsTheNearestWordElseTheExpectedOnes) {
  EXPECT_EQ(unknown_word("node", "gpu-33", {"gpu-1", "gpu-3"}),
            "unknown node \"gpu-33\"; did you mean \"gpu-3\"?");
  EXPECT_EQ(unknown_word("service", "azure", {"eks", "gke"}),
            "unknown service \"azure\"; expected one of: eks, gke");
  EXPECT_EQ(unknown_word("field", "zzzz", {"chart"}), "unknown field \"zzzz\"; expected chart");
  EXPECT_EQ(unknown_word("node", "gpu-1", {}), "unknown node \"gpu-1\"");
}

TEST(Suggestion, StaysReadable) {
  std::vector<std::string> known;
  for (char c = 'a'; c <= 'z'; ++c) known.emplace_back(3, c);
  EXPECT_TRUE(unknown_word("word", "------", known).ends_with("sss, ttt, … (26 in all)"));
  EXPECT_EQ(unknown_word("word", std::string(1000, 'w'), {}),
            "unknown word \"" + std::string(64, 'w') + "\"…");
}

TEST(Quoted, IsWhatGoWrites) {
  EXPECT_EQ(quoted("a\"b\\\n\t\r"), R"("a\"b\\\n\t\r")");
  EXPECT_EQ(quoted(std::string_view("\0\x7f", 2)), R"("\x00\x7f")");
  EXPECT_EQ(quoted("é"), "\"é\"");
  EXPECT_EQ(quoted("\xff"), R"("\xff")");
}

TEST(Quoted, AnExcerptEndsBetweenTwoCharacters) {
  EXPECT_EQ(quoted_excerpt("short"), "\"short\"");
  EXPECT_EQ(quoted_excerpt(std::string(63, 'a') + "\u00e4\u00e4"),
            "\"" + std::string(63, 'a') + "\"…");
}

TEST(Utf8, AcceptsWhatIsValid) {
  for (const std::string text :
       {"", "plain", "\u00e4\u20ac\U0001f600", "\x7f", "\xc2\x80", "\xe0\xa0\x80", "\xed\x9f\xbf",
        "\xee\x80\x80", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf", "eight by\u00e4eight by"}) {
    EXPECT_TRUE(is_valid_utf8(text)) << text;
  }
  EXPECT_TRUE(is_valid_utf8(std::string_view("\0\0", 2)));
}

TEST(Utf8, RefusesWhatIsNot) {
  for (const std::string text :
       {"\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xc2", "\xc2 ", "\xe0\x9f\xbf", "\xe2\x82",
        "\xe2\x82 ", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf", "\xf0\x9f\x98", "\xf4\x90\x80\x80",
        "\xf5\x80\x80\x80", "\xff", "eight bytes\xff", "\xe4ight bytes and more"}) {
    EXPECT_FALSE(is_valid_utf8(text));
  }
}

RC_GTEST_PROP(Utf8, EncodedCodePointsAreValidUnlessSurrogates, ()) {
  const auto point = *rc::gen::inRange<uint32_t>(0x10000, 0x110000);
  const auto byte = [](uint32_t value) { return static_cast<char>(value); };
  const std::string four = {byte(0xf0 | point >> 18), byte(0x80 | (point >> 12 & 63)),
                            byte(0x80 | (point >> 6 & 63)), byte(0x80 | (point & 63))};
  RC_ASSERT(is_valid_utf8(four));
  const auto small = *rc::gen::inRange<uint32_t>(0x800, 0x10000);
  const std::string three = {byte(0xe0 | small >> 12), byte(0x80 | (small >> 6 & 63)),
                             byte(0x80 | (small & 63))};
  RC_ASSERT(is_valid_utf8(three) == (small < 0xd800 || small > 0xdfff));
}

}  // namespace
}  // namespace lockstep::strings_test
