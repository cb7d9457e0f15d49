#include "deploy/template_syntax.h"

#include <gtest/gtest.h>

namespace lockstep::deploy::template_syntax_test {
namespace {

std::string problem(std::string_view text) {
  auto parsed = parse_template(text, "t.yaml");
  return parsed ? "none" : parsed.error().text();
}

TEST(TemplateSyntax, APathKeepsItsKeysAndItsBeginning) {
  auto parsed = parse_template("{{ .a.b }}{{ $.c }}{{ . }}{{ $ }}", "t.yaml");
  ASSERT_TRUE(parsed) << parsed.error().text();
  using Keys = std::vector<std::string>;
  EXPECT_EQ(parsed->nodes[0].expression.path, (Keys{"a", "b"}));
  EXPECT_FALSE(parsed->nodes[0].expression.from_root);
  EXPECT_EQ(parsed->nodes[1].expression.path, (Keys{"c"}));
  EXPECT_TRUE(parsed->nodes[1].expression.from_root);
  EXPECT_TRUE(parsed->nodes[2].expression.path.empty());
  EXPECT_TRUE(parsed->nodes[3].expression.from_root);
}

TEST(TemplateSyntax, APipeHandsItsValueOverAsTheLastArgument) {
  auto parsed = parse_template(R"({{ .a | default "x" | quote }})", "t.yaml");
  ASSERT_TRUE(parsed) << parsed.error().text();
  const Expression& quote = parsed->nodes[0].expression;
  EXPECT_EQ(quote.function, "quote");
  ASSERT_EQ(quote.arguments.size(), 1u);
  const Expression& fallback = quote.arguments[0];
  EXPECT_EQ(fallback.function, "default");
  ASSERT_EQ(fallback.arguments.size(), 2u);
  EXPECT_EQ(as_text(&fallback.arguments[0].literal), "x");
  EXPECT_EQ(fallback.arguments[1].path, std::vector<std::string>{"a"});
}

TEST(TemplateSyntax, AnElseIfLiesInsideTheElse) {
  auto parsed = parse_template("{{ if .a }}1{{ else if .b }}2{{ else }}3{{ end }}4", "t.yaml");
  ASSERT_TRUE(parsed) << parsed.error().text();
  ASSERT_EQ(parsed->nodes.size(), 2u);
  ASSERT_EQ(parsed->nodes[0].otherwise.size(), 1u);
  const TemplateNode& inner = parsed->nodes[0].otherwise[0];
  EXPECT_EQ(inner.kind, TemplateNode::Kind::condition);
  ASSERT_EQ(inner.otherwise.size(), 1u);
  EXPECT_EQ(inner.otherwise[0].text, "3");
}

TEST(TemplateSyntax, ADefinitionIsNoPartOfTheText) {
  auto parsed = parse_template(R"(a{{ define "x" }}b{{ end }}c)", "t.yaml");
  ASSERT_TRUE(parsed) << parsed.error().text();
  EXPECT_EQ(parsed->nodes.size(), 2u);
  ASSERT_TRUE(parsed->definitions.contains("x"));
  EXPECT_EQ(parsed->definitions["x"][0].text, "b");
}

TEST(TemplateSyntax, WhatIsNoTemplateIsRefusedWithItsLine) {
  EXPECT_EQ(problem("a\n{{ if .a }}\nb"), "t.yaml:2: it has no end");
  EXPECT_EQ(problem("a\n{{ end }}"), "t.yaml:2: no block is open to end");
  EXPECT_EQ(problem("{{ else }}"), "t.yaml:1: no block is open to end");
  EXPECT_EQ(problem("{{ define x }}{{ end }}"), "t.yaml:1: define needs a name in quotes");
  EXPECT_EQ(problem("{{ }}"), "t.yaml:1: a value is missing");
  EXPECT_EQ(problem("{{ f (.a }}"), "t.yaml:1: a \")\" is missing");
  EXPECT_EQ(problem("{{ .a .b }}"), "t.yaml:1: unexpected \".b\"");
  EXPECT_EQ(problem("{{ .a | .b }}"), "t.yaml:1: only a function can follow \"|\"");
  EXPECT_EQ(problem("{{ .a..b }}"), "t.yaml:1: \".a..b\" has an empty key");
}

// Helm knows these. Here they would need code that our chart has no use for.
TEST(TemplateSyntax, VariablesAreNotKnown) {
  EXPECT_NE(problem("{{ $x := .a }}"), "none");
  EXPECT_NE(problem("{{ range $k, $v := .a }}{{ end }}"), "none");
}

}  // namespace
}  // namespace lockstep::deploy::template_syntax_test
