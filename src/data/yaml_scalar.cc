#include "data/yaml_scalar.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "base/strings.h"
#include "data/yaml.h"

namespace lockstep {

Result<Json> resolve_yaml_scalar(std::string_view plain) {
  return yaml::to_json(yaml::resolve_plain(plain));
}

}  // namespace lockstep

namespace lockstep::yaml {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();
constexpr std::string_view kTagPrefix = "tag:yaml.org,2002:";

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

std::optional<Scalar> resolve_word(std::string_view text) {
  if (text.size() > 5) return std::nullopt;
  if (is_one_of(text, {"", "~", "null", "Null", "NULL"})) return Scalar();
  if (is_one_of(text, {"y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"})) {
    return Scalar(true);
  }
  if (is_one_of(text,
                {"n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"})) {
    return Scalar(false);
  }
  if (is_one_of(text, {".nan", ".NaN", ".NAN"})) return Scalar(kNotANumber);
  if (is_one_of(text, {".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"})) {
    return Scalar(kInfinity);
  }
  if (is_one_of(text, {"-.inf", "-.Inf", "-.INF"})) return Scalar(-kInfinity);
  return std::nullopt;
}

std::optional<uint64_t> parse_digits(std::string_view digits, int base) {
  uint64_t value = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

// Go's integer literals: 0x, 0o and 0b in either case, and a leading zero for octal.
std::optional<uint64_t> parse_magnitude(std::string_view text) {
  if (text.size() >= 3 && text[0] == '0') {
    const std::string_view digits = text.substr(2);
    switch (text[1]) {
      case 'x':
      case 'X':
        return parse_digits(digits, 16);
      case 'o':
      case 'O':
        return parse_digits(digits, 8);
      case 'b':
      case 'B':
        return parse_digits(digits, 2);
      default:
        break;
    }
  }
  return parse_digits(text, text.starts_with('0') ? 8 : 10);
}

std::optional<Scalar> signed_scalar(bool negative, std::optional<uint64_t> magnitude) {
  constexpr uint64_t kLimit = uint64_t{1} << 63;
  if (!magnitude) return std::nullopt;
  if (negative && *magnitude <= kLimit) return Scalar(static_cast<int64_t>(~*magnitude + 1));
  if (!negative && *magnitude < kLimit) return Scalar(static_cast<int64_t>(*magnitude));
  return std::nullopt;
}

std::optional<Scalar> parse_integer_literal(std::string_view text) {
  const bool has_sign = text.starts_with('-') || text.starts_with('+');
  const auto magnitude = parse_magnitude(text.substr(has_sign ? 1 : 0));
  if (auto value = signed_scalar(text.starts_with('-'), magnitude)) return value;
  // Without a sign the whole of 64 bits is good: Go tries an unsigned integer next.
  if (magnitude && !has_sign) return Scalar(*magnitude);
  return std::nullopt;
}

// go-yaml tries "0b" a second time by itself, and so takes a sign after it: 0b-1 is -1.
std::optional<Scalar> parse_late_binary(std::string_view text) {
  if (!text.starts_with("0b-") && !text.starts_with("0b+")) return std::nullopt;
  return signed_scalar(text[2] == '-', parse_digits(text.substr(3), 2));
}

// [-+]? digits with at most one point, and an exponent.
bool is_float_syntax(std::string_view text) {
  size_t at = text.starts_with('-') || text.starts_with('+') ? 1 : 0;
  const auto skip_digits = [&] {
    const size_t from = at;
    while (at < text.size() && is_digit(text[at])) ++at;
    return at - from;
  };
  const size_t whole = skip_digits();
  size_t fraction = 0;
  if (at < text.size() && text[at] == '.') {
    ++at;
    fraction = skip_digits();
  }
  if (whole + fraction == 0) return false;
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && (text[at] == '-' || text[at] == '+')) ++at;
    if (skip_digits() == 0) return false;
  }
  return at == text.size();
}

// Distinguishes overflow from underflow, which from_chars reports alike. The text is positive.
bool is_above_one(std::string_view text) {
  const size_t mantissa_size = std::min(text.find_first_of("eE"), text.size());
  const std::string_view mantissa = text.substr(0, mantissa_size);
  const auto point = static_cast<int64_t>(std::min(mantissa.find('.'), mantissa.size()));
  const auto first = static_cast<int64_t>(mantissa.find_first_of("123456789"));
  std::string_view exponent = text.substr(std::min(mantissa_size + 1, text.size()));
  if (exponent.starts_with('+')) exponent.remove_prefix(1);
  if (exponent.empty()) return point > first;
  const auto shift = parse_integer(exponent);
  if (!shift) return !exponent.starts_with('-');  // beyond 64 bits: it decides alone
  return *shift > first - point;
}

// A number that is too large for Go stays a string; one that is too small is zero.
std::optional<Scalar> parse_float(std::string_view text) {
  if (!is_float_syntax(text)) return std::nullopt;
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end != text.data() + text.size()) return std::nullopt;
  if (error == std::errc::result_out_of_range) {
    if (is_above_one(text)) return std::nullopt;
    value = 0;
  }
  if (!std::isfinite(value)) return std::nullopt;
  return Scalar(negative ? -value : value);
}

std::string without(std::string_view text, char unwanted) {
  std::string kept(text);
  std::erase(kept, unwanted);
  return kept;
}

// After a leading point Go reads underscores by its own rule: each between two digits.
bool underscores_part_digits(std::string_view text) {
  for (size_t at = text.find('_'); at != std::string_view::npos; at = text.find('_', at + 1)) {
    if (at == 0 || at + 1 == text.size()) return false;
    if (!is_digit(text[at - 1]) || !is_digit(text[at + 1])) return false;
  }
  return true;
}

std::optional<Scalar> resolve_number(std::string_view text) {
  const char first = text.front();
  const std::string plain = without(text, '_');
  if (first == '.') return underscores_part_digits(text) ? parse_float(plain) : std::nullopt;
  if (!is_digit(first) && first != '-' && first != '+') return std::nullopt;
  if (auto value = parse_integer_literal(plain)) return value;
  if (auto value = parse_float(plain)) return value;
  return parse_late_binary(plain);
}

std::string_view short_name(const Scalar& scalar) {
  constexpr std::array<std::string_view, 6> kNames = {"null", "bool", "int", "int", "float", "str"};
  return kNames[scalar.index()];
}

bool looks_like_date(std::string_view text) {
  const auto digits = [&](size_t at_most) {
    size_t count = 0;
    while (count < at_most && count < text.size() && is_digit(text[count])) ++count;
    text.remove_prefix(count);
    return count;
  };
  const auto dash = [&] {
    if (!text.starts_with('-')) return false;
    text.remove_prefix(1);
    return true;
  };
  return digits(4) == 4 && dash() && digits(2) > 0 && dash() && digits(2) > 0;
}

Result<Scalar> decode_binary(std::string_view text) {
  const std::string packed = without(without(text, '\n'), '\r');
  auto bytes = base64_decode(packed);
  if (!bytes) return fail(ErrorKind::invalid, "the value of !!binary is not base64");
  if (!is_valid_utf8(*bytes)) {
    return fail(ErrorKind::invalid,
                "the value of !!binary is not text, and JSON has only text; remove the tag to keep "
                "it in base64");
  }
  return Scalar(std::move(*bytes));
}

}  // namespace

Scalar resolve_plain(std::string_view text) {
  if (auto word = resolve_word(text)) return std::move(*word);
  if (auto number = resolve_number(text)) return std::move(*number);
  return std::string(text);
}

Result<Scalar> resolve_tagged(std::string_view tag, std::string_view text) {
  if (!tag.starts_with(kTagPrefix)) return Scalar(std::string(text));
  const std::string_view wanted = tag.substr(kTagPrefix.size());
  if (wanted == "binary") return decode_binary(text);
  if (!is_one_of(wanted, {"null", "bool", "int", "float", "timestamp"})) {
    return Scalar(std::string(text));
  }
  if (wanted == "timestamp" && looks_like_date(text)) return Scalar(std::string(text));
  Scalar found = resolve_plain(text);
  if (short_name(found) == wanted) return found;
  if (const auto* integer = std::get_if<int64_t>(&found); integer && wanted == "float") {
    return Scalar(static_cast<double>(*integer));
  }
  return failf(ErrorKind::invalid, "`{}` is tagged !!{} but is a !!{}; change it or remove the tag",
               text, wanted, short_name(found));
}

Result<Json> to_json(const Scalar& scalar) {
  if (const auto* value = std::get_if<double>(&scalar); value && !std::isfinite(*value)) {
    return failf(ErrorKind::invalid,
                 "{} has no counterpart in JSON, and Helm refuses it; write a number, or quote it "
                 "to mean the text",
                 std::isnan(*value) ? ".nan"
                 : *value > 0       ? ".inf"
                                    : "-.inf");
  }
  struct Convert {
    Json operator()(std::monostate) const { return nullptr; }
    Json operator()(bool value) const { return value; }
    Json operator()(int64_t value) const { return value; }
    Json operator()(uint64_t value) const { return value; }
    Json operator()(double value) const { return value; }
    Json operator()(const std::string& value) const { return Json(std::string_view(value)); }
  };
  return std::visit(Convert(), scalar);
}

namespace {

std::string float_key(double value) {
  if (std::isnan(value)) return ".nan";
  if (std::abs(value) > std::numeric_limits<float>::max()) return value > 0 ? ".inf" : "-.inf";
  const auto narrow = static_cast<float>(value);
  std::array<char, 64> buffer;
  const auto print = [&](std::chars_format format) {
    const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), narrow, format);
    return std::string(buffer.data(), result.ptr);
  };
  std::string scientific = print(std::chars_format::scientific);
  const auto exponent = parse_integer(without(scientific.substr(scientific.find('e') + 1), '+'));
  const bool is_fixed = exponent && *exponent >= -4 && *exponent < 6;
  return is_fixed ? print(std::chars_format::fixed) : scientific;
}

}  // namespace

Result<std::string> to_key(const Scalar& scalar) {
  if (const auto* text = std::get_if<std::string>(&scalar)) return *text;
  if (const auto* value = std::get_if<bool>(&scalar)) return std::string(*value ? "true" : "false");
  if (const auto* value = std::get_if<int64_t>(&scalar)) return fmt::format("{}", *value);
  if (const auto* value = std::get_if<double>(&scalar)) return float_key(*value);
  const std::string_view kind = std::holds_alternative<uint64_t>(scalar)
                                    ? "an integer beyond 9223372036854775807"
                                    : "null or empty";
  return failf(ErrorKind::invalid, "a key cannot be {}; quote it to mean the text", kind);
}

namespace {

// 190:20:30 and 12:30 are numbers to base 60 in YAML 1.1, and 1,000 is one to Ruby.
bool looks_like_number(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  if (text.empty()) return true;
  if (text.size() > 1 && text[0] == '0' &&
      std::string_view("xXoObB").find(text[1]) != std::string_view::npos) {
    return true;
  }
  if (is_one_of(lower(text), {".inf", ".nan", "inf", "nan", "infinity"})) return true;
  if (!is_digit(text[0]) && text[0] != '.') return false;
  if (std::count(text.begin(), text.end(), '.') > 1) return false;
  const size_t mantissa = text.find_first_not_of("0123456789_,.:");
  if (mantissa == std::string_view::npos) return true;
  if (text[mantissa] != 'e' && text[mantissa] != 'E') return false;
  return text.find_first_not_of("0123456789_+-", mantissa + 1) == std::string_view::npos;
}

}  // namespace

bool is_string_everywhere(std::string_view text) {
  if (!std::holds_alternative<std::string>(resolve_plain(text))) return false;
  if (is_one_of(lower(text),
                {"y", "n", "yes", "no", "on", "off", "true", "false", "null", "<<", "=", "~"})) {
    return false;
  }
  return !looks_like_number(text) && !looks_like_date(text);
}

std::string print_float(double value) {
  if (std::isnan(value)) return ".nan";
  if (std::isinf(value)) return value > 0 ? ".inf" : "-.inf";
  // Left to itself, to_chars prefers 1e+05 to 100000.
  const double size = std::abs(value);
  const bool is_fixed = size == 0 || (size >= 1e-5 && size < 1e15);
  std::array<char, 64> buffer;
  const auto result =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                    is_fixed ? std::chars_format::fixed : std::chars_format::scientific);
  std::string text(buffer.data(), result.ptr);
  // YAML 1.1 wants a point in a floating-point number, even before an exponent.
  if (text.find('.') == std::string::npos) {
    const size_t exponent = text.find('e');
    text.insert(exponent == std::string::npos ? text.size() : exponent, ".0");
  }
  return text;
}

}  // namespace lockstep::yaml
