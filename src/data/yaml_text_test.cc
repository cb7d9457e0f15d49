#include "data/yaml_text.h"

#include <gtest/gtest.h>

namespace lockstep::yaml::yaml_text_test {
namespace {

using namespace std::string_literals;

TEST(YamlText, decodes_utf8) {
  struct Case {
    std::string text;
    char32_t value;
    size_t size;
  };
  const Case cases[] = {
      {"a", 'a', 1},
      {"\x7F", 0x7F, 1},
      {"\xC3\xA9", 0xE9, 2},
      {"\xE2\x82\xAC", 0x20AC, 3},
      {"\xF0\x9F\x98\x80", 0x1F600, 4},
      {"\xF4\x8F\xBF\xBF", 0x10FFFF, 4},
      {"\xC3", kNotUtf8, 1},              // cut off
      {"\xC3z", kNotUtf8, 1},             // no continuation
      {"\xA9", kNotUtf8, 1},              // a continuation alone
      {"\xC0\x80", kNotUtf8, 1},          // overlong
      {"\xE0\x80\x80", kNotUtf8, 1},      // overlong
      {"\xF0\x80\x80\x80", kNotUtf8, 1},  // overlong
      {"\xED\xA0\x80", kNotUtf8, 1},      // a surrogate
      {"\xF4\x90\x80\x80", kNotUtf8, 1},  // beyond Unicode
      {"\xFF", kNotUtf8, 1},
  };
  for (const Case& test : cases) {
    const CodePoint found = decode_utf8(test.text, 0);
    EXPECT_EQ(found.value, test.value) << ::testing::PrintToString(test.text);
    EXPECT_EQ(found.size, test.size) << ::testing::PrintToString(test.text);
  }
}

TEST(YamlText, tells_printable_characters) {
  for (const char32_t character :
       {U'\t', U' ', U'~', U'\u00A0', U'\u00E9', U'\uFFFD', U'\U0001F600'}) {
    EXPECT_TRUE(is_printable(character)) << static_cast<uint32_t>(character);
  }
  for (const char32_t character : {U'\0', U'\n', U'\r', U'\x1B', U'\x7F', U'\x85', U'\x9F',
                                   U'\u2028', U'\u2029', U'\uFEFF', U'\uFFFE', U'\uFFFF'}) {
    EXPECT_FALSE(is_printable(character)) << static_cast<uint32_t>(character);
  }
}

TEST(YamlText, refuses_bad_bytes_with_their_place) {
  struct Case {
    std::string text;
    const char* place;
    const char* message;
  };
  const Case cases[] = {
      {"a: \xFF", "f:1:4", "byte 0xFF is not UTF-8"},
      {"a: 1\r\n\xC3\xA9: \xE2\x28", "f:2:4", "byte 0xE2 is not UTF-8"},
      {"\xFF\xFE"
       "a\0"s,
       "f:1:1", "save the file in the encoding UTF-8"},
      {"a\0"s, "f:1:2", "the control character U+0000"},
      {"\xEF\xBB\xBF\x1B", "f:1:1", "the control character U+001B"},
      {"a: \x7F", "f:1:4", "\"\\u007F\" in double quotes"},
  };
  for (const Case& test : cases) {
    const auto result = check_characters(test.text, "f");
    ASSERT_FALSE(result) << ::testing::PrintToString(test.text);
    EXPECT_EQ(result.error().kind, ErrorKind::invalid);
    EXPECT_EQ(result.error().place, test.place);
    EXPECT_NE(result.error().message.find(test.message), std::string::npos)
        << result.error().message;
  }
  EXPECT_TRUE(
      check_characters("\xEF\xBB\xBF"
                       "a: \t\r\n\xC2\x85\xE2\x80\xA8",
                       "f"));
}

TEST(YamlText, a_place_without_a_name_has_no_colon_before_it) {
  EXPECT_EQ(place("", Mark{2, 4, 0}), "3:5");
  EXPECT_EQ(place("values.yaml", Mark{2, 4, 0}), "values.yaml:3:5");
}

}  // namespace
}  // namespace lockstep::yaml::yaml_text_test
