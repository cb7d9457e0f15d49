#include "data/yaml_style.h"

#include <gtest/gtest.h>

namespace lockstep::yaml::yaml_style_test {
namespace {

using namespace std::string_literals;

TEST(YamlStyle, strings_that_need_no_quotes) {
  for (const char* text : {"a",
                           "a b",
                           "a:b",
                           "a#b",
                           "-v",
                           "--port=80",
                           "-a:b",
                           "https://x/y?z#w",
                           "nvcr.io/nvidia/driver:570.124.06",
                           "it's",
                           "say \"hi\"",
                           "a\\b",
                           "~/a",
                           "\u00E9",
                           "\U0001F600",
                           "a, b",
                           "a]",
                           "$(X)",
                           "<none>",
                           "=a",
                           ".a"}) {
    EXPECT_TRUE(is_safe_plain(text)) << text;
    EXPECT_EQ(print_string(text), text);
  }
}

TEST(YamlStyle, strings_that_need_quotes) {
  const std::string cases[] = {
      "",
      " ",
      " a",
      "a ",
      "a: b",
      "a:",
      "a #b",
      "#a",
      "-",
      "--",
      "- a",
      "-- a",
      "---",
      "--- a",
      "...",
      "? a",
      "?a",
      ":a",
      ",a",
      "[a",
      "]a",
      "{a",
      "}a",
      "&a",
      "*a",
      "!a",
      "|a",
      ">a",
      "'a",
      "\"a",
      "%a",
      "@a",
      "`a",
      "1.10",
      "0755",
      "on",
      "y",
      "~",
      "null",
      "1e3",
      "0x1f",
      "1_000",
      "<<",
      "=",
      "2001-01-01",
      "12:30:45",
      "a\tb",
      "a\nb",
      "a\rb",
      "\x1B",
      "\x7F",
      "a\0b"s,
      "a\xC2\x85"
      "b",
      "a\xE2\x80\xA8"
      "b",
      "\xEF\xBB\xBF",
      "\xEF\xBF\xBF",
      "\xFF",
  };
  for (const std::string& text : cases) {
    EXPECT_FALSE(is_safe_plain(text)) << ::testing::PrintToString(text);
    const char first = print_string(text).front();
    EXPECT_TRUE(first == '"' || first == '\'') << ::testing::PrintToString(text);
  }
}

TEST(YamlStyle, in_flow_fewer_strings_stand_plain) {
  for (const char* text : {"a,b", "a]b", "a}b", "a[b", "a{b", "a:b", "a?b"}) {
    EXPECT_TRUE(is_safe_plain(text)) << text;
    EXPECT_FALSE(is_safe_plain(text, true)) << text;
  }
  EXPECT_TRUE(is_safe_plain("a b", true));
}

TEST(YamlStyle, double_quotes_escape) {
  EXPECT_EQ(quote_double("a\"b\\c\n\r\t"), R"("a\"b\\c\n\r\t")");
  EXPECT_EQ(quote_double("\0\x1B\x7F"s), R"("\x00\x1B\x7F")");
  EXPECT_EQ(quote_double("\u0085\u2028\uFEFF\uFFFF"), R"("\x85\u2028\uFEFF\uFFFF")");
  EXPECT_EQ(quote_double("\u00E9\U0001F600"), "\"\u00E9\U0001F600\"");
  EXPECT_EQ(quote_double("a\xFF"), "\"a\uFFFD\"");
}

TEST(YamlStyle, single_quotes_double_themselves) {
  EXPECT_EQ(quote_single("it's"), "'it''s'");
  EXPECT_EQ(quote_single("a\\\"b"), "'a\\\"b'");
  EXPECT_EQ(quote_single("a\nb"), std::nullopt);
  EXPECT_EQ(quote_single("a\tb"), std::nullopt);
  EXPECT_EQ(quote_single("\x1B"), std::nullopt);
}

TEST(YamlStyle, the_quotes_with_fewer_escapes_are_chosen) {
  EXPECT_EQ(print_string("1.10"), "\"1.10\"");
  EXPECT_EQ(print_string("\\d: \"x\""), "'\\d: \"x\"'");
  EXPECT_EQ(print_string("'\\d: "), "\"'\\\\d: \"");
}

TEST(YamlStyle, scalars_of_every_kind) {
  EXPECT_EQ(print_scalar(nullptr), "null");
  EXPECT_EQ(print_scalar(true), "true");
  EXPECT_EQ(print_scalar(false), "false");
  EXPECT_EQ(print_scalar(-5), "-5");
  EXPECT_EQ(print_scalar(UINT64_MAX), "18446744073709551615");
  EXPECT_EQ(print_scalar(2.0), "2.0");
  EXPECT_EQ(print_scalar("a"), "a");
}

TEST(YamlStyle, blocks) {
  struct Case {
    const char* text;
    std::optional<std::string> expected;
  };
  const Case cases[] = {
      {"a\nb\n", "|\n  a\n  b"},
      {"a\nb", "|-\n  a\n  b"},
      {"a\n\n", "|+\n  a\n"},
      {"a\n\nb\n", "|\n  a\n\n  b"},
      {"\na\n", "|\n\n  a"},
      {" a\nb\n", "|2\n   a\n  b"},
      {"\n\ta\n", "|2\n\n  \ta"},
      {"a\n b\n", "|\n  a\n   b"},
      {"# a\n--- b\n", "|\n  # a\n  --- b"},
      {"a", std::nullopt},
      {"", std::nullopt},
      {"\n", std::nullopt},
      {"\n\n", std::nullopt},
      {"a\n \nb\n", std::nullopt},  // a line of blanks only
      {"a\r\nb\n", std::nullopt},
      {"a\x1B\n", std::nullopt},
      {"a\xFF\n", std::nullopt},
  };
  for (const Case& test : cases) {
    EXPECT_EQ(print_block(test.text, 2, 2), test.expected) << ::testing::PrintToString(test.text);
  }
  EXPECT_EQ(print_block(" a\nb\n", 2, 0), std::nullopt);  // where the depth is not known
  EXPECT_EQ(print_block("a\nb\n", 4, 2, "\r\n"), "|\r\n    a\r\n    b");
}

}  // namespace
}  // namespace lockstep::yaml::yaml_style_test
