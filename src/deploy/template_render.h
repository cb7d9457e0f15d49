// Templates (template_syntax.h) made into text, as Helm makes it: the functions below and no
// others. Where Helm prints nothing for a value that is not there, this is an error: every value of
// our chart has a default.
//
//   include NAME DOT · toYaml x · nindent n x · quote x · default fallback x · printf "%s-%d" a b
//   join "," list · int x · not x · and a b … · or a b … · eq a b · gt a b
#pragma once

#include <map>
#include <string>

#include "base/result.h"
#include "data/json.h"
#include "deploy/template_syntax.h"

namespace lockstep::deploy {

using Definitions = std::map<std::string, TemplateNodes>;

// `root`: what "." and "$" are: {"Values": …, "Release": …, "Chart": …}.
Result<std::string> render_template(const TemplateNodes& nodes, const Definitions& definitions,
                                    const Json& root, const std::string& name);

}  // namespace lockstep::deploy
