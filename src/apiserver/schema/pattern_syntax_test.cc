#include "apiserver/schema/pattern_syntax.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "apiserver/schema/pattern.h"

namespace lockstep::apiserver::pattern_syntax_test {
namespace {

TEST(PatternSyntax, RefusesInGosWords) {
  struct Case {
    std::string pattern;
    const char* says;
  };
  const std::vector<Case> cases = {
      {"a{1001}", "invalid repeat count: `{1001}`"},
      {"a{2,1001}", "invalid repeat count: `{2,1001}`"},
      {"a{3,2}", "invalid repeat count: `{3,2}`"},
      {"a{99999999999999999999}", "invalid repeat count: `{99999999999999999999}`"},
      {"(a{100}){100}", "invalid repeat count: `{100}`"},
      {"((a{10}){10}){11}", "invalid repeat count: `{11}`"},
      {"(?=a)b", "invalid or unsupported Perl syntax: `(?=`"},
      {"(?!a)b", "invalid or unsupported Perl syntax: `(?!`"},
      {"(?<=a)b", "invalid or unsupported Perl syntax: `(?<`"},
      {"(?>a+)b", "invalid or unsupported Perl syntax: `(?>`"},
      {"(a)\\1", "invalid escape sequence: `\\1`"},
      {"(a+)+\\k<x>", "invalid escape sequence: `\\k`"},
      {"a++", "invalid nested repetition operator: `++`"},
      {"a**", "invalid nested repetition operator: `**`"},
      {std::string(1001, '(') + std::string(1001, ')'), "expression nests too deeply"},
      {"(" + std::string(500, 'a') + "){500}", "expression too large"},
  };
  for (const Case& each : cases) {
    const auto checked = check_go_syntax(each.pattern);
    ASSERT_FALSE(checked) << each.pattern.substr(0, 40);
    EXPECT_TRUE(checked.error().message.starts_with("error parsing regexp: "));
    EXPECT_NE(checked.error().message.find(each.says), std::string::npos)
        << checked.error().message.substr(0, 200);
    EXPECT_FALSE(Pattern::compile(each.pattern)) << each.pattern.substr(0, 40);
  }
}

TEST(PatternSyntax, TakesWhatDefinitionsOfOthersHave) {
  for (const char* pattern : {"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$",
                              "^([0-9]+(\\.[0-9]+)?(s|m|h))+$",
                              "^(a+)+$",
                              "^.{1,253}$",
                              "(?i)^abc$",
                              "^(?P<name>x|y)$",
                              "^(?:a|b){0,63}$",
                              "^\\d{3}$",
                              "a{,5}",
                              "x{",
                              "{a}",
                              "^\\Qa+b\\E$",
                              "^[[:alpha:]\\]+*{}(]+$",
                              "^\\p{Greek}+$",
                              "a+?b*?c??",
                              "^$",
                              "|",
                              "\\x{10FFFF}?",
                              "\\pL*",
                              "\\x{1001}\\p{Greek}{3}",
                              "^([a-z]{0,30}){0,30}$",
                              "\\(\\?=",
                              "[(?=]"}) {
    const auto checked = check_go_syntax(pattern);
    EXPECT_TRUE(checked) << pattern << ": " << checked.error().message;
  }
}

RC_GTEST_PROP(PatternSyntax, AnyPatternLikeTextIsReadOrRefused, ()) {
  const auto pieces = *rc::gen::container<std::vector<std::string>>(rc::gen::element<std::string>(
      "(", ")", "(?", "(?:", "(?P<", ">", "[", "]", "[:", ":]", "{", "}", "{2}", "{,", "1", ",",
      "*", "+", "?", "\\", "\\Q", "\\E", "^", "$", "|", "a", "-"));
  std::string text;
  for (const std::string& piece : pieces) text += piece;
  if (const auto checked = check_go_syntax(text); !checked) {
    RC_ASSERT(!checked.error().message.empty());
  }
}

}  // namespace
}  // namespace lockstep::apiserver::pattern_syntax_test
