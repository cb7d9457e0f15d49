#include "objects/field_selector.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace lockstep::field_selector_test {
namespace {

using Requirement = FieldSelector::Requirement;

TEST(FieldSelector, ReadsTerms) {
  struct Case {
    std::string_view text;
    std::vector<Requirement> requirements;
  };
  for (const Case& each : std::vector<Case>{
           {"", {}},
           {",", {}},
           {"metadata.name=a", {{"metadata.name", true, "a"}}},
           {"metadata.name==a", {{"metadata.name", true, "a"}}},
           {"metadata.name!=a", {{"metadata.name", false, "a"}}},
           {"metadata.name=", {{"metadata.name", true, ""}}},
           {"a=1,b!=2", {{"a", true, "1"}, {"b", false, "2"}}},
           {R"(a=x\,y\=z\\w)", {{"a", true, R"(x,y=z\w)"}}},
           {R"(a=x\\,b=y)", {{"a", true, R"(x\)"}, {"b", true, "y"}}},
       }) {
    auto selector = FieldSelector::parse(each.text);
    ASSERT_TRUE(selector.has_value()) << each.text;
    EXPECT_EQ(selector->requirements(), each.requirements) << each.text;
    EXPECT_EQ(selector->empty(), each.requirements.empty());
  }
}

TEST(FieldSelector, RefusesTheRestInKubernetesWords) {
  struct Case {
    std::string_view text, message;
  };
  for (const Case& each : std::vector<Case>{
           {"metadata.name", "invalid selector: 'metadata.name'; can't understand 'metadata.name'"},
           {"a=1,b", "invalid selector: 'a=1,b'; can't understand 'b'"},
           {"a=b=c", "invalid field selector: unescaped character in value: 61"},
           {"a===c", "invalid field selector: unescaped character in value: 61"},
           {R"(a=\x)", R"(invalid field selector: invalid escape sequence: \x)"},
           {R"(a=\)", R"(invalid field selector: invalid escape sequence: \)"},
       }) {
    auto selector = FieldSelector::parse(each.text);
    ASSERT_FALSE(selector.has_value()) << each.text;
    EXPECT_EQ(selector.error().text(), each.message);
  }
}

TEST(FieldSelector, Matches) {
  const Json pod = *parse_json(R"({"metadata":{"name":"a","namespace":"n"},
    "spec":{"nodeName":"gpu-7","hostNetwork":true},"status":{"phase":"Running","count":8}})");
  struct Case {
    std::string_view text;
    bool matches;
  };
  for (const Case& each : std::vector<Case>{
           {"", true},
           {"metadata.name=a", true},
           {"metadata.name=b", false},
           {"metadata.name!=b", true},
           {"spec.nodeName=gpu-7,status.phase=Running", true},
           {"spec.nodeName=gpu-7,status.phase!=Running", false},
           {"spec.hostNetwork=true", true},
           {"status.count=8", true},
           // A field that is not there has its zero value.
           {"spec.unschedulable=false", true},
           {"spec.unschedulable=true", false},
           {"spec.unschedulable!=true", true},
           {"status.successful=0", true},
           {"status.reason=", true},
           {"metadata=a", false},
           {"metadata.name.more=", true},
       }) {
    auto selector = FieldSelector::parse(each.text);
    ASSERT_TRUE(selector.has_value()) << each.text;
    EXPECT_EQ(selector->matches_object(pod), each.matches) << each.text;
  }
}

RC_GTEST_PROP(FieldSelector, ItsTextReadsAsItself, (bool equal)) {
  std::string value = *rc::gen::container<std::string>(rc::gen::elementOf(std::string("ab,=\\!")));
  std::string text = std::string("a.b") + (equal ? "=" : "!=");
  for (char c : value) text += std::string(c == ',' || c == '=' || c == '\\' ? "\\" : "") + c;
  auto selector = FieldSelector::parse(text);
  RC_ASSERT(selector.has_value());
  RC_ASSERT(selector->requirements() == (std::vector<Requirement>{{"a.b", equal, value}}));
  RC_ASSERT(selector->text() == text);
}

}  // namespace
}  // namespace lockstep::field_selector_test
