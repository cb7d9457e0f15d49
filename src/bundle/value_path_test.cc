#include "bundle/value_path.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/strings.h"
#include "data/json_arbitrary.h"

namespace lockstep::bundle::value_path_test {
namespace {

std::string error_of(std::string_view text) {
  auto path = parse_value_path(text);
  return path ? "" : path.error().text();
}

JsonObject object_of(std::string_view text) { return parse_json(text)->get_object(); }

// The values after, or the error.
std::string after_setting(std::string_view values, const ValuePath& path, Json value) {
  JsonObject object = object_of(values);
  auto set = set_value(object, path, std::move(value));
  if (!set) {
    EXPECT_EQ(print_json(object), values) << "an error changes nothing";
    return set.error().text();
  }
  return print_json(object);
}

TEST(ValuePath, KeysAreSeparatedByDots) {
  EXPECT_EQ(*parse_value_path("driver"), ValuePath{"driver"});
  EXPECT_EQ(*parse_value_path("driver.upgradePolicy.auto"),
            (ValuePath{"driver", "upgradePolicy", "auto"}));
}

TEST(ValuePath, ABackslashTakesTheNextCharacterAsItIs) {
  EXPECT_EQ(*parse_value_path(R"(podAnnotations.aicr\.nvidia\.com/v)"),
            (ValuePath{"podAnnotations", "aicr.nvidia.com/v"}));
  EXPECT_EQ(*parse_value_path(R"(a\\.b)"), (ValuePath{"a\\", "b"}));
  EXPECT_EQ(*parse_value_path(R"(a\[0])"), ValuePath{"a[0]"});
  EXPECT_EQ(*parse_value_path(R"(a\=b\,c)"), ValuePath{"a=b,c"});
}

TEST(ValuePath, AnEmptyKeyIsRefused) {
  EXPECT_NE(error_of("").find("empty key"), std::string::npos);
  EXPECT_NE(error_of("a..b").find("empty key"), std::string::npos);
  EXPECT_NE(error_of(".a").find("empty key"), std::string::npos);
  EXPECT_NE(error_of("a.").find("empty key"), std::string::npos);
}

TEST(ValuePath, ABackslashAtTheEndIsRefused) {
  EXPECT_NE(error_of("a\\").find("ends in a backslash"), std::string::npos);
}

TEST(ValuePath, AnIndexIsRefused) {
  EXPECT_NE(error_of("tolerations[0].key").find("--set-json"), std::string::npos);
}

RC_GTEST_PROP(ValuePath, WhatIsPrintedReadsBack, ()) {
  auto key = rc::gen::nonEmpty(rc::gen::container<std::string>(
      rc::gen::element('a', 'b', '.', '\\', '[', ']', '=', ':', ',', '/', ' ')));
  auto path = *rc::gen::nonEmpty(rc::gen::container<ValuePath>(key));
  auto read = parse_value_path(print_value_path(path));
  RC_ASSERT(read.has_value());
  RC_ASSERT(*read == path);
}

TEST(ValuePath, MissingAndNullMapsAreMadeAndOtherKeysKept) {
  EXPECT_EQ(after_setting("{}", {"a", "b", "c"}, 1), R"({"a":{"b":{"c":1}}})");
  EXPECT_EQ(after_setting(R"({"a":null})", {"a", "b"}, 1), R"({"a":{"b":1}})");
  EXPECT_EQ(after_setting(R"({"a":{"x":1},"z":2})", {"a", "b"}, "t"),
            R"({"a":{"x":1,"b":"t"},"z":2})");
}

TEST(ValuePath, WhatStandsAtTheEndIsReplaced) {
  EXPECT_EQ(after_setting(R"({"a":{"b":{"c":1}}})", {"a", "b"}, "t"), R"({"a":{"b":"t"}})");
  EXPECT_EQ(after_setting(R"({"a":[1]})", {"a"}, nullptr), R"({"a":null})");
}

TEST(ValuePath, AScalarOnTheWayIsRefusedAndShown) {
  EXPECT_EQ(
      after_setting(R"({"driver":{"version":"580"}})", {"driver", "version", "major"}, 1),
      "driver.version.major leads through a value that is not a map: driver.version is \"580\"");
  EXPECT_EQ(after_setting(R"({"a":{},"b":false})", {"b", "x.y"}, 1),
            "b.x\\.y leads through a value that is not a map: b is false");
}

TEST(ValuePath, AListOnTheWayIsRefusedAndShown) {
  EXPECT_EQ(after_setting(R"({"a":{"list":[1,2]}})", {"a", "list", "0"}, 1),
            "a.list.0 leads into a list: a.list is [1,2]; set the whole list with --set-json");
}

TEST(ValuePath, ALongValueIsShownByItsBeginning) {
  std::string text = R"({"a":")" + std::string(58, 'x') + "äöü" + R"("})";
  std::string error = after_setting(text, {"a", "b"}, 1);
  EXPECT_TRUE(error.ends_with("xxx…")) << error << ": the cut is before the two bytes of ä";
  EXPECT_TRUE(is_valid_utf8(error)) << error;
}

TEST(ValuePath, AValueIsFoundByItsPath) {
  JsonObject values = object_of(R"({"a":{"b.c":null,"d":[1]}})");
  ASSERT_NE(find_value(values, {"a", "b.c"}), nullptr);
  EXPECT_TRUE(find_value(values, {"a", "b.c"})->is_null());
  EXPECT_EQ(find_value(values, {"a", "b"}), nullptr);
  EXPECT_EQ(find_value(values, {"a", "d", "0"}), nullptr);
  EXPECT_EQ(find_value(values, {}), nullptr);
}

TEST(ValuePath, PathsOverlapWhenOneLiesUnderTheOther) {
  EXPECT_TRUE(overlap({"a"}, {"a", "b"}));
  EXPECT_TRUE(overlap({"a", "b"}, {"a", "b"}));
  EXPECT_FALSE(overlap({"a", "b"}, {"a", "c"}));
  EXPECT_FALSE(overlap({"ab"}, {"a"}));
}

RC_GTEST_PROP(ValuePath, WhatIsSetIsFound, ()) {
  Json values = *arbitrary_json();
  RC_PRE(values.is_object());
  auto path = *rc::gen::nonEmpty(
      rc::gen::resize(4, rc::gen::container<ValuePath>(rc::gen::element<std::string>("a", "b"))));
  Json value = *arbitrary_scalar();
  Json before = values;
  auto set = set_value(values.get_object(), path, value);
  const Json* found = find_value(values.get_object(), path);
  if (!set) {
    RC_ASSERT(values == before);
  } else {
    RC_ASSERT(found != nullptr);
    RC_ASSERT(*found == value);
  }
}

}  // namespace
}  // namespace lockstep::bundle::value_path_test
