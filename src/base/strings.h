// Small functions on strings that the standard library lacks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace lockstep {

inline constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Always one part more than there are separators: "" has one part, "a,,b" three.
std::vector<std::string_view> split(std::string_view text, char separator);
std::string join(const std::vector<std::string>& parts, std::string_view separator);
// Up to the first line break.
inline std::string first_line(std::string_view text) {
  return std::string(text.substr(0, text.find('\n')));
}
// Without ASCII white space at both ends.
std::string_view trim(std::string_view text);
// ASCII letters only, as Kubernetes and HTTP mean it.
std::string lower(std::string_view text);
bool equal_ignoring_case(std::string_view a, std::string_view b);

// Whole-string integers; no sign but '-', no white space.
std::optional<int64_t> parse_integer(std::string_view text);
std::optional<uint64_t> parse_unsigned(std::string_view text);

// The standard alphabet with padding. Decoding skips line breaks, which files like kubeconfig have.
std::string base64_encode(std::string_view bytes);
Result<std::string> base64_decode(std::string_view text);

// %XX and '+'; fails on a broken escape.
Result<std::string> url_decode(std::string_view text, bool plus_is_space);
std::string url_encode(std::string_view text);

// gpu-9 before gpu-10. A total order: only identical strings are equivalent.
bool natural_less(std::string_view a, std::string_view b);

// The candidate nearest to `word` by edit distance, if it is near enough to be a likely typing
// error.
std::optional<std::string> nearest(std::string_view word,
                                   const std::vector<std::string>& candidates);

// What a user may have meant by an unknown word: `; did you mean "eks"?`, else
// `; expected one of: eks, gke`. Empty when no word is known.
std::string suggestion(std::string_view word, const std::vector<std::string>& known);
// `unknown node "gpu-33"; did you mean "gpu-3"?`
std::string unknown_word(std::string_view what, std::string_view word,
                         const std::vector<std::string>& known);

bool is_valid_utf8(std::string_view text);

// A string as Go's %q writes it: in double quotes, with escapes.
std::string quoted(std::string_view text);
// The same for a string that may be very long: quotes only its beginning.
std::string quoted_excerpt(std::string_view text);

}  // namespace lockstep
