// The texts of a source file that its readers and users see: comments and string literals. They are
// read like a page (prose.h): code in backticks and indented code are left out.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "prose.h"

namespace lockstep::style {

// How a language writes comments and strings.
enum class Syntax {
  cpp,         // C++, CUDA, C and Go
  typescript,  // also strings in single quotes and backticks
  hash,        // shell, CMake, YAML: comments after "#"; literals are not read
};

// By the name of the file; nothing for a file without comments.
std::optional<Syntax> syntax_of(std::string_view path);

struct SourceText {
  std::vector<Passage> comments;  // comments on consecutive lines are one text
  std::vector<Passage>
      literals;  // adjacent ones are one; those without a space are names: left out
};

SourceText read_source(std::string_view text, Syntax syntax);

// The description of a scenario: the value of its key `about`.
std::vector<Passage> read_about(std::string_view yaml);

}  // namespace lockstep::style
