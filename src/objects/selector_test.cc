#include "objects/selector.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace lockstep::selector_test {
namespace {

using Operator = LabelSelector::Operator;
using Requirement = LabelSelector::Requirement;

TEST(LabelSelector, ReadsTheGrammar) {
  struct Case {
    std::string_view text;
    std::vector<Requirement> requirements;
    std::string_view printed;
  };
  for (const Case& each : std::vector<Case>{
           {"", {}, ""},
           {"   ", {}, ""},
           {"a=b", {{"a", Operator::equals, {"b"}}}, "a=b"},
           {"a==b", {{"a", Operator::equals, {"b"}}}, "a=b"},
           {" a = b ", {{"a", Operator::equals, {"b"}}}, "a=b"},
           {"a=", {{"a", Operator::equals, {""}}}, "a="},
           {"a!=b", {{"a", Operator::not_equals, {"b"}}}, "a!=b"},
           {"a!=", {{"a", Operator::not_equals, {""}}}, "a!="},
           {"a", {{"a", Operator::exists, {}}}, "a"},
           {"!a", {{"a", Operator::not_exists, {}}}, "!a"},
           {"! a", {{"a", Operator::not_exists, {}}}, "!a"},
           {"a in (c,b)", {{"a", Operator::in, {"b", "c"}}}, "a in (b,c)"},
           {"a in(c, b ,b)", {{"a", Operator::in, {"b", "c"}}}, "a in (b,c)"},
           {"a notin (b)", {{"a", Operator::not_in, {"b"}}}, "a notin (b)"},
           {"a in ()", {{"a", Operator::in, {""}}}, "a in ()"},
           {"a in (,)", {{"a", Operator::in, {""}}}, "a in ()"},
           {"a in (b,,c)", {{"a", Operator::in, {"", "b", "c"}}}, "a in (,b,c)"},
           {"a in (b,)", {{"a", Operator::in, {"", "b"}}}, "a in (,b)"},
           {"a in (in,notin)", {{"a", Operator::in, {"in", "notin"}}}, "a in (in,notin)"},
           {"in in (a)", {{"in", Operator::in, {"a"}}}, "in in (a)"},
           {"notin=in", {{"notin", Operator::equals, {"in"}}}, "notin=in"},
           {"a>1", {{"a", Operator::greater, {"1"}}}, "a>1"},
           {"a<-1",
            {},
            "unable to parse requirement: values[0][a]: Invalid value: \"-1\": a valid label"},
           {"b=2,a=1", {{"a", Operator::equals, {"1"}}, {"b", Operator::equals, {"2"}}}, "a=1,b=2"},
           {"nvidia.com/gpu.present=true,!old",
            {{"nvidia.com/gpu.present", Operator::equals, {"true"}},
             {"old", Operator::not_exists, {}}},
            "nvidia.com/gpu.present=true,!old"},
       }) {
    auto selector = LabelSelector::parse(each.text);
    if (!selector) {
      EXPECT_EQ(selector.error().text().substr(0, each.printed.size()), each.printed) << each.text;
      continue;
    }
    EXPECT_EQ(selector->requirements(), each.requirements) << each.text;
    EXPECT_EQ(selector->text(), each.printed) << each.text;
    EXPECT_EQ(selector->empty(), each.requirements.empty());
  }
}

TEST(LabelSelector, SaysWhatIsWrongInKubernetesWords) {
  struct Case {
    std::string_view text, begins;
  };
  for (const Case& each : std::vector<Case>{
           {",", "found ',', expected: !, identifier, or 'end of string'"},
           {"=a", "found '=', expected: !, identifier, or 'end of string'"},
           {"a,", "found '', expected: identifier after ','"},
           {"a,,b", "found ',', expected: identifier after ','"},
           {"a=b c", "found 'c', expected: ',' or 'end of string'"},
           {"a=b=c", "found '=', expected: ',' or 'end of string'"},
           {"!a=b", "found '=', expected: ',' or 'end of string'"},
           {"!", "unable to parse requirement: found '', expected: identifier"},
           {"!!a", "unable to parse requirement: found '!', expected: identifier"},
           {"a b",
            "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"},
           {"a (",
            "unable to parse requirement: found '(', expected: in, notin, =, ==, !=, gt, lt"},
           {"a===b", "unable to parse requirement: found '=', expected: identifier"},
           {"a in b", "unable to parse requirement: found 'b' expected: '('"},
           {"a in", "unable to parse requirement: found '' expected: '('"},
           {"a in (", "unable to parse requirement: found '', expected: ',', ')' or identifier"},
           {"a in (b", "unable to parse requirement: found '', expected: ',' or ')'"},
           {"a in (b c)", "unable to parse requirement: found 'c', expected: ',' or ')'"},
           {"a in (b,(", "unable to parse requirement: found '(', expected: ',', or identifier"},
           {"-a",
            "unable to parse requirement: <nil>: Invalid value: \"-a\": name part must consist"},
           {"a/b/c=d", "unable to parse requirement: <nil>: Invalid value: \"a/b/c\": a qualified"},
           {"a=b$",
            "unable to parse requirement: values[0][a]: Invalid value: \"b$\": a valid label"},
           {"a in (b,$)",
            "unable to parse requirement: values[0][a]: Invalid value: \"$\": a valid"},
           {"a>b",
            "unable to parse requirement: values[0]: Invalid value: \"b\": for 'Gt', 'Lt' "
            "operators, "
            "the value must be an integer"},
       }) {
    auto selector = LabelSelector::parse(each.text);
    ASSERT_FALSE(selector.has_value()) << each.text;
    EXPECT_EQ(selector.error().kind, ErrorKind::invalid);
    EXPECT_EQ(selector.error().text().substr(0, each.begins.size()), each.begins) << each.text;
  }
}

TEST(LabelSelector, Matches) {
  const StringMap labels{{"app", "web"}, {"tier", ""}, {"count", "8"}};
  struct Case {
    std::string_view text;
    bool matches;
  };
  for (const Case& each : std::vector<Case>{
           {"", true},
           {"app=web", true},
           {"app=db", false},
           {"app!=web", false},
           {"app!=db", true},
           {"missing!=x", true},
           {"missing=x", false},
           {"missing=", false},
           {"tier=", true},
           {"tier", true},
           {"!tier", false},
           {"!missing", true},
           {"app in (db,web)", true},
           {"app in (db)", false},
           {"missing in (a)", false},
           {"app notin (db)", true},
           {"app notin (web)", false},
           {"missing notin (a)", true},
           {"count>7", true},
           {"count>8", false},
           {"count<9", true},
           {"count<8", false},
           {"app>1", false},
           {"missing>1", false},
           {"app=web,tier", true},
           {"app=web,!tier", false},
           {"app=web,app=db", false},
       }) {
    auto selector = LabelSelector::parse(each.text);
    ASSERT_TRUE(selector.has_value()) << each.text;
    EXPECT_EQ(selector->matches(labels), each.matches) << each.text;
    auto object = parse_json(R"({"metadata":{"labels":{"app":"web","tier":"","count":"8"}}})");
    EXPECT_EQ(selector->matches_object(*object), each.matches) << each.text;
  }
  EXPECT_TRUE(LabelSelector::parse("!a")->matches_object(*parse_json("{}")));
  EXPECT_FALSE(LabelSelector::parse("a")->matches_object(*parse_json(R"({"metadata":null})")));
}

TEST(LabelSelector, NothingMatchesNothing) {
  LabelSelector nothing = LabelSelector::nothing();
  EXPECT_FALSE(nothing.matches(StringMap{}));
  EXPECT_FALSE(nothing.empty());
  EXPECT_TRUE(nothing.matches_nothing());
  // Even after a journey through its text, which must not read as "everything".
  auto again = LabelSelector::parse(nothing.text());
  ASSERT_TRUE(again.has_value());
  EXPECT_FALSE(again->matches(StringMap{}));
  EXPECT_FALSE(again->matches(StringMap{{"lockstep.dev/nothing", "x"}}));
}

TEST(LabelSelector, ReadsObjects) {
  EXPECT_TRUE(LabelSelector::from_json(nullptr)->matches_nothing());
  Json null;
  EXPECT_TRUE(LabelSelector::from_json(&null)->matches_nothing());
  struct Case {
    std::string_view json, text;
  };
  for (const Case& each : std::vector<Case>{
           {"{}", ""},
           {R"({"matchLabels":null,"matchExpressions":null})", ""},
           {R"({"matchLabels":{"b":"2","a":"1"}})", "a=1,b=2"},
           {R"({"matchLabels":{"b":"2"},"matchExpressions":[
               {"key":"a","operator":"In","values":["y","x"]},
               {"key":"c","operator":"NotIn","values":["z"]},
               {"key":"d","operator":"Exists"},
               {"key":"e","operator":"DoesNotExist","values":[]}]})",
            "a in (x,y),b=2,c notin (z),d,!e"},
       }) {
    Json json = *parse_json(each.json);
    auto selector = LabelSelector::from_json(&json);
    ASSERT_TRUE(selector.has_value()) << each.json;
    EXPECT_EQ(selector->text(), each.text);
  }
}

TEST(LabelSelector, RefusesBadObjects) {
  struct Case {
    std::string_view json, begins;
  };
  for (const Case& each : std::vector<Case>{
           {"[]", "a label selector must be an object"},
           {R"({"matchLabels":[]})", "matchLabels: must be a map"},
           {R"({"matchLabels":{"a":1}})", "matchLabels: must be a map"},
           {R"({"matchLabels":{"-":"1"}})", "matchLabels: Invalid value: \"-\": name part"},
           {R"({"matchLabels":{"a":"$"}})", "matchLabels: Invalid value: \"$\": a valid label"},
           {R"({"matchExpressions":{}})", "matchExpressions: must be a list"},
           {R"({"matchExpressions":[7]})", "matchExpressions[0]: must be an object"},
           {R"({"matchExpressions":[{"key":"a","operator":"Exists"},{"key":"a","operator":"in"}]})",
            "matchExpressions[1].operator: Invalid value: \"in\": not a valid selector operator"},
           {R"({"matchExpressions":[{"key":"a","operator":"In"}]})",
            "matchExpressions[0].values: Required value: must be specified when `operator` is 'In' "
            "or 'NotIn'"},
           {R"({"matchExpressions":[{"key":"a","operator":"Exists","values":["b"]}]})",
            "matchExpressions[0].values: Forbidden: may not be specified when `operator` is "
            "'Exists' or 'DoesNotExist'"},
           {R"({"matchExpressions":[{"key":"","operator":"Exists"}]})",
            "matchExpressions[0].key: Invalid value: \"\": name part must be non-empty"},
           {R"({"matchExpressions":[{"key":"a","operator":"In","values":["$"]}]})",
            "matchExpressions[0].values[0]: Invalid value: \"$\""},
           {R"({"matchExpressions":[{"key":"a","operator":"In","values":[1]}]})",
            "matchExpressions[0].values: must be a list of strings"},
           {R"({"matchExpressions":[{"key":"a","operator":"In","values":"b"}]})",
            "matchExpressions[0].values: must be a list of strings"},
       }) {
    Json json = *parse_json(each.json);
    auto selector = LabelSelector::from_json(&json);
    ASSERT_FALSE(selector.has_value()) << each.json;
    EXPECT_EQ(selector.error().text().substr(0, each.begins.size()), each.begins);
  }
}

rc::Gen<std::string> requirement_text() {
  auto key = rc::gen::element<std::string>("a", "b.c/d", "in", "notin", "E_f");
  auto rest = rc::gen::element<std::string>("", "=", "=x", "==in", "!= y", "!=", " in (x,y)",
                                            " in ()", " in (y,,x)", " notin (notin)", ">7", "<0");
  return rc::gen::apply(
      [](bool negated, const std::string& name, const std::string& restriction) {
        return negated ? "! " + name : name + restriction;
      },
      rc::gen::arbitrary<bool>(), key, rest);
}

RC_GTEST_PROP(LabelSelector, ItsTextReadsAsItself, ()) {
  std::string text;
  for (const std::string& part :
       *rc::gen::container<std::vector<std::string>>(requirement_text())) {
    text += (text.empty() ? "" : ",") + part;
  }
  auto selector = LabelSelector::parse(text);
  RC_ASSERT(selector.has_value());
  auto again = LabelSelector::parse(selector->text());
  RC_ASSERT(again.has_value());
  RC_ASSERT(*again == *selector);
}

}  // namespace
}  // namespace lockstep::selector_test
