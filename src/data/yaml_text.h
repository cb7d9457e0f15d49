// The characters of a YAML document: decoding, which of them a file may contain, and places in it.
// Shared by the reader, the emitter and the editor; others include data/yaml.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace lockstep::yaml {

// A place in the text. Line and column count from zero, the column in characters.
struct Mark {
  uint32_t line = 0;
  uint32_t column = 0;
  uint32_t offset = 0;  // in bytes

  auto operator<=>(const Mark&) const = default;
};

// "values.yaml:12:3"; "12:3" without a name.
std::string place(std::string_view name, const Mark& mark);

inline constexpr char32_t kNotUtf8 = 0xFFFFFFFF;

struct CodePoint {
  char32_t value = kNotUtf8;
  size_t size = 1;  // in bytes; 1 for a byte that is not UTF-8
};

// The character that begins at `offset`, which must lie inside `text`.
CodePoint decode_utf8(std::string_view text, size_t offset);

// A YAML file may contain it unescaped. Returns false for line breaks and the byte order mark.
bool is_printable(char32_t character);

// The byte order mark that editors on Windows put first, or nothing.
std::string_view byte_order_mark(std::string_view text);

// Refuses bytes that are not UTF-8 and control characters, with their line and column: libyaml
// knows only the byte offset of either.
Result<void> check_characters(std::string_view text, std::string_view name);

}  // namespace lockstep::yaml
