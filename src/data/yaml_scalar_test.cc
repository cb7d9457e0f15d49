#include "data/yaml_scalar.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <sstream>

#include <gtest/gtest.h>

#include "data/yaml.h"

namespace lockstep::yaml::yaml_scalar_test {
namespace {

// Measured facts: how sigs.k8s.io/yaml 1.4.0 and 1.6.0 (YAMLToJSON) read each word when it is
// the whole file. Helm and kubectl read YAML with this library. Words are separated by white
// space.

// Read as true.
constexpr std::string_view kTrue = R"yaml(
y Y yes Yes YES on On ON true True TRUE
)yaml";

// Read as false.
constexpr std::string_view kFalse = R"yaml(
n N no No NO off Off OFF false False FALSE
)yaml";

// Read as null.
constexpr std::string_view kNull = R"yaml(
~ null Null NULL
)yaml";

// Read as the number behind the last "=".
constexpr std::string_view kNumbers = R"yaml(
0=0 00=0 000=0 1=1 -1=-1 +1=1 +0=0 -0=0 007=7 017=15 0755=493 -017=-15 +017=15 08=8 09=9 018=18
0778=778 0o17=15 0O17=15 -0o17=-15 +0o17=15 0x1f=31 0X1F=31 0x1F=31 -0x1f=-31 +0x1f=31 0x_1=1
0x1_f=31 0b1=1 0B1=1 0b101=5 -0b11=-3 +0b11=3 0b-1=-1 0b+1=1 0b1_0=2 0b_1=1 1_000=1000 1__0=10
1_=1 +_1=1 -_1=-1 1_000.5=1000.5 1_0.5=10.5 1_0e3=10000 1e1_0=10000000000 0_7=7 0_8=8 0_=0
00_1=1 +1_0=10 9223372036854775807=9223372036854775807 9223372036854775808=9223372036854775808
-9223372036854775808=-9223372036854775808 -9223372036854775809=-9223372036854776000
18446744073709551615=18446744073709551615 18446744073709551616=18446744073709552000
+18446744073709551615=18446744073709552000 +9223372036854775807=9223372036854775807
+9223372036854775808=9223372036854776000 0xFFFFFFFFFFFFFFFF=18446744073709551615
01777777777777777777777=18446744073709551615 02777777777777777777777=2.777777777777778e+21
0777777777777777777777777=7.777777777777778e+23
0b1111111111111111111111111111111111111111111111111111111111111111=18446744073709551615
-0b1000000000000000000000000000000000000000000000000000000000000000=-9223372036854775808
123456789012345678901234567890=1.2345678901234568e+29
-123456789012345678901234567890=-1.2345678901234568e+29
100000000000000000000=100000000000000000000 1.=1 1.0=1 -1.0=-1 +1.0=1 1.5=1.5 01.5=1.5
-01.5=-1.5 007.5=7.5 1.10=1.1 1.20=1.2 550.90=550.9 .5=0.5 -.5=-0.5 +.5=0.5 .5e3=500
.5E-3=0.0005 .5_0=0.5 .5e1_0=5000000000 -._5=-0.5 -.5_0=-0.5 +.5_0=0.5 5._0=5 1e3=1000 1E3=1000
1e+3=1000 1e-3=0.001 -1e3=-1000 +1e3=1000 1.e3=1000 1.5e3=1500 1.5e+300=1.5e+300 1e308=1e+308
1e-400=0 -1e-400=-0 1e-320=1e-320 .1e-400=0 1e-999999999999=0 0e999999999=0 0.0=0 -0.0=-0 0.=0
.0=0 0e0=0 00e1=0 08e1=80 017e1=170 12e03=12000 1234567e89=1.234567e+95 0123e4=1230000
5e-324=5e-324 2e-324=0 1.7976931348623157e308=1.7976931348623157e+308 123e-2=1.23 0.1=0.1
0.30000000000000004=0.30000000000000004 0x1e3=483 20010101=20010101 1_2_3=123 1_2_3.4_5=123.45
-1_000=-1000 -0_17=-15 +0_17=15 -08=-8 -09=-9 +08=8 08.5=8.5 09e2=900 0x0=0 -0x0=0 0o0=0 0b0=0
-0b0=0 00.0=0 -00=0 +00=0 1_e3=1000 1e_3=1000 1e3_=1000 1._5=1.5 1.5_=1.5 -1.5_=-1.5 0x1_=1
0b__1=1 0__b1=1 0_b1=1 0_x1f=31 0_o17=15 0x__1f=31
)yaml";

// Stay the strings they are.
constexpr std::string_view kStrings = R"yaml(
yEs nO oN oFF tRUE fALSE t f T F o O nULL nil Nil none None void ~~ ~a 00x1 0o18 0o 0O o17 0x
0xg 0x1g 0b2 0b -0b-1 -0b+1 0B-1 _1 + -- ++ +- 1,000 1,0 0x10000000000000000 -0xFFFFFFFFFFFFFFFF
0b11111111111111111111111111111111111111111111111111111111111111111 570.124.06 1.2.3 1..2 . ..
.e3 .5e ._5 .5_ .5__0 .5.5 1e 1e+ 1e- e3 1e309 1e400 -1e400 .1e400 1e999999999999 1e3e3
1.7976931348623159e308 0x1p3 0x1.8 0x1.8p1 1p3 0xe+3 1f 1d 1L 0d1 .iNF inf Inf +inf -inf +Inf
-Inf infinity Infinity +Infinity .infinity .Nan nan NaN +.nan -.nan +NaN 2001-01-01 2001-1-1
2001-13-01 2001-01-01T00:00:00Z 2001-01-01t00:00:00Z 2001-01-01T00:00:00+01:00 2001-01
2001-01-01T 1-1-1 12:30:45 1:30 12:30 190:20:30 190:20:30.15 -1:30 0:0 22:22 1:2:3:4 << = a a.b
a:b a-b a_b 1a a1 1-1 1+1 1/2 10% 100m 1Gi 1Ki 0.5Gi 1s 5m v1 v1.2 1.2-rc1 1.2+3 1.2.3-4
10.0.0.1 10.0.0.0/8 fe80::1 /a \a a\b $a ${a} a$b a=b =a =1 (a) a(b) a;b ^a a^ a&b a*b a!b a|b
a>b a<b <a a'b a"b a`b a@b a%b a~b a? a! a, a,b ?a :a -a --a -1a +a .a ..a ~/a a/b 0a 0-1 0/1
0.a 0,1 0:1 0xzz 00:01 e1 e E nan1 null1 nullx truex yesx true1 y1 n1 onx A B C D b c d -0x -0b
-0o +0x _ __ _1_ -_ +_
)yaml";

// Refused: JSON has no such number.
constexpr std::string_view kRefused = R"yaml(
.inf .Inf .INF +.inf +.Inf +.INF -.inf -.Inf -.INF .nan .NaN .NAN
)yaml";

std::vector<std::string> words(std::string_view table) {
  std::istringstream in{std::string(table)};
  std::vector<std::string> all;
  for (std::string word; in >> word;) all.push_back(word);
  return all;
}

void expect_all(std::string_view table, const Json& expected) {
  for (const std::string& word : words(table)) {
    const auto value = resolve_yaml_scalar(word);
    ASSERT_TRUE(value) << word << ": " << value.error().text();
    EXPECT_EQ(*value, expected) << word;
  }
}

TEST(YamlScalar, words_that_are_booleans_or_null) {
  expect_all(kTrue, true);
  expect_all(kFalse, false);
  expect_all(kNull, nullptr);
  EXPECT_EQ(*resolve_yaml_scalar(""), Json(nullptr));
}

// Go prints a float without fraction like an integer, so another test distinguishes the types.
void expect_number(const std::string& word, const Json& value, const std::string& expected) {
  if (value.is_double()) {
    double number = 0;
    std::from_chars(expected.data(), expected.data() + expected.size(), number);
    EXPECT_EQ(value.get_double(), number) << word;
    EXPECT_EQ(std::signbit(value.get_double()), expected.starts_with('-')) << word;
  } else {
    EXPECT_EQ(print_json(value), expected) << word;
  }
}

TEST(YamlScalar, numbers) {
  ASSERT_GT(words(kNumbers).size(), 100u);
  for (const std::string& word : words(kNumbers)) {
    const size_t equals = word.rfind('=');
    const auto value = resolve_yaml_scalar(word.substr(0, equals));
    ASSERT_TRUE(value) << word;
    ASSERT_TRUE(value->is_number()) << word;
    expect_number(word, *value, word.substr(equals + 1));
  }
}

TEST(YamlScalar, strings_stay_strings) {
  ASSERT_GT(words(kStrings).size(), 150u);
  for (const std::string& word : words(kStrings)) {
    const auto value = resolve_yaml_scalar(word);
    ASSERT_TRUE(value) << word;
    EXPECT_EQ(*value, Json(word)) << word;
  }
}

TEST(YamlScalar, numbers_that_json_lacks_are_refused) {
  for (const std::string& word : words(kRefused)) {
    const auto value = resolve_yaml_scalar(word);
    ASSERT_FALSE(value) << word;
    EXPECT_EQ(value.error().kind, ErrorKind::invalid);
    EXPECT_NE(value.error().message.find("no counterpart in JSON"), std::string::npos);
  }
}

TEST(YamlScalar, integers_and_floats_are_told_apart) {
  EXPECT_TRUE(resolve_yaml_scalar("017")->is_int64());
  EXPECT_TRUE(resolve_yaml_scalar("9223372036854775807")->is_int64());
  EXPECT_TRUE(resolve_yaml_scalar("9223372036854775808")->is_uint64());
  EXPECT_TRUE(resolve_yaml_scalar("18446744073709551616")->is_double());
  EXPECT_TRUE(resolve_yaml_scalar("1e3")->is_double());
  EXPECT_TRUE(resolve_yaml_scalar("08")->is_double());  // no octal number, so Go tries a float
}

TEST(YamlScalar, overflow_and_underflow_without_an_exponent_to_tell_by) {
  const std::string zeros(400, '0');
  EXPECT_EQ(*resolve_yaml_scalar("0." + zeros + "1"), Json(0.0));
  EXPECT_EQ(*resolve_yaml_scalar("1" + zeros), Json("1" + zeros));
  EXPECT_EQ(*resolve_yaml_scalar("1" + zeros + "e-50"), Json("1" + zeros + "e-50"));
  EXPECT_EQ(*resolve_yaml_scalar("1" + zeros + "e-400"), Json(1.0));
}

struct TagCase {
  const char* tag;
  const char* text;
  const char* expected;  // JSON; null pointer where Go refuses
};

TEST(YamlScalar, explicit_tags) {
  const TagCase cases[] = {
      {"int", "5", "5"},
      {"int", "0b11", "3"},
      {"int", "1.0", nullptr},
      {"int", "", nullptr},
      {"int", "x", nullptr},
      {"float", "1", "1.0"},
      {"float", "0x10", "16.0"},
      {"float", ".5", "0.5"},
      {"float", "18446744073709551615", nullptr},
      {"float", "x", nullptr},
      {"bool", "yes", "true"},
      {"bool", "1", nullptr},
      {"null", "", "null"},
      {"null", "foo", nullptr},
      {"str", "5", "\"5\""},
      {"str", "~", "\"~\""},
      {"str", "", "\"\""},
      {"timestamp", "2001-01-01", "\"2001-01-01\""},
      {"timestamp", "foo", nullptr},
      {"merge", "foo", "\"foo\""},
      {"unheard-of", "12", "\"12\""},
      {"binary", "aGVsbG8=", "\"hello\""},
      {"binary", "aGVs\nbG8=\n", "\"hello\""},
      {"binary", "aGVs bG8=", nullptr},
      {"binary", "gIGC", nullptr},  // Go makes three U+FFFD of it; we do not lose bytes
  };
  for (const TagCase& test : cases) {
    SCOPED_TRACE(std::string(test.tag) + " " + test.text);
    const auto scalar = resolve_tagged(std::string("tag:yaml.org,2002:") + test.tag, test.text);
    ASSERT_EQ(scalar.has_value(), test.expected != nullptr);
    if (!scalar) continue;
    EXPECT_EQ(*to_json(*scalar), *parse_json(test.expected));
  }
  EXPECT_EQ(*resolve_tagged("!", "12"), Scalar(std::string("12")));
  EXPECT_EQ(*resolve_tagged("!vault", "12"), Scalar(std::string("12")));
}

TEST(YamlScalar, keys_become_text_as_in_helm) {
  const std::pair<const char*, const char*> cases[] = {
      {"1", "1"},
      {"0x10", "16"},
      {"yes", "true"},
      {"y", "true"},
      {"No", "false"},
      {"1.5", "1.5"},
      {"1.0", "1"},
      {"1e3", "1000"},
      {"1e6", "1e+06"},
      {"123456.7", "123456.7"},
      {"0.0001", "0.0001"},
      {"0.00001", "1e-05"},
      {"-0.0", "-0"},
      {"123456789.5", "1.2345679e+08"},
      {"1.23456789", "1.2345679"},
      {"1e300", ".inf"},
      {"-1e300", "-.inf"},
      {".inf", ".inf"},
      {".nan", ".nan"},
      {"2001-01-01", "2001-01-01"},
      {"a", "a"},
  };
  for (const auto& [text, expected] : cases) {
    EXPECT_EQ(to_key(resolve_plain(text)).value_or("(refused)"), expected) << text;
  }
  EXPECT_FALSE(to_key(resolve_plain("~")));
  EXPECT_FALSE(to_key(resolve_plain("")));
  EXPECT_FALSE(to_key(resolve_plain("18446744073709551615")));
}

TEST(YamlScalar, whatever_is_no_string_somewhere_is_known) {
  for (const std::string_view table : {kTrue, kFalse, kNull, kRefused}) {
    for (const std::string& word : words(table)) EXPECT_FALSE(is_string_everywhere(word)) << word;
  }
  for (const std::string& word : words(kNumbers)) {
    EXPECT_FALSE(is_string_everywhere(word.substr(0, word.rfind('=')))) << word;
  }
  // Strings to Helm, but not to Ruby, Python or a reader of YAML 1.2.
  for (const char* word :
       {"12:30:45", "1:30",   "-1:30.5", "2001-01-01", "2001-1-1", "2001-01-01T00:00:00Z",
        "1,000",    "1_000_", "0o18",    "0b2",        "0xzz",     "<<",
        "=",        "oN",     "nULL",    "tRUE",       "inf",      "+.nan",
        "1e",       "1e+",    "",        "1e400",      "."}) {
    EXPECT_FALSE(is_string_everywhere(word)) << word;
  }
  for (const char* word :
       {"a", "570.124.06", "10.0.0.1", "v1.2", "1.2-rc1", "100m", "1Gi", "nvcr.io/a:1.2", "1-1-1",
        "e3", "2001-01", "~/a", "yesx", "10.0.0.0/8", "-v", "a=b"}) {
    EXPECT_TRUE(is_string_everywhere(word)) << word;
  }
}

TEST(YamlScalar, floats_are_printed_as_floats) {
  const std::pair<double, const char*> cases[] = {
      {1.0, "1.0"},          {-0.0, "-0.0"},
      {0.1, "0.1"},          {1e20, "1.0e+20"},
      {1.5e300, "1.5e+300"}, {5e-324, "5.0e-324"},
      {1e5, "100000.0"},     {0.30000000000000004, "0.30000000000000004"},
  };
  for (const auto& [value, expected] : cases) {
    EXPECT_EQ(print_float(value), expected);
    EXPECT_EQ(resolve_plain(print_float(value)), Scalar(value));
  }
  EXPECT_EQ(print_float(std::numeric_limits<double>::infinity()), ".inf");
  EXPECT_EQ(print_float(-std::numeric_limits<double>::infinity()), "-.inf");
  EXPECT_EQ(print_float(std::numeric_limits<double>::quiet_NaN()), ".nan");
}

}  // namespace
}  // namespace lockstep::yaml::yaml_scalar_test
