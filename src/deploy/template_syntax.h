// The templates of our own chart, read into a tree. They are Helm's: this is the part of Go's
// text/template that they use, and whatever else they say is refused with its line, so that a
// template which only Helm would understand does not pass the tests.
//
//   {{ .Values.a.b }}  {{ . }}  {{ $.Values.a }}     values; $ is the whole, also inside with and
//   range
//   {{ "text" }}  {{ 5 }}  {{ f a (g b) | h c }}     literals, functions, pipes
//   {{ if x }} … {{ else if y }} … {{ else }} … {{ end }}, {{ with x }}, {{ range list }}
//   {{ define "name" }} … {{ end }}                  for include
//   {{- x -}}  {{/* comment */}}                     without the white space around
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "data/json.h"

namespace lockstep::deploy {

struct Expression {
  enum class Kind { literal, path, call };
  Kind kind = Kind::literal;
  Json literal;
  bool from_root = false;         // of a path: "$.a", not ".a"
  std::vector<std::string> path;  // its keys
  std::string function;
  std::vector<Expression> arguments;
  int line = 0;
};

struct TemplateNode {
  enum class Kind { text, output, condition, with, range };
  Kind kind = Kind::text;
  std::string text;
  Expression expression;
  std::vector<TemplateNode> body;
  std::vector<TemplateNode> otherwise;
};
using TemplateNodes = std::vector<TemplateNode>;

struct Template {
  TemplateNodes nodes;
  std::map<std::string, TemplateNodes> definitions;
};

// `name` begins the places of errors: "templates/rbac.yaml:12".
Result<Template> parse_template(std::string_view text, const std::string& name);

}  // namespace lockstep::deploy
