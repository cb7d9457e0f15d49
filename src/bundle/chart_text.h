// Text in the files that Helm and its relatives render as Go templates: whatever it holds, it comes
// out as it went in.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "data/json.h"

namespace lockstep::bundle {

// For a file of a chart's templates/ folder.
std::string chart_text(std::string_view text);

// YAML without a single "{{" in it, for files that one version of a program renders and the next
// one does not: an escape of YAML, unlike one of templates, means the same to both.
std::string print_yaml_without_braces(const Json& value);

// Placeholders for text in a document that is not printed yet. They contain a control character, so
// that no name, version or address is one of them by chance.
std::string text_mark(std::string_view name);
// Replaces every mark, with the quotes that print_yaml gave it.
std::string replace_marks(std::string yaml, const std::map<std::string, std::string>& texts);

}  // namespace lockstep::bundle
