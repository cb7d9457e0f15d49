#include "data/yaml_style.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "data/yaml_scalar.h"
#include "data/yaml_text.h"

namespace lockstep::yaml {

namespace {

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool is_one_of(char character, std::string_view characters) {
  return characters.find(character) != std::string_view::npos;
}

// Every character is one that a file may hold as it is, and none is a tab.
bool is_all_printable(std::string_view text) {
  for (size_t offset = 0; offset < text.size();) {
    const CodePoint next = decode_utf8(text, offset);
    if (next.value == kNotUtf8 || next.value == '\t' || !is_printable(next.value)) return false;
    offset += next.size;
  }
  return true;
}

// The words that some reader takes for something else.
bool has_meaning(std::string_view word) {
  switch (word.size()) {
    case 1:
      return equal_ignoring_case(word, "y") || equal_ignoring_case(word, "n");
    case 2:
      return equal_ignoring_case(word, "no") || equal_ignoring_case(word, "on");
    case 3:
      return equal_ignoring_case(word, "yes") || equal_ignoring_case(word, "off");
    case 4:
      return equal_ignoring_case(word, "true") || equal_ignoring_case(word, "null");
    case 5:
      return equal_ignoring_case(word, "false");
    default:
      return false;
  }
}

// Most keys and values: a letter, and then nothing that has a meaning anywhere.
bool is_plain_word(std::string_view text) {
  auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  if (text.empty() || !is_letter(text.front()) || has_meaning(text)) return false;
  return std::all_of(text.begin(), text.end(), [&](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.' || c == '/';
  });
}

bool begins_like_syntax(std::string_view text) {
  if (text.front() == '-') {
    // "-v" and "--port=80" are plain; "-", "- v" and "---" are not.
    const size_t dashes = std::min(text.find_first_not_of('-'), text.size());
    return dashes > 2 || dashes == text.size() || text[dashes] == ' ';
  }
  return is_one_of(text.front(), "?:,[]{}#&*!|>'\"%@` ") || text.starts_with("...");
}

}  // namespace

bool is_safe_plain(std::string_view text, bool in_flow) {
  if (is_plain_word(text)) return true;
  if (text.empty() || begins_like_syntax(text) || text.back() == ' ' || text.back() == ':') {
    return false;
  }
  if (has(text, ": ") || has(text, " #")) return false;
  // Readers differ over a colon or a question mark in a flow collection.
  if (in_flow && text.find_first_of(",[]{}:?#") != std::string_view::npos) return false;
  return is_all_printable(text) && is_string_everywhere(text);
}

namespace {

std::string escape(char32_t character) {
  switch (character) {
    case '"':
      return "\\\"";
    case '\\':
      return "\\\\";
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    default:
      break;
  }
  const auto code = static_cast<uint32_t>(character);
  if (code < 0x100) return fmt::format("\\x{:02X}", code);
  if (code < 0x10000) return fmt::format("\\u{:04X}", code);
  return fmt::format("\\U{:08X}", code);
}

}  // namespace

std::string quote_double(std::string_view text) {
  std::string out = "\"";
  for (size_t offset = 0; offset < text.size();) {
    const CodePoint next = decode_utf8(text, offset);
    const bool as_is = next.value != '"' && next.value != '\\' && next.value != '\t';
    if (next.value == kNotUtf8) {
      out += "\xEF\xBF\xBD";
    } else if (as_is && is_printable(next.value)) {
      out += text.substr(offset, next.size);
    } else {
      out += escape(next.value);
    }
    offset += next.size;
  }
  return out + '"';
}

std::optional<std::string> quote_single(std::string_view text) {
  if (!is_all_printable(text)) return std::nullopt;
  std::string out = "'";
  for (const char character : text) {
    if (character == '\'') out += '\'';
    out += character;
  }
  return out + '\'';
}

void append_string(std::string& out, std::string_view text) {
  if (is_plain_word(text)) {
    out += text;
  } else {
    out += print_string(text);
  }
}

std::string print_string(std::string_view text, bool in_flow) {
  if (is_safe_plain(text, in_flow)) return std::string(text);
  if (text.find_first_of("\"\\") != std::string_view::npos && !has(text, "'")) {
    if (auto quoted = quote_single(text)) return std::move(*quoted);
  }
  return quote_double(text);
}

std::string print_scalar(const Json& value, bool in_flow) {
  switch (value.kind()) {
    case JsonKind::bool_:
      return value.get_bool() ? "true" : "false";
    case JsonKind::int64:
      return fmt::format("{}", value.get_int64());
    case JsonKind::uint64:
      return fmt::format("{}", value.get_uint64());
    case JsonKind::double_:
      return print_float(value.get_double());
    case JsonKind::string:
      return print_string({value.get_string().data(), value.get_string().size()}, in_flow);
    default:
      return "null";
  }
}

namespace {

bool may_be_block(std::string_view text) {
  if (!has(text, "\n") || text.find_first_not_of('\n') == std::string_view::npos) return false;
  for (const std::string_view line : split(text, '\n')) {
    // Go's reader and libyaml disagree on lines that contain only blanks, and those blanks are
    // invisible.
    if (!line.empty() && line.find_first_not_of(" \t") == std::string_view::npos) return false;
    for (size_t offset = 0; offset < line.size();) {
      const CodePoint next = decode_utf8(line, offset);
      if (next.value == kNotUtf8 || !is_printable(next.value)) return false;
      offset += next.size;
    }
  }
  return true;
}

std::string_view chomping(std::string_view text) {
  if (text.ends_with("\n\n")) return "+";
  return text.ends_with('\n') ? "" : "-";
}

}  // namespace

std::optional<std::string> print_block(std::string_view text, size_t indentation, size_t step,
                                       std::string_view line_break) {
  if (!may_be_block(text)) return std::nullopt;
  // The indentation is read off the first line that has text; when that begins with a blank, say
  // it.
  const char first = text[text.find_first_not_of('\n')];
  const bool says_indentation = first == ' ' || first == '\t';
  if (says_indentation && (step == 0 || step > 9)) return std::nullopt;
  std::string out = "|";
  if (says_indentation) out += fmt::format("{}", step);
  out += chomping(text);
  if (text.ends_with('\n')) text.remove_suffix(1);
  for (const std::string_view line : split(text, '\n')) {
    out += line_break;
    if (!line.empty()) out.append(indentation, ' ').append(line);
  }
  return out;
}

}  // namespace lockstep::yaml
