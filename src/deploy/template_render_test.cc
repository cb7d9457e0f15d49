#include "deploy/template_render.h"

#include <gtest/gtest.h>

namespace lockstep::deploy::template_render_test {
namespace {

Json sample() {
  return *parse_json(R"({"Values": {"name": "web", "on": true, "off": false, "none": "", "zero": 0,
                                    "list": ["a", "b"], "map": {"k": "v"}, "empty": {}, "null": null}})");
}

std::string render(std::string_view text) {
  auto parsed = parse_template(text, "t.yaml");
  if (!parsed) return parsed.error().text();
  auto out = render_template(parsed->nodes, parsed->definitions, sample(), "t.yaml");
  return out ? *out : "error " + out.error().text();
}

TEST(TemplateRender, ValuesArePrinted) {
  EXPECT_EQ(render("a: {{ .Values.name }}, {{ .Values.on }}, {{ .Values.zero }}"),
            "a: web, true, 0");
}

TEST(TemplateRender, OneBranchIsTaken) {
  EXPECT_EQ(render("{{ if .Values.on }}yes{{ else }}no{{ end }}"), "yes");
  EXPECT_EQ(render("{{ if .Values.off }}1{{ else if .Values.name }}2{{ else }}3{{ end }}"), "2");
  for (const char* empty : {"off", "none", "zero", "empty", "null", "missing"}) {
    EXPECT_EQ(render("{{ if .Values." + std::string(empty) + " }}yes{{ else }}no{{ end }}"), "no")
        << empty;
  }
}

TEST(TemplateRender, WithAndRangeMoveTheDotAndTheDollarStays) {
  EXPECT_EQ(render("{{ with .Values.map }}{{ .k }} {{ $.Values.name }}{{ end }}"), "v web");
  EXPECT_EQ(render("{{ with .Values.empty }}x{{ else }}nothing{{ end }}"), "nothing");
  EXPECT_EQ(render("{{ range .Values.list }}<{{ . }}>{{ end }}"), "<a><b>");
  EXPECT_EQ(render("{{ range .Values.map }}x{{ end }}"),
            "error t.yaml:1: range accepts only lists");
}

TEST(TemplateRender, AnIncludeIsTextThatCanBeIndented) {
  EXPECT_EQ(render("{{ define \"l\" -}}\na: {{ .name }}\nb: 2\n{{- end }}x:\n  {{- include \"l\" "
                   ".Values | nindent 2 }}\n"),
            "x:\n  a: web\n  b: 2\n");
  EXPECT_EQ(render("{{ include \"no\" . }}"), "error t.yaml:1: unknown template \"no\"");
  EXPECT_EQ(render("{{ define \"l\" }}{{ include \"l\" . }}{{ end }}{{ include \"l\" . }}"),
            "error t.yaml:1: l includes itself");
}

TEST(TemplateRender, TheSameTemplateMayBeIncludedManyTimes) {
  std::string text = "{{ define \"l\" }}x{{ end }}";
  for (int i = 0; i < 50; ++i) text += "{{ include \"l\" . }}";
  EXPECT_EQ(render(text), std::string(50, 'x'));
}

TEST(TemplateRender, WhatIsMissingIsAnErrorAndNotEmptyText) {
  EXPECT_EQ(render("a\n{{ .Values.missing }}"),
            "error t.yaml:2: null cannot be printed: only strings, whole numbers and booleans can");
  EXPECT_EQ(render("{{ .Values.missing.more }}"),
            "error t.yaml:1: .Values.missing.more: nothing to read more from");
  EXPECT_EQ(render("{{ .Values.name | upper }}"), "error t.yaml:1: unknown function upper");
}

}  // namespace
}  // namespace lockstep::deploy::template_render_test
