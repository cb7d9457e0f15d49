// The innermost loops of reading JSON: where a string ends, where a number ends. They know bytes
// and nothing else, and read sixteen at a time where the processor can.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace lockstep {

inline constexpr const char* json_ends_early = "the JSON ends too early";

inline bool is_json_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }
inline bool is_json_digit(char c) { return c >= '0' && c <= '9'; }

inline const char* skip_json_space(const char* at, const char* end) {
  while (at != end && is_json_space(*at)) ++at;
  return at;
}

inline bool needs_json_escape(char c) {
  return c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20;
}

// The first byte inside a string that is not plain ASCII text: a quote, a backslash, a control
// character, or (unless `beyond_ascii_is_plain`) a byte of a longer UTF-8 sequence.
template <bool beyond_ascii_is_plain = false>
inline const char* find_special(const char* at, const char* end) {
#if defined(__SSE2__)
  const __m128i quote = _mm_set1_epi8('"');
  const __m128i backslash = _mm_set1_epi8('\\');
  while (end - at >= 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    // Compared as signed, bytes from 0x80 up are negative and so less than a space, too.
    const __m128i odd = beyond_ascii_is_plain
                            ? _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(0x1f)), bytes)
                            : _mm_cmplt_epi8(bytes, _mm_set1_epi8(0x20));
    const __m128i special = _mm_or_si128(
        odd, _mm_or_si128(_mm_cmpeq_epi8(bytes, quote), _mm_cmpeq_epi8(bytes, backslash)));
    const auto found = static_cast<uint32_t>(_mm_movemask_epi8(special));
    if (found != 0) return at + std::countr_zero(found);
    at += 16;
  }
#endif
  while (at != end && !needs_json_escape(*at) &&
         (beyond_ascii_is_plain || static_cast<unsigned char>(*at) < 0x80)) {
    ++at;
  }
  return at;
}

// Past one UTF-8 sequence of two bytes or more; null pointer when it is not well formed.
const char* end_of_utf8_sequence(const char* at, const char* end);

// One escape and the character that it means; `at` is behind the backslash.
struct EscapeEnd {
  const char* at;       // past the escape, or at the byte that is wrong
  const char* problem;  // null pointer without an error
  uint32_t code_point;
};
EscapeEnd read_json_escape(const char* at, const char* end);

struct NumberEnd {
  const char* at;
  const char* problem;  // null pointer without an error
  bool is_integer;      // no fraction, no exponent
};
// `at` is at the first digit or the minus sign.
NumberEnd end_of_json_number(const char* at, const char* end);

}  // namespace lockstep
