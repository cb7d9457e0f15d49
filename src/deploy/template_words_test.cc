#include "deploy/template_words.h"

#include <gtest/gtest.h>

namespace lockstep::deploy::template_words_test {
namespace {

std::string shown(std::string_view text) {
  auto pieces = split_template(text, "t.yaml");
  if (!pieces) return "error " + pieces.error().text();
  std::string out;
  for (const TemplatePiece& piece : *pieces) {
    out += (piece.is_action ? "<" : "[") + piece.text + (piece.is_action ? ">" : "]");
  }
  return out;
}

TEST(TemplateWords, TextAndActionsTakeTurns) {
  EXPECT_EQ(shown(""), "");
  EXPECT_EQ(shown("plain {one} }}"), "[plain {one} }}]");
  EXPECT_EQ(shown("a: {{ .Values.a }}\n"), "[a: ]<.Values.a>[\n]");
  EXPECT_EQ(shown("{{a}}{{b}}"), "<a><b>");
}

TEST(TemplateWords, ATrimMarkerTakesAllWhiteSpaceOnItsSide) {
  EXPECT_EQ(shown("a\n  {{- x }}\n b"), "[a]<x>[\n b]");
  EXPECT_EQ(shown("a\n  {{ x -}}\n\t b"), "[a\n  ]<x>[b]");
  EXPECT_EQ(shown(" \n{{- x -}} \n"), "<x>");
}

TEST(TemplateWords, AMinusBeforeADigitIsANumber) { EXPECT_EQ(shown("a {{-3}}"), "[a ]<-3>"); }

TEST(TemplateWords, ACommentIsGoneAndItsTrimmingIsDone) {
  EXPECT_EQ(shown("a {{- /* {{ \" }} it */ -}} b"), "[a][b]");
  EXPECT_EQ(shown("{{/* x */}}\nb"), "[\nb]");
}

TEST(TemplateWords, BracesInATextDoNotEndTheAction) {
  EXPECT_EQ(shown(R"({{ f "}}" "\"}}" }}x)"), R"(<f "}}" "\"}}">[x])");
}

TEST(TemplateWords, AnActionWithoutAnEndNamesItsLine) {
  EXPECT_EQ(shown("a\nb {{ c\n"), "error t.yaml:2: missing }}");
}

TEST(TemplateWords, LinesAreCountedFromOne) {
  auto pieces = split_template("a\nb{{ c }}\n{{ d }}", "t.yaml");
  ASSERT_TRUE(pieces);
  ASSERT_EQ(pieces->size(), 4u);
  EXPECT_EQ((*pieces)[1].line, 2);
  EXPECT_EQ((*pieces)[3].line, 3);
}

TEST(TemplateWords, AnActionIsSplitIntoItsWords) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(*split_action(R"_(printf "%s (x)" (include "a" .)|quote)_"),
            (Words{"printf", "\"%s (x)\"", "(", "include", "\"a\"", ".", ")", "|", "quote"}));
  EXPECT_EQ(*split_action(" \n"), Words{});
  EXPECT_FALSE(split_action("f \"open"));
  EXPECT_FALSE(split_action("f \"open\\\""));
}

}  // namespace
}  // namespace lockstep::deploy::template_words_test
