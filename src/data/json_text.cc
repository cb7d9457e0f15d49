#include "data/json_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "data/json_scan.h"

namespace lockstep {

namespace {

template <typename Integer>
void append_integer(std::string& out, Integer value) {
  char digits[24];
  auto [end, problem] = std::to_chars(digits, digits + sizeof digits, value);
  out.append(digits, end);
}

void append_double(std::string& out, double value) {
  if (!std::isfinite(value)) {
    out += "null";
    return;
  }
  const double size = std::fabs(value);
  const bool plain = size == 0 || (size >= 1e-6 && size < 1e21);
  char digits[64];
  auto [end, problem] =
      std::to_chars(digits, digits + sizeof digits, value,
                    plain ? std::chars_format::fixed : std::chars_format::scientific);
  out.append(digits, end);
}

void append_escape(std::string& out, char c) {
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\b':
      out += "\\b";
      return;
    case '\f':
      out += "\\f";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default: {
      constexpr char hex[] = "0123456789abcdef";
      out += "\\u00";
      out += hex[(c >> 4) & 15];
      out += hex[c & 15];
    }
  }
}

// Without sign and leading zeros. More than nine of them are an error with Boost's parser as well,
// if a little later, so that readers agree.
std::string_view exponent_digits(std::string_view number) {
  const size_t mark = number.find_first_of("eE");
  if (mark == std::string_view::npos) return {};
  const std::string_view exponent = number.substr(mark + 1);
  return exponent.substr(std::min(exponent.find_first_not_of("+-0"), exponent.size()));
}

bool is_above_one(std::string_view number) {
  const size_t mark = std::min(number.find_first_of("eE"), number.size());
  const std::string_view mantissa = number.substr(0, mark);
  const auto point = static_cast<int64_t>(std::min(mantissa.find('.'), mantissa.size()));
  const auto first =
      static_cast<int64_t>(std::min(mantissa.find_first_not_of("-0."), mantissa.size()));
  int64_t exponent = 0;
  const std::string_view digits = exponent_digits(number);
  std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
  const bool negative = number.substr(mark).find('-') != std::string_view::npos;
  return point - first + (negative ? -exponent : exponent) > 0;
}

// `indent` is the number of spaces before the value's own line, or negative to print on one line.
void append_json(std::string& out, const Json& value, int indent);

void break_line(std::string& out, int indent) {
  if (indent < 0) return;
  out += '\n';
  out.append(static_cast<size_t>(indent), ' ');
}

int inner(int indent) { return indent < 0 ? indent : indent + 2; }

void append_array(std::string& out, const JsonArray& array, int indent) {
  out += '[';
  bool first = true;
  for (const Json& item : array) {
    if (!first) out += ',';
    first = false;
    break_line(out, inner(indent));
    append_json(out, item, inner(indent));
  }
  if (!array.empty()) break_line(out, indent);
  out += ']';
}

void append_object(std::string& out, const JsonObject& object, int indent) {
  out += '{';
  bool first = true;
  for (const auto& [key, value] : object) {
    if (!first) out += ',';
    first = false;
    break_line(out, inner(indent));
    append_json_string(out, key);
    out += indent < 0 ? ":" : ": ";
    append_json(out, value, inner(indent));
  }
  if (!object.empty()) break_line(out, indent);
  out += '}';
}

void append_json(std::string& out, const Json& value, int indent) {
  switch (value.kind()) {
    case JsonKind::null:
      out += "null";
      return;
    case JsonKind::bool_:
      out += value.get_bool() ? "true" : "false";
      return;
    case JsonKind::string:
      return append_json_string(out, value.get_string());
    case JsonKind::array:
      return append_array(out, value.get_array(), indent);
    case JsonKind::object:
      return append_object(out, value.get_object(), indent);
    default:
      return append_json_number(out, value);
  }
}

}  // namespace

std::string line_and_column(std::string_view text, size_t offset) {
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const size_t line_start = before.rfind('\n') + 1;  // npos + 1 is zero: the first line
  return fmt::format("{}:{}", line, before.size() - line_start + 1);
}

std::optional<double> number_from_json_text(std::string_view digits) {
  if (exponent_digits(digits).size() > 9) return std::nullopt;
  double value = 0;
  auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (problem == std::errc() && std::isfinite(value)) return value;
  // Out of range is either too large or too near to zero, and from_chars does not say which.
  if (is_above_one(digits)) return std::nullopt;
  return digits.front() == '-' ? -0.0 : 0.0;
}

std::optional<int64_t> integer_of(double value) {
  constexpr double limit = 9223372036854775808.0;  // 2^63
  if (!(value >= -limit && value < limit) || std::trunc(value) != value) return std::nullopt;
  return static_cast<int64_t>(value);
}

std::optional<int64_t> integer_of(const Json& value) {
  if (value.is_int64()) return value.get_int64();
  if (value.is_uint64()) {
    if (value.get_uint64() > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      return std::nullopt;
    }
    return static_cast<int64_t>(value.get_uint64());
  }
  if (value.is_double()) return integer_of(value.get_double());
  return std::nullopt;
}

void append_json_number(std::string& out, const Json& number) {
  if (number.is_int64()) return append_integer(out, number.get_int64());
  if (number.is_uint64()) return append_integer(out, number.get_uint64());
  append_double(out, number.get_double());
}

void append_json_string(std::string& out, std::string_view text) {
  const char* at = text.data();
  const char* const end = at + text.size();
  out += '"';
  while (true) {
    const char* special = find_special<true>(at, end);
    out.append(at, special);
    if (special == end) break;
    append_escape(out, *special);
    at = special + 1;
  }
  out += '"';
}

std::string print_json(const Json& value) {
  std::string out;
  append_json(out, value, -1);
  return out;
}

std::string print_json_pretty(const Json& value) {
  std::string out;
  append_json(out, value, 0);
  return out;
}

}  // namespace lockstep
