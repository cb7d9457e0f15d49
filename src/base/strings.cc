#include "base/strings.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

namespace lockstep {

namespace {

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

constexpr std::string_view base64_alphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr uint8_t not_base64 = 0xff;

constexpr std::array<uint8_t, 256> base64_values = [] {
  std::array<uint8_t, 256> values{};
  values.fill(not_base64);
  for (size_t i = 0; i < base64_alphabet.size(); ++i) {
    values[static_cast<unsigned char>(base64_alphabet[i])] = static_cast<uint8_t>(i);
  }
  return values;
}();

int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  c = lower(c);
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

template <typename Integer>
std::optional<Integer> parse_whole(std::string_view text) {
  Integer value{};
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stopped != end) return std::nullopt;
  return value;
}

// Insertions, deletions, replacements and swaps of neighbours, each counting one.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before_last(b.size() + 1), last(b.size() + 1), current(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    current[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      current[j] = std::min({last[j] + 1, current[j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        current[j] = std::min(current[j], before_last[j - 2] + 1);
      }
    }
    before_last.swap(last);
    last.swap(current);
  }
  return last[b.size()];
}

// Takes the digits at `position` and returns them without leading zeros.
std::string_view take_digits(std::string_view text, size_t& position) {
  const size_t begin = position;
  while (position < text.size() && is_digit(text[position])) ++position;
  std::string_view digits = text.substr(begin, position - begin);
  digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
  return digits;
}

}  // namespace

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  size_t begin = 0;
  for (size_t end; (end = text.find(separator, begin)) != std::string_view::npos; begin = end + 1) {
    parts.push_back(text.substr(begin, end - begin));
  }
  parts.push_back(text.substr(begin));
  return parts;
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string text;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) text += separator;
    text += parts[i];
  }
  return text;
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = lower(c);
  return result;
}

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

std::optional<int64_t> parse_integer(std::string_view text) { return parse_whole<int64_t>(text); }

std::optional<uint64_t> parse_unsigned(std::string_view text) {
  return parse_whole<uint64_t>(text);
}

std::string base64_encode(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t count = std::min<size_t>(3, bytes.size() - i);
    uint32_t group = 0;
    for (size_t k = 0; k < 3; ++k) {
      group = group << 8 | (k < count ? static_cast<unsigned char>(bytes[i + k]) : 0);
    }
    for (size_t k = 0; k < 4; ++k) {
      text += k <= count ? base64_alphabet[group >> (18 - 6 * k) & 63] : '=';
    }
  }
  return text;
}

Result<std::string> base64_decode(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  uint32_t group = 0;
  size_t digits = 0;   // in this group of four
  size_t padding = 0;  // in this group of four
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n' || c == '\r') continue;
    if (c == '=' && digits >= 2 && digits + padding < 4) {
      ++padding;
      continue;
    }
    const uint8_t value = base64_values[static_cast<unsigned char>(c)];
    if (value == not_base64 || padding > 0) {
      return failf(ErrorKind::invalid, "not base64: unexpected byte 0x{:02x} at position {}",
                   static_cast<unsigned char>(c), i);
    }
    group = group << 6 | value;
    if (++digits == 4) {
      bytes += static_cast<char>(group >> 16);
      bytes += static_cast<char>(group >> 8);
      bytes += static_cast<char>(group);
      group = 0;
      digits = 0;
    }
  }
  if (digits == 0) return bytes;
  if (digits + padding != 4) return fail(ErrorKind::invalid, "not base64: it ends too early");
  if (digits == 3) {
    bytes += static_cast<char>(group >> 10);
    bytes += static_cast<char>(group >> 2);
  } else {
    bytes += static_cast<char>(group >> 4);
  }
  return bytes;
}

Result<std::string> url_decode(std::string_view text, bool plus_is_space) {
  std::string result;
  result.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus_is_space) {
      result += ' ';
    } else if (text[i] != '%') {
      result += text[i];
    } else {
      const int high = i + 1 < text.size() ? hex_value(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? hex_value(text[i + 2]) : -1;
      if (high < 0 || low < 0) {
        return failf(ErrorKind::invalid,
                     "broken URL escape at position {}: '%' needs two hexadecimal digits", i);
      }
      result += static_cast<char>(high * 16 + low);
      i += 2;
    }
  }
  return result;
}

std::string url_encode(std::string_view text) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string result;
  result.reserve(text.size());
  for (const char c : text) {
    const char folded = lower(c);
    if ((folded >= 'a' && folded <= 'z') || is_digit(c) || c == '-' || c == '.' || c == '_' ||
        c == '~') {
      result += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      result += '%';
      result += digits[byte >> 4];
      result += digits[byte & 15];
    }
  }
  return result;
}

bool natural_less(std::string_view a, std::string_view b) {
  size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (is_digit(a[i]) && is_digit(b[j])) {
      const std::string_view x = take_digits(a, i);
      const std::string_view y = take_digits(b, j);
      if (x.size() != y.size()) return x.size() < y.size();
      if (const int order = x.compare(y); order != 0) return order < 0;
    } else {
      // A number against a character: the first digit represents the number, which is consistent
      // because the digits are neighbours in ASCII.
      if (a[i] != b[j]) return static_cast<unsigned char>(a[i]) < static_cast<unsigned char>(b[j]);
      ++i, ++j;
    }
  }
  const bool a_left = i < a.size(), b_left = j < b.size();
  if (a_left != b_left) return b_left;
  return a < b;  // they differ in leading zeros only, or not at all
}

std::optional<std::string> nearest(std::string_view word,
                                   const std::vector<std::string>& candidates) {
  const std::string typed = lower(word);
  const std::string* best = nullptr;
  size_t best_distance = 0;
  for (const std::string& candidate : candidates) {
    const size_t shorter = std::min(word.size(), candidate.size());
    const size_t longer = std::max(word.size(), candidate.size());
    // One error in about three characters; more would be another word.
    const size_t allowed = (shorter + 2) / 3;
    if (longer - shorter > allowed) continue;
    const size_t distance = edit_distance(typed, lower(candidate));
    if (distance > allowed || distance >= longer) continue;
    if (best == nullptr || distance < best_distance) {
      best = &candidate;
      best_distance = distance;
    }
  }
  if (best == nullptr) return std::nullopt;
  return *best;
}

std::string suggestion(std::string_view word, const std::vector<std::string>& known) {
  if (auto near = nearest(word, known)) return fmt::format("; did you mean {}?", quoted(*near));
  if (known.empty()) return {};
  if (known.size() == 1) return "; expected " + known.front();
  constexpr size_t readable = 20;
  if (known.size() <= readable) return "; expected one of: " + join(known, ", ");
  const std::vector<std::string> shown(known.begin(), known.begin() + readable);
  return fmt::format("; expected one of: {}, … ({} in all)", join(shown, ", "), known.size());
}

std::string unknown_word(std::string_view what, std::string_view word,
                         const std::vector<std::string>& known) {
  return fmt::format("unknown {} {}{}", what, quoted_excerpt(word), suggestion(word, known));
}

bool is_valid_utf8(std::string_view text) {
  const auto* at = reinterpret_cast<const unsigned char*>(text.data());
  const unsigned char* const end = at + text.size();
  const auto continues = [](unsigned char c) { return (c & 0xc0) == 0x80; };
  while (at < end) {
    // Nearly all text is ASCII: eight characters at a time.
    while (end - at >= 8) {
      uint64_t block;
      std::memcpy(&block, at, sizeof block);
      if ((block & 0x8080808080808080ULL) != 0) break;
      at += 8;
    }
    if (at == end) break;
    const unsigned char first = *at;
    const auto left = end - at;
    if (first < 0x80) {
      at += 1;
    } else if (first < 0xc2) {
      return false;  // a stray continuation, or a longer form of an ASCII character
    } else if (first < 0xe0) {
      if (left < 2 || !continues(at[1])) return false;
      at += 2;
    } else if (first < 0xf0) {
      if (left < 3 || !continues(at[1]) || !continues(at[2])) return false;
      if (first == 0xe0 && at[1] < 0xa0) return false;   // longer than needed
      if (first == 0xed && at[1] >= 0xa0) return false;  // a surrogate
      at += 3;
    } else if (first < 0xf5) {
      if (left < 4 || !continues(at[1]) || !continues(at[2]) || !continues(at[3])) return false;
      if (first == 0xf0 && at[1] < 0x90) return false;   // longer than needed
      if (first == 0xf4 && at[1] >= 0x90) return false;  // beyond U+10FFFF
      at += 4;
    } else {
      return false;
    }
  }
  return true;
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  bool utf8 = is_valid_utf8(text);
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        if (byte < 0x20 || byte == 0x7f || (byte >= 0x80 && !utf8)) {
          out += fmt::format("\\x{:02x}", byte);
        } else {
          out += c;
        }
    }
  }
  return out + "\"";
}

std::string quoted_excerpt(std::string_view text) {
  constexpr size_t most = 64;
  if (text.size() <= most) return quoted(text);
  size_t end = most;
  // Not in the middle of a character.
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return quoted(text.substr(0, end)) + "…";
}

}  // namespace lockstep
