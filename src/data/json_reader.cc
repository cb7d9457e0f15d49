#include "data/json_reader.h"

#include <charconv>
#include <cstring>

#include "data/json_scan.h"
#include "data/json_text.h"

namespace lockstep {

namespace {

void append_utf8(std::string& out, uint32_t code_point) {
  const auto continuation = [&](int shift) {
    out += static_cast<char>(0x80 | ((code_point >> shift) & 0x3f));
  };
  if (code_point < 0x80) {
    out += static_cast<char>(code_point);
  } else if (code_point < 0x800) {
    out += static_cast<char>(0xc0 | (code_point >> 6));
    continuation(0);
  } else if (code_point < 0x10000) {
    out += static_cast<char>(0xe0 | (code_point >> 12));
    continuation(6);
    continuation(0);
  } else {
    out += static_cast<char>(0xf0 | (code_point >> 18));
    continuation(12);
    continuation(6);
    continuation(0);
  }
}

std::string_view kind_of(char first) {
  switch (first) {
    case '"':
      return "a string";
    case '{':
      return "an object";
    case '[':
      return "an array";
    case 't':
    case 'f':
      return "a boolean";
    case 'n':
      return "null";
    default:
      return first == '-' || is_json_digit(first) ? "a number" : "";
  }
}

}  // namespace

JsonReader::JsonReader(std::string_view bytes, size_t depth_limit)
    : bytes_begin_(bytes.data()),
      at_(bytes.data()),
      bytes_end_(bytes.data() + bytes.size()),
      depth_limit_(depth_limit) {}

// --- Errors ---

const char* JsonReader::fail_at(const char* at, std::string_view problem, ErrorKind kind) {
  if (failed_) return nullptr;
  failed_ = true;
  error_offset_ = static_cast<size_t>(at - bytes_begin_);
  const std::string_view bytes(bytes_begin_, static_cast<size_t>(bytes_end_ - bytes_begin_));
  error_ = Error{kind, std::string(problem), line_and_column(bytes, error_offset_)};
  return nullptr;
}

// A value of another type, or no value at all.
void JsonReader::mismatch(std::string_view wanted) {
  const std::string_view found = kind_of(*at_);
  if (found.empty()) {
    fail_at(at_, "expected a value");
  } else {
    fail_at(at_, fmt::format("expected {}, found {}", wanted, found));
  }
}

// --- Objects and arrays ---

bool JsonReader::to_value() {
  if (failed_) return false;
  at_ = skip_json_space(at_, bytes_end_);
  if (at_ == bytes_end_) fail_at(at_, json_ends_early);
  return !failed_;
}

bool JsonReader::begin(char opening) {
  if (!to_value()) return false;
  if (*at_ == 'n') {
    take_null();
    return false;
  }
  if (*at_ != opening) {
    mismatch(opening == '{' ? "an object" : "an array");
    return false;
  }
  if (depth_ == depth_limit_) {
    fail_at(at_, "the JSON is nested too deeply", ErrorKind::too_large);
    return false;
  }
  ++depth_;
  ++at_;
  return true;
}

// Past the comma, if there is another element.
bool JsonReader::next(bool first, char closing) {
  if (!to_value()) return false;
  if (*at_ == closing) return false;
  if (first) return true;
  if (*at_ != ',') {
    fail_at(at_, closing == '}' ? "expected ',' or '}'" : "expected ',' or ']'");
    return false;
  }
  ++at_;
  return to_value();
}

bool JsonReader::next_field(bool first) {
  if (!next(first, '}')) return false;
  if (*at_ != '"') {
    fail_at(at_, "expected a key in quotes");
    return false;
  }
  const char* after = read_string(at_ + 1, key_, key_buffer_);
  if (after != nullptr) after = skip_colon(after);
  if (after == nullptr) return false;
  at_ = after;
  return true;
}

bool JsonReader::next_item(bool first) { return next(first, ']'); }

void JsonReader::end() {
  if (failed_) return;
  --depth_;
  ++at_;
}

bool JsonReader::at_end() {
  if (failed_) return false;
  at_ = skip_json_space(at_, bytes_end_);
  return at_ == bytes_end_;
}

// --- Scalars ---

bool JsonReader::at_null() { return to_value() && *at_ == 'n'; }

bool JsonReader::take_null() {
  if (*at_ != 'n') return false;
  if (const char* after = skip_word(at_, "null")) at_ = after;
  return true;
}

std::string_view JsonReader::text() {
  if (!to_value() || take_null()) return {};
  if (*at_ != '"') {
    mismatch("a string");
    return {};
  }
  std::string_view text;
  const char* after = read_string(at_ + 1, text, buffer_);
  if (after == nullptr) return {};
  at_ = after;
  return text;
}

int64_t JsonReader::integer() {
  if (!to_value() || take_null()) return 0;
  if (*at_ != '-' && !is_json_digit(*at_)) {
    mismatch("an integer");
    return 0;
  }
  const char* const start = at_;
  const NumberEnd end = end_of_json_number(start, bytes_end_);
  if (end.problem != nullptr) {
    fail_at(end.at, end.problem);
    return 0;
  }
  at_ = end.at;
  if (end.is_integer) {
    int64_t value = 0;
    if (std::from_chars(start, end.at, value).ec == std::errc()) return value;
    fail_at(start, "the integer does not fit in 64 bits");
    return 0;
  }
  const auto number = number_from_json_text({start, static_cast<size_t>(end.at - start)});
  const auto value = number ? integer_of(*number) : std::nullopt;
  if (!value) fail_at(start, "expected an integer, found a number with a fraction");
  return value.value_or(0);
}

double JsonReader::number() {
  if (!to_value() || take_null()) return 0;
  if (*at_ != '-' && !is_json_digit(*at_)) {
    mismatch("a number");
    return 0;
  }
  const char* const start = at_;
  const char* after = skip_number(start);
  if (after == nullptr) return 0;
  at_ = after;
  return number_from_json_text({start, static_cast<size_t>(after - start)}).value_or(0);
}

bool JsonReader::boolean() {
  if (!to_value() || take_null()) return false;
  const bool value = *at_ == 't';
  if (!value && *at_ != 'f') {
    mismatch("a boolean");
    return false;
  }
  const char* after = skip_word(at_, value ? "true" : "false");
  if (after == nullptr) return false;
  at_ = after;
  return value;
}

std::string_view JsonReader::scalar() {
  if (!to_value() || take_null()) return {};
  if (*at_ == '"') return text();
  if (*at_ == '{' || *at_ == '[') {
    mismatch("a string, a number or a boolean");
    return {};
  }
  return raw();
}

// --- Whole values ---

void JsonReader::skip() {
  if (!to_value()) return;
  if (const char* after = skip_value(at_)) at_ = after;
}

std::string_view JsonReader::raw() {
  if (!to_value()) return {};
  const char* const start = at_;
  const char* after = skip_value(start);
  if (after == nullptr) return {};
  at_ = after;
  return {start, static_cast<size_t>(after - start)};
}

Json JsonReader::tree() {
  const std::string_view bytes = raw();
  if (failed_) return {};
  Result<Json> value = parse_json(bytes, {.depth = depth_limit_ - depth_, .bytes = bytes.size()});
  if (value) return std::move(*value);
  fail_at(bytes.data(), value.error().message, value.error().kind);
  return {};
}

const char* JsonReader::skip_value(const char* at) {
  at = skip_json_space(at, bytes_end_);
  if (at == bytes_end_) return fail_at(at, json_ends_early);
  switch (*at) {
    case '"':
      return skip_string(at + 1);
    case '{':
    case '[': {
      if (depth_ == depth_limit_) {
        return fail_at(at, "the JSON is nested too deeply", ErrorKind::too_large);
      }
      ++depth_;
      const char* after = *at == '{' ? skip_object(at + 1) : skip_array(at + 1);
      --depth_;
      return after;
    }
    case 't':
      return skip_word(at, "true");
    case 'f':
      return skip_word(at, "false");
    case 'n':
      return skip_word(at, "null");
    default:
      return skip_number(at);
  }
}

const char* JsonReader::skip_object(const char* at) {
  at = skip_json_space(at, bytes_end_);
  if (at != bytes_end_ && *at == '}') return at + 1;
  while (true) {
    if (at == bytes_end_) return fail_at(at, json_ends_early);
    if (*at != '"') return fail_at(at, "expected a key in quotes");
    if ((at = skip_string(at + 1)) == nullptr) return nullptr;
    if ((at = skip_colon(at)) == nullptr) return nullptr;
    if ((at = skip_value(at)) == nullptr) return nullptr;
    at = skip_json_space(at, bytes_end_);
    if (at == bytes_end_) return fail_at(at, json_ends_early);
    if (*at == '}') return at + 1;
    if (*at != ',') return fail_at(at, "expected ',' or '}'");
    at = skip_json_space(at + 1, bytes_end_);
  }
}

const char* JsonReader::skip_array(const char* at) {
  at = skip_json_space(at, bytes_end_);
  if (at != bytes_end_ && *at == ']') return at + 1;
  while (true) {
    if ((at = skip_value(at)) == nullptr) return nullptr;
    at = skip_json_space(at, bytes_end_);
    if (at == bytes_end_) return fail_at(at, json_ends_early);
    if (*at == ']') return at + 1;
    if (*at != ',') return fail_at(at, "expected ',' or ']'");
    ++at;
  }
}

const char* JsonReader::skip_colon(const char* at) {
  at = skip_json_space(at, bytes_end_);
  if (at == bytes_end_) return fail_at(at, json_ends_early);
  if (*at != ':') return fail_at(at, "expected ':'");
  return at + 1;
}

const char* JsonReader::skip_string(const char* at) {
  at = find_special(at, bytes_end_);
  if (at != bytes_end_ && *at == '"') return at + 1;
  return skip_string_specials(at);
}

// Goes on from the first byte that is not plain text.
const char* JsonReader::skip_string_specials(const char* at) {
  for (;; at = find_special(at, bytes_end_)) {
    if (at == bytes_end_) return fail_at(at, json_ends_early);
    if (*at == '"') return at + 1;
    if (*at == '\\') {
      const EscapeEnd escape = read_json_escape(at + 1, bytes_end_);
      if (escape.problem != nullptr) return fail_at(escape.at, escape.problem);
      at = escape.at;
    } else if (static_cast<unsigned char>(*at) >= 0x80) {
      const char* after = end_of_utf8_sequence(at, bytes_end_);
      if (after == nullptr) return fail_at(at, "not valid UTF-8");
      at = after;
    } else {
      return fail_at(at, "a control character in a string");
    }
  }
}

// The common string has no escape and is a view of the bytes.
const char* JsonReader::read_string(const char* at, std::string_view& text, std::string& buffer) {
  const char* const after = skip_string(at);
  if (after == nullptr) return nullptr;
  text = std::string_view(at, static_cast<size_t>(after - 1 - at));
  const void* backslash = std::memchr(at, '\\', text.size());
  if (backslash == nullptr) return after;
  buffer.clear();
  while (backslash != nullptr) {
    const char* plain_end = static_cast<const char*>(backslash);
    buffer.append(at, plain_end);
    const EscapeEnd escape = read_json_escape(plain_end + 1, after);
    append_utf8(buffer, escape.code_point);
    at = escape.at;
    backslash = std::memchr(at, '\\', static_cast<size_t>(after - 1 - at));
  }
  buffer.append(at, after - 1);
  text = buffer;
  return after;
}

const char* JsonReader::skip_word(const char* at, std::string_view word) {
  for (const char wanted : word) {
    if (at == bytes_end_) return fail_at(at, json_ends_early);
    if (*at != wanted) return fail_at(at, fmt::format("expected '{}'", word));
    ++at;
  }
  return at;
}

const char* JsonReader::skip_number(const char* at) {
  if (*at != '-' && !is_json_digit(*at)) return fail_at(at, "expected a value");
  const NumberEnd end = end_of_json_number(at, bytes_end_);
  return end.problem == nullptr ? end.at : fail_at(end.at, end.problem);
}

}  // namespace lockstep
