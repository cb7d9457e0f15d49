// The words between "{{" and "}}" of a template, and the text around them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace lockstep::deploy {

// A template is text and actions in turn; trim markers have done their work, comments are gone.
struct TemplatePiece {
  bool is_action = false;
  std::string text;  // of an action: what is between the braces
  int line = 0;
};
Result<std::vector<TemplatePiece>> split_template(std::string_view text, const std::string& name);

// `if`, `.Values.a`, `"a text"` (with its quotes), `(`, `)`, `|`, `5`.
Result<std::vector<std::string>> split_action(std::string_view action);

}  // namespace lockstep::deploy
