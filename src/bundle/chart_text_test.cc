#include "bundle/chart_text.h"

#include <string>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "data/yaml.h"

namespace lockstep::bundle::chart_text_test {
namespace {

// A Go template that knows one action: {{ "{{" }}.
std::string render(std::string_view text) {
  const std::string action = R"({{ "{{" }})";
  std::string result;
  while (!text.empty()) {
    if (text.starts_with(action)) {
      result += "{{";
      text.remove_prefix(action.size());
    } else if (text.starts_with("{{")) {
      return "an action that runs: " + std::string(text);
    } else {
      result += text.front();
      text.remove_prefix(1);
    }
  }
  return result;
}

TEST(ChartText, AnActionIsShownAndNotRun) {
  EXPECT_EQ(chart_text("a {{ .Values.b }} c"), R"(a {{ "{{" }} .Values.b }} c)");
  EXPECT_EQ(render(chart_text("{{- fail \"x\" -}}")), "{{- fail \"x\" -}}");
  EXPECT_EQ(chart_text("no { braces }} here"), "no { braces }} here");
}

RC_GTEST_PROP(ChartText, EveryTextIsRenderedAsItself, ()) {
  const auto text =
      *rc::gen::container<std::string>(rc::gen::element('{', '}', '"', ' ', '-', 'a', '\n'));
  RC_ASSERT(render(chart_text(text)) == text);
}

TEST(ChartText, YamlWithoutBracesReadsTheSame) {
  JsonObject json;
  json["plain"] = "v1.2";
  json["braces"] = "\\{{ .Values }} \"q\" {{{ é";
  json["list"] = JsonArray({Json("{{"), Json(1)});
  const std::string text = print_yaml_without_braces(json);
  EXPECT_EQ(text.find("{{"), std::string::npos) << text;
  const auto read = parse_yaml(text);
  ASSERT_TRUE(read.has_value()) << read.error().text();
  EXPECT_EQ(find(*read, "braces")->as_string(), "\\{{ .Values }} \"q\" {{{ é");
  EXPECT_EQ(find(*read, "plain")->as_string(), "v1.2");
  EXPECT_EQ(find(*read, "list")->as_array().at(0).as_string(), "{{");
}

TEST(ChartText, MarksAreReplacedWithTheirQuotes) {
  JsonObject json;
  json["values"] = text_mark("values");
  json["other"] = "values";
  EXPECT_EQ(replace_marks(print_yaml(json), {{text_mark("values"), "{{ .Values.x }}"}}),
            "values: {{ .Values.x }}\nother: values\n");
}

}  // namespace
}  // namespace lockstep::bundle::chart_text_test
