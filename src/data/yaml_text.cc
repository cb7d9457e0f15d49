#include "data/yaml_text.h"

#include <fmt/format.h>

namespace lockstep::yaml {

std::string place(std::string_view name, const Mark& mark) {
  if (name.empty()) return fmt::format("{}:{}", mark.line + 1, mark.column + 1);
  return fmt::format("{}:{}:{}", name, mark.line + 1, mark.column + 1);
}

CodePoint decode_utf8(std::string_view text, size_t offset) {
  const auto byte = [&](size_t index) { return static_cast<unsigned char>(text[offset + index]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const size_t size = lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 0;
  if (size == 0 || text.size() - offset < size) return {};
  char32_t value = lead & (0xFF >> (size + 1));
  for (size_t index = 1; index < size; ++index) {
    if ((byte(index) & 0xC0) != 0x80) return {};
    value = (value << 6) | (byte(index) & 0x3F);
  }
  const bool overlong = (size == 3 && value < 0x800) || (size == 4 && value < 0x10000);
  const bool surrogate = value >= 0xD800 && value < 0xE000;
  if (overlong || surrogate || value > 0x10FFFF) return {};
  return {value, size};
}

bool is_printable(char32_t character) {
  if (character == '\t') return true;
  if (character < 0x20 || character == 0xFEFF) return false;
  if (character == 0x2028 || character == 0x2029) return false;  // line breaks to YAML 1.1
  if (character >= 0x7F && character < 0xA0) return false;
  return character < 0xD800 || (character >= 0xE000 && character < 0xFFFE) ||
         (character >= 0x10000 && character <= 0x10FFFF);
}

std::string_view byte_order_mark(std::string_view text) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  return text.starts_with(kMark) ? text.substr(0, kMark.size()) : std::string_view();
}

namespace {

bool may_stand_in_file(char32_t character) {
  switch (character) {
    case '\n':
    case '\r':
    case 0x85:
    case 0x2028:
    case 0x2029:
    case 0xFEFF:
      return true;
    default:
      return is_printable(character);
  }
}

}  // namespace

Result<void> check_characters(std::string_view text, std::string_view name) {
  Mark mark;
  for (size_t offset = byte_order_mark(text).size(); offset < text.size();) {
    const CodePoint next = decode_utf8(text, offset);
    if (next.value == kNotUtf8) {
      return fail(ErrorKind::invalid,
                  fmt::format("byte 0x{:02X} is not UTF-8; save the file in the encoding UTF-8",
                              static_cast<unsigned char>(text[offset])),
                  place(name, mark));
    }
    if (!may_stand_in_file(next.value)) {
      return fail(ErrorKind::invalid,
                  fmt::format("the control character U+{:04X} is not allowed; remove it, or write "
                              "\"\\u{:04X}\" in double quotes",
                              static_cast<uint32_t>(next.value), static_cast<uint32_t>(next.value)),
                  place(name, mark));
    }
    offset += next.size;
    ++mark.column;
    if (next.value == '\n') mark = Mark{mark.line + 1, 0, 0};
  }
  return {};
}

}  // namespace lockstep::yaml
