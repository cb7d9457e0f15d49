#include "data/json.h"

#include <cmath>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "data/json_arbitrary.h"

namespace lockstep::json_test {
namespace {

Json parsed(std::string_view text) {
  Result<Json> value = parse_json(text);
  EXPECT_TRUE(value) << text << ": " << (value ? "" : value.error().text());
  return value.value_or(nullptr);
}

TEST(ParseJson, KindsOfNumbers) {
  EXPECT_TRUE(parsed("-9223372036854775808").is_int64());
  EXPECT_TRUE(parsed("9223372036854775807").is_int64());
  EXPECT_TRUE(parsed("18446744073709551615").is_uint64());
  EXPECT_TRUE(parsed("18446744073709551616").is_double());
  EXPECT_TRUE(parsed("1.0").is_double());
  EXPECT_TRUE(parsed("1e2").is_double());
}

TEST(ParseJson, DoublesAreTheNearest) {
  // Boost's own conversion is off in the last place for numbers like these.
  EXPECT_EQ(parsed("1.7976931348623157e308").get_double(), 1.7976931348623157e308);
  EXPECT_EQ(parsed("123456789012345678e-30").get_double(), 123456789012345678e-30);
  EXPECT_EQ(parsed("0.1").get_double(), 0.1);
  EXPECT_EQ(parsed("1e-400").get_double(), 0);
  EXPECT_TRUE(std::signbit(parsed("-1e-400").get_double()));
}

TEST(ParseJson, NumbersBeyondADouble) {
  for (const char* text : {"1e400", "-1e400", "1e999999999999", "0e9999999999"}) {
    EXPECT_FALSE(parse_json(text)) << text;
  }
  EXPECT_FALSE(parse_json(std::string(400, '9')));
  EXPECT_FALSE(parse_json(std::string(800, '9') + "e-10"));
  EXPECT_EQ(parsed("0." + std::string(400, '0') + "1").get_double(), 0);
  EXPECT_EQ(parsed("1" + std::string(400, '0') + "e-400").get_double(), 1);
}

TEST(ParseJson, TheLastOfDuplicateKeysStays) {
  EXPECT_EQ(print_json(parsed(R"({"a":1,"b":2,"a":3})")), R"({"a":3,"b":2})");
}

TEST(ParseJson, ErrorsHaveAPlace) {
  const Result<Json> value = parse_json("{\n  \"a\": 1,\n  \"b\": tru\n}");
  ASSERT_FALSE(value);
  EXPECT_EQ(value.error().kind, ErrorKind::invalid);
  EXPECT_EQ(value.error().place, "3:8");
  EXPECT_EQ(parse_json("").error().place, "1:1");
  EXPECT_EQ(parse_json("1 2").error().place, "1:3");
  EXPECT_EQ(parse_json("[1,]").error().place, "1:4");
}

TEST(ParseJson, KeepsItsLimits) {
  EXPECT_TRUE(parse_json("[[1]]", {.depth = 2}));
  EXPECT_EQ(parse_json("[[1]]", {.depth = 1}).error().kind, ErrorKind::too_large);
  EXPECT_EQ(parse_json("[1]", {.bytes = 2}).error().kind, ErrorKind::too_large);
  EXPECT_EQ(parse_json(std::string(1'000'000, '[')).error().kind, ErrorKind::too_large);
}

TEST(PrintJson, NumbersAsGoWritesThem) {
  EXPECT_EQ(print_json(0.5), "0.5");
  EXPECT_EQ(print_json(1.0), "1");
  EXPECT_EQ(print_json(1e20), "100000000000000000000");
  EXPECT_EQ(print_json(1e21), "1e+21");
  EXPECT_EQ(print_json(0.000001), "0.000001");
  EXPECT_EQ(print_json(1e-7), "1e-07");
  EXPECT_EQ(print_json(std::numeric_limits<double>::infinity()), "null");
  EXPECT_EQ(print_json(uint64_t{18446744073709551615u}), "18446744073709551615");
}

TEST(PrintJson, Strings) {
  EXPECT_EQ(print_json("a\"b\\c\n\x01\x1f/\u00e9"), "\"a\\\"b\\\\c\\n\\u0001\\u001f/\u00e9\"");
  EXPECT_EQ(print_json(Json(std::string(40, 'x') + "\t")), "\"" + std::string(40, 'x') + "\\t\"");
}

TEST(PrintJson, Pretty) {
  EXPECT_EQ(
      print_json_pretty(parsed(R"({"a":[1,{"b":null}],"c":{},"d":[]})")),
      "{\n  \"a\": [\n    1,\n    {\n      \"b\": null\n    }\n  ],\n  \"c\": {},\n  \"d\": []\n}");
}

RC_GTEST_PROP(PrintJson, ReadsBackEqual, ()) {
  const Json value = *arbitrary_json();
  RC_ASSERT(json_equal(*parse_json(print_json(value)), value));
  RC_ASSERT(json_equal(*parse_json(print_json_pretty(value)), value));
}

TEST(Json, FindsAlongAPath) {
  Json node = parsed(R"({"metadata":{"labels":{"app":"x"},"generation":3.0},"spec":null})");
  EXPECT_EQ(text_at(node, "metadata", "labels", "app"), "x");
  EXPECT_EQ(text_at(node, "metadata", "missing", "app"), "");
  EXPECT_EQ(find(node, "spec", "taints"), nullptr);
  EXPECT_EQ(as_integer(find(node, "metadata", "generation")), 3);
  EXPECT_EQ(as_integer(find(node, "metadata"), 7), 7);
  EXPECT_TRUE(as_bool(nullptr, true));
  ensure_object(node.get_object(), "spec")["unschedulable"] = true;
  EXPECT_TRUE(as_bool(find(node, "spec", "unschedulable")));
}

TEST(Json, EraseKeepsTheOrder) {
  Json value = parsed(R"({"a":1,"b":2,"c":3,"d":4})");
  EXPECT_TRUE(erase_key(value.get_object(), "b"));
  EXPECT_FALSE(erase_key(value.get_object(), "b"));
  EXPECT_EQ(print_json(value), R"({"a":1,"c":3,"d":4})");
}

TEST(Json, EqualByValue) {
  const auto equal = [](std::string_view a, std::string_view b) {
    return json_equal(parsed(a), parsed(b)) && json_equal(parsed(b), parsed(a));
  };
  EXPECT_TRUE(equal("1", "1.0"));
  EXPECT_TRUE(equal("9223372036854775808", "9223372036854775808.0"));
  EXPECT_TRUE(equal(R"({"a":1,"b":[2]})", R"({"b":[2.0],"a":1})"));
  EXPECT_FALSE(equal("9007199254740993", "9007199254740992.0"));
  EXPECT_FALSE(equal("-1", "18446744073709551615"));
  EXPECT_FALSE(equal("18446744073709551615", "18446744073709551616.0"));
  EXPECT_FALSE(equal("[1,2]", "[2,1]"));
  EXPECT_FALSE(equal("\"1\"", "1"));
  EXPECT_FALSE(equal("null", "false"));
  EXPECT_FALSE(equal("{}", "[]"));
}

TEST(DeepMerge, ANullSurvives) {
  Json base = parsed(R"({"a":{"x":1,"y":2},"b":[1],"c":3})");
  deep_merge(base, parsed(R"({"a":{"y":null,"z":{"n":null}},"b":[2],"d":4})"));
  EXPECT_EQ(print_json(base), R"({"a":{"x":1,"y":null,"z":{"n":null}},"b":[2],"c":3,"d":4})");
}

RC_GTEST_PROP(DeepMerge, TwiceIsOnce, ()) {
  Json base = *arbitrary_json();
  const Json overlay = *arbitrary_json();
  deep_merge(base, overlay);
  const Json once = base;
  deep_merge(base, overlay);
  RC_ASSERT(json_equal(base, once));
}

}  // namespace
}  // namespace lockstep::json_test
