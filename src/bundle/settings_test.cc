#include "bundle/settings.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "bundle/bundle_test_util.h"

namespace lockstep::bundle::settings_test {
namespace {

std::string value_of(std::string_view value, SettingKind kind = SettingKind::typed) {
  auto setting = parse_setting("c:k=" + std::string(value), kind);
  return setting ? print_json(setting->value) : setting.error().text();
}

std::string error_of(std::string_view text, SettingKind kind = SettingKind::typed) {
  auto setting = parse_setting(text, kind);
  return setting ? "" : setting.error().text();
}

// The values after, by component, or the error.
std::string after_settings(const std::vector<std::string>& texts, ValuesMap values) {
  static const Catalogue catalogue = catalogue_of(small_files());
  std::vector<Setting> settings;
  for (const std::string& text : texts) {
    settings.push_back(*parse_setting(text, SettingKind::typed));
  }
  auto applied = apply_settings(catalogue.registry, settings, values);
  if (!applied) return applied.error().text();
  std::string all;
  for (const auto& [name, value] : values) all += name + " " + print_json(value) + "\n";
  return all;
}

TEST(Settings, ASettingIsComponentPathAndValue) {
  auto setting = parse_setting(R"(gpu-operator:podAnnotations.a\.b/c=x)", SettingKind::typed);
  ASSERT_TRUE(setting.has_value());
  EXPECT_EQ(setting->component, "gpu-operator");
  EXPECT_EQ(setting->path, (ValuePath{"podAnnotations", "a.b/c"}));
  EXPECT_EQ(setting->value, Json("x"));
  EXPECT_EQ(setting->written, R"(--set gpu-operator:podAnnotations.a\.b/c=x)");
}

TEST(Settings, AValueHasItsType) {
  EXPECT_EQ(value_of("true"), "true");
  EXPECT_EQ(value_of("False"), "false");
  EXPECT_EQ(value_of("null"), "null");
  EXPECT_EQ(value_of("0"), "0");
  EXPECT_EQ(value_of("-12"), "-12");
  EXPECT_EQ(value_of("9007199254740992"), "9007199254740992");
  EXPECT_EQ(value_of("9007199254740993"), R"("9007199254740993")");
  EXPECT_EQ(value_of("1.5"), "1.5");
  EXPECT_EQ(value_of("0.25"), "0.25");
  EXPECT_EQ(value_of("-0.5"), "-0.5");
  EXPECT_EQ(value_of("on"), R"("on")");
  EXPECT_EQ(value_of("v25.10.1"), R"("v25.10.1")");
  EXPECT_EQ(value_of(""), R"("")");
}

TEST(Settings, ANumberThatWouldPrintOtherwiseStaysText) {
  for (std::string_view text :
       {"0123", "-0", "+1", "1e3", "1E3", "580.10", "1.0", "1.", ".5", "0x10", "1_000", " 1", "nan",
        "inf", "9223372036854775808", "123456789012345678901", "0.1000000000000000055511151"}) {
    EXPECT_EQ(value_of(text), print_json(Json(JsonString(text)))) << text;
  }
}

TEST(Settings, ACommaIsAComma) {
  EXPECT_EQ(value_of("a,b=c,{d}"), R"("a,b=c,{d}")");
  EXPECT_EQ(value_of("1,2"), R"("1,2")");
}

TEST(Settings, AValueIsTakenAsItIs) {
  EXPECT_EQ(value_of(R"(C:\temp\n)"), R"("C:\\temp\\n")");
  EXPECT_EQ(value_of("nvcr.io/nvidia:1.2=3"), R"("nvcr.io/nvidia:1.2=3")");
}

TEST(Settings, SetStringMakesTextOfEverything) {
  EXPECT_EQ(value_of("580.10", SettingKind::text), R"("580.10")");
  EXPECT_EQ(value_of("true", SettingKind::text), R"("true")");
  EXPECT_EQ(value_of("null", SettingKind::text), R"("null")");
  EXPECT_EQ(parse_setting("c:k=1", SettingKind::text)->written, "--set-string c:k=1");
}

TEST(Settings, SetJsonTakesJson) {
  EXPECT_EQ(value_of(R"([{"a": 1}, null])", SettingKind::json), R"([{"a":1},null])");
  EXPECT_EQ(value_of("1.50", SettingKind::json), "1.5");
  std::string error = error_of("c:k=text", SettingKind::json);
  EXPECT_NE(error.find("--set-json c:k=text: the value is no JSON"), std::string::npos) << error;
  EXPECT_NE(error_of("c:k=", SettingKind::json).find("no JSON"), std::string::npos);
}

TEST(Settings, ASettingWithoutAColonIsRefused) {
  EXPECT_EQ(error_of("driver.version=580"),
            "--set driver.version=580: no component: a colon must separate it from the path; "
            "like --set gpu-operator:driver.enabled=false");
  EXPECT_NE(error_of("image=nvcr.io/x:1").find("no component"), std::string::npos);
  EXPECT_NE(error_of("").find("no component"), std::string::npos);
}

TEST(Settings, EveryPartMustBeThere) {
  EXPECT_NE(error_of(":a=1").find("no component before the colon"), std::string::npos);
  EXPECT_NE(error_of("c:a").find("no value"), std::string::npos);
  EXPECT_NE(error_of(R"(c:a\=1)").find("no value"), std::string::npos);
  EXPECT_NE(error_of("c:=1").find("no path"), std::string::npos);
  EXPECT_NE(error_of("c:a..b=1").find("empty key"), std::string::npos);
  EXPECT_NE(error_of("c:a[0]=1").find("--set-json"), std::string::npos);
  EXPECT_NE(error_of("c:a=\xff").find("UTF-8"), std::string::npos);
}

TEST(Settings, MapsAreMadeOnTheWay) {
  EXPECT_EQ(after_settings({"operator:a.b=1", "driver:x=y"}, {{"operator", {}}, {"driver", {}}}),
            "driver {\"x\":\"y\"}\noperator {\"a\":{\"b\":1}}\n");
}

TEST(Settings, NameAndAliasAreOneSetInTheOrderGiven) {
  EXPECT_EQ(after_settings({"operator:a=1", "op:a=2", "operator:b=1"}, {{"operator", {}}}),
            "operator {\"a\":2,\"b\":1}\n");
  EXPECT_EQ(after_settings({"op:a=2", "operator:a=1"}, {{"operator", {}}}), "operator {\"a\":1}\n");
}

TEST(Settings, AnUnknownComponentIsRefused) {
  EXPECT_EQ(after_settings({"operatr:a=1"}, {{"operator", {}}}),
            "--set operatr:a=1: unknown component \"operatr\"; did you mean \"operator\"?");
}

TEST(Settings, AComponentThatIsNotDeployedIsRefused) {
  EXPECT_EQ(after_settings({"monitor:a=1"}, {{"operator", {}}, {"driver", {}}}),
            "--set monitor:a=1: monitor is disabled or not in the recipe; there are driver, "
            "operator");
}

TEST(Settings, ASwitchIsNoValueOfTheChart) {
  EXPECT_EQ(after_settings({"monitor:enabled=false", "operator:enabled=true"}, {{"operator", {}}}),
            "operator {}\n");
  EXPECT_EQ(after_settings({"operator:a.enabled=true"}, {{"operator", {}}}),
            "operator {\"a\":{\"enabled\":true}}\n");
}

TEST(Settings, IntoAListAndThroughAScalarAreRefused) {
  ValuesMap values{
      {"operator", parse_json(R"({"list":[1],"driver":{"version":"1"}})")->get_object()}};
  EXPECT_EQ(after_settings({"op:list.0=1"}, values),
            "--set op:list.0=1: list.0 leads into a list: list is [1]; set the whole list with "
            "--set-json");
  EXPECT_EQ(after_settings({"op:driver.version.x=1"}, values),
            "--set op:driver.version.x=1: driver.version.x leads through a value that is not a "
            "map: driver.version is \"1\"");
}

RC_GTEST_PROP(Settings, TheLastWins, ()) {
  auto values = *rc::gen::nonEmpty(rc::gen::container<std::vector<std::string>>(
      rc::gen::element<std::string>("1", "x", "true")));
  std::vector<std::string> texts;
  for (const std::string& value : values) {
    texts.push_back(*rc::gen::element<std::string>("operator", "op") + ":a.b=" + value);
  }
  ValuesMap start{{"operator", {}}};
  RC_ASSERT(after_settings(texts, start) == after_settings({texts.back()}, start));
}

TEST(Settings, AnAssignmentIsASettingWithoutAComponent) {
  auto typed = parse_assignment("controller.replicas=3", SettingKind::typed);
  ASSERT_TRUE(typed) << typed.error().text();
  EXPECT_EQ(typed->path, (ValuePath{"controller", "replicas"}));
  EXPECT_EQ(typed->value, Json(3));
  EXPECT_EQ(parse_assignment("a:b=3", SettingKind::text)->path, ValuePath{"a:b"});
  EXPECT_EQ(parse_assignment("a=[1]", SettingKind::json)->value, Json(JsonArray{1}));
  EXPECT_FALSE(parse_assignment("a", SettingKind::typed));
  EXPECT_FALSE(parse_assignment("=3", SettingKind::typed));
  EXPECT_FALSE(parse_assignment("a=[", SettingKind::json));
}

RC_GTEST_PROP(Settings, AnyPathCanBeAddressed, ()) {
  auto key = rc::gen::nonEmpty(rc::gen::container<std::string>(
      rc::gen::element('a', 'b', '.', '\\', '[', ']', '=', ':', ',', '/', ' ')));
  auto path = *rc::gen::nonEmpty(rc::gen::container<ValuePath>(key));
  auto setting = parse_setting("c:" + print_value_path(path) + "=v=w", SettingKind::typed);
  RC_ASSERT(setting.has_value());
  RC_ASSERT(setting->path == path);
  RC_ASSERT(setting->value == Json("v=w"));
}

RC_GTEST_PROP(Settings, ATypedValuePrintsAsItWasWritten, ()) {
  auto text =
      *rc::gen::container<std::string>(rc::gen::element('0', '1', '9', '.', '-', 'e', '+', 'x'));
  auto setting = parse_setting("c:k=" + text, SettingKind::typed);
  RC_ASSERT(setting.has_value());
  const Json& value = setting->value;
  RC_ASSERT((value.is_string() ? std::string(as_text(&value)) : print_json(value)) == text);
}

}  // namespace
}  // namespace lockstep::bundle::settings_test
