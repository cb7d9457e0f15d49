// How a scalar is written: plain, quoted or as a block. Shared by the emitter and the editor;
// others include data/yaml.h.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "data/json.h"

namespace lockstep::yaml {

// True if the string needs no quotes: every reader takes it for this very string. Inside [] and {}
// fewer strings qualify.
bool is_safe_plain(std::string_view text, bool in_flow = false);

// "..." with escapes: holds any string. Bytes that are not UTF-8 become U+FFFD, as in Go.
std::string quote_double(std::string_view text);

// '...': nothing for text with control characters or line breaks, which it cannot hold.
std::optional<std::string> quote_single(std::string_view text);

// Plain where that is safe, otherwise in the quotes that need fewer escapes.
std::string print_string(std::string_view text, bool in_flow = false);

// The same at the end of a longer text.
void append_string(std::string& out, std::string_view text);

// Numbers, booleans and null as they read back; strings by print_string. `value` is a scalar.
std::string print_scalar(const Json& value, bool in_flow = false);

// "|-" and the lines, each indented by `indentation` blanks, without a line break at the end except
// those that belong to the string. `step` is how much deeper that is than the surrounding block,
// for the indentation indicator. Returns nothing if the string needs no block (one line) or cannot
// be written as one.
std::optional<std::string> print_block(std::string_view text, size_t indentation, size_t step,
                                       std::string_view line_break = "\n");

}  // namespace lockstep::yaml
