#include "data/json_scan.h"

#include <string_view>

#include "data/json_text.h"

namespace lockstep {

namespace {

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Four hexadecimal digits.
EscapeEnd read_utf16_unit(const char* at, const char* end) {
  uint32_t unit = 0;
  for (int i = 0; i < 4; ++i, ++at) {
    if (at == end) return {at, json_ends_early, 0};
    const int digit = hex_digit(*at);
    if (digit < 0) return {at, "not a hexadecimal digit", 0};
    unit = unit * 16 + static_cast<uint32_t>(digit);
  }
  return {at, nullptr, unit};
}

// `at` is behind "\u". Above U+FFFF a character is two escapes.
EscapeEnd read_utf16(const char* at, const char* end) {
  const EscapeEnd first = read_utf16_unit(at, end);
  if (first.problem != nullptr) return first;
  if (first.code_point < 0xd800 || first.code_point > 0xdfff) return first;
  constexpr const char* lone = "half of a surrogate pair";
  if (first.code_point > 0xdbff) return {at, lone, 0};
  at = first.at;
  for (const char wanted : {'\\', 'u'}) {
    if (at == end) return {at, json_ends_early, 0};
    if (*at != wanted) return {at, lone, 0};
    ++at;
  }
  EscapeEnd second = read_utf16_unit(at, end);
  if (second.problem != nullptr) return second;
  if (second.code_point < 0xdc00 || second.code_point > 0xdfff) return {at, lone, 0};
  second.code_point = 0x10000 + ((first.code_point - 0xd800) << 10) + (second.code_point - 0xdc00);
  return second;
}

const char* skip_digits(const char* at, const char* end) {
  while (at != end && is_json_digit(*at)) ++at;
  return at;
}

}  // namespace

const char* end_of_utf8_sequence(const char* at, const char* end) {
  const auto lead = static_cast<unsigned char>(*at);
  const std::ptrdiff_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || end - at < length) return nullptr;
  for (std::ptrdiff_t i = 1; i < length; ++i) {
    if (!is_continuation(at[i])) return nullptr;
  }
  // Longer than needed, halves of surrogate pairs, and beyond U+10FFFF: the second byte decides.
  const auto second = static_cast<unsigned char>(at[1]);
  if (lead == 0xe0 && second < 0xa0) return nullptr;
  if (lead == 0xed && second > 0x9f) return nullptr;
  if (lead == 0xf0 && second < 0x90) return nullptr;
  if (lead == 0xf4 && second > 0x8f) return nullptr;
  return at + length;
}

EscapeEnd read_json_escape(const char* at, const char* end) {
  if (at == end) return {at, json_ends_early, 0};
  switch (*at) {
    case '"':
    case '\\':
    case '/':
      return {at + 1, nullptr, static_cast<uint32_t>(*at)};
    case 'b':
      return {at + 1, nullptr, '\b'};
    case 'f':
      return {at + 1, nullptr, '\f'};
    case 'n':
      return {at + 1, nullptr, '\n'};
    case 'r':
      return {at + 1, nullptr, '\r'};
    case 't':
      return {at + 1, nullptr, '\t'};
    case 'u':
      return read_utf16(at + 1, end);
    default:
      return {at, "an unknown escape", 0};
  }
}

NumberEnd end_of_json_number(const char* at, const char* end) {
  const char* const start = at;
  constexpr const char* digit_wanted = "expected a digit";
  if (*at == '-') ++at;
  if (at == end) return {at, json_ends_early, false};
  if (!is_json_digit(*at)) return {at, digit_wanted, false};
  at = *at == '0' ? at + 1 : skip_digits(at, end);
  bool is_integer = true;
  if (at != end && *at == '.') {
    is_integer = false;
    const char* fraction = at + 1;
    at = skip_digits(fraction, end);
    if (at == fraction) return {at, at == end ? json_ends_early : digit_wanted, false};
  }
  const bool has_exponent = at != end && (*at == 'e' || *at == 'E');
  if (has_exponent) {
    is_integer = false;
    ++at;
    if (at != end && (*at == '+' || *at == '-')) ++at;
    const char* exponent = at;
    at = skip_digits(exponent, end);
    if (at == exponent) return {at, at == end ? json_ends_early : digit_wanted, false};
  }
  // Only these can be out of a double's range, and few numbers are like that.
  const std::string_view text(start, static_cast<size_t>(at - start));
  if ((has_exponent || text.size() > 300) && !number_from_json_text(text)) {
    return {start, "the number is too large", false};
  }
  return {at, nullptr, is_integer};
}

}  // namespace lockstep
