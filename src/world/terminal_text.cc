#include "world/terminal_text.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include <fmt/format.h>

#include "base/strings.h"

namespace lockstep {

namespace {

constexpr char style_begin = '\xff';
constexpr char style_end = '\xfe';
constexpr size_t longest_code = 16;

struct Range {
  uint32_t first;
  uint32_t last;
};

// Controls; what changes the direction of text; what is not visible; what breaks lines.
constexpr std::array<Range, 14> hidden = {{{0x00, 0x1f},
                                           {0x7f, 0x9f},
                                           {0xad, 0xad},
                                           {0x34f, 0x34f},
                                           {0x61c, 0x61c},
                                           {0x115f, 0x1160},
                                           {0x180b, 0x180f},
                                           {0x200b, 0x200f},
                                           {0x2028, 0x202e},
                                           {0x2060, 0x206f},
                                           {0x3164, 0x3164},
                                           {0xfeff, 0xfeff},
                                           {0xfff0, 0xfffb},
                                           {0xe0000, 0xe0fff}}};

bool is_hidden(uint32_t code) {
  return std::any_of(hidden.begin(), hidden.end(),
                     [&](Range range) { return code >= range.first && code <= range.last; });
}

struct Character {
  uint32_t code = 0;
  size_t size = 0;  // 0: no UTF-8
};

Character character_at(std::string_view text, size_t at) {
  const auto byte = static_cast<unsigned char>(text[at]);
  if (byte < 0x80) return {byte, 1};
  const size_t size = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
  const std::string_view bytes = text.substr(at, size);
  if (bytes.size() != size || !is_valid_utf8(bytes)) return {};
  uint32_t code = byte & (0xffU >> (size + 1));
  for (size_t i = 1; i < size; ++i)
    code = code << 6 | (static_cast<unsigned char>(bytes[i]) & 0x3f);
  return {code, size};
}

void append_escape(std::string& out, uint32_t code) {
  if (code > 0xffff) {
    // As JSON writes it: in two halves.
    code -= 0x10000;
    out += fmt::format("\\u{:04x}\\u{:04x}", 0xd800 + (code >> 10), 0xdc00 + (code & 0x3ff));
  } else {
    out += fmt::format("\\u{:04x}", code);
  }
}

// The length of a mark and its code; 0: it is something else.
size_t style_at(std::string_view text, size_t at) {
  if (text[at] != style_begin) return 0;
  for (size_t end = at + 1; end < text.size() && end <= at + longest_code; ++end) {
    if (text[end] == style_end) return end + 1 - at;
    if (!is_digit(text[end]) && text[end] != ';') return 0;
  }
  return 0;
}

std::string escaped(std::string_view text, std::string_view allowed, bool styles) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    if (allowed.find(text[at]) != std::string_view::npos) {
      out += text[at++];
      continue;
    }
    if (const size_t size = styles ? style_at(text, at) : 0; size > 0) {
      out += fmt::format("\x1b[{}m", text.substr(at + 1, size - 2));
      at += size;
      continue;
    }
    const Character found = character_at(text, at);
    if (found.size == 0) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[at++]));
    } else if (is_hidden(found.code)) {
      append_escape(out, found.code);
      at += found.size;
    } else {
      out += text.substr(at, found.size);
      at += found.size;
    }
  }
  return out;
}

}  // namespace

std::string mark_style(std::string_view text, std::string_view code) {
  return fmt::format("{0}{1}{2}{3}{0}0{2}", style_begin, code, style_end, text);
}

std::string terminal_text(std::string_view text) { return escaped(text, "\n\t", true); }

std::string one_line(std::string_view text) { return escaped(text, "", false); }

}  // namespace lockstep
