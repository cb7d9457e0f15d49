#include "doctor/secret_pairs.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/strings.h"
#include "doctor/redact_text.h"

namespace lockstep::doctor {

namespace {

// How far to search for the end of a quoted value or of a list.
constexpr size_t farthest = 64 << 10;

bool is_key_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_of_key(char c) {
  return is_key_letter(c) || is_digit(c) || c == '_' || c == '-' || c == '.';
}
bool is_space(char c) { return c == ' ' || c == '\t'; }
bool is_break(char c) { return c == '\n' || c == '\r'; }
bool is_quote(char c) { return c == '"' || c == '\''; }

template <size_t size>
bool is_among(const std::array<std::string_view, size>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// "dbPass", "DB_PASS", "db-pass": a part of it is "pass".
bool has_secret_part(std::string_view key) {
  constexpr std::array<std::string_view, 14> parts = {
      "pass",    "pwd", "pw",    "auth", "sig",    "signature", "cookie",
      "session", "jwt", "creds", "cred", "bearer", "salt",      "psk"};
  std::string part;
  char before = '\0';
  for (char c : key) {
    const bool is_upper = c >= 'A' && c <= 'Z';
    const bool begins = is_upper && before >= 'a' && before <= 'z';
    if (begins || !is_key_letter(c)) {
      if (is_among(parts, part)) return true;
      part.clear();
    }
    if (is_key_letter(c)) part += is_upper ? static_cast<char>(c - 'A' + 'a') : c;
    before = c;
  }
  return is_among(parts, part);
}

// Keys whose lists and maps are secret as a whole, whatever their own keys are called.
bool holds_secrets(std::string_view key) {
  constexpr std::array<std::string_view, 8> keys = {"headers", "httpheaders", "auths", "stringdata",
                                                    "env",     "environment", "args",  "command"};
  return is_among(keys, lower(key));
}

// Of a map of name and value, the name of which may say anything.
bool is_value_key(std::string_view key) { return key == "value" || key == "Value"; }

// One pass over a string, from its beginning to its end.
class Pairs {
 public:
  explicit Pairs(std::string_view text) : text_(text) {}

  std::string read() {
    while (at_ < text_.size()) {
      if (!is_of_key(text_[at_])) {
        out_ += text_[at_];
        if (is_break(text_[at_])) line_ = at_ + 1;
        ++at_;
        continue;
      }
      size_t end = at_;
      while (end < text_.size() && is_of_key(text_[end])) ++end;
      const std::string_view key = text_.substr(at_, end - at_);
      out_ += key;
      key_begin_ = at_;
      at_ = end;
      take_value(key);
      before_ = key;
    }
    return std::move(out_);
  }

 private:
  char peek(size_t at) const { return at < text_.size() ? text_[at] : '\0'; }
  size_t over(size_t at, bool (*test)(char)) const {
    while (at < text_.size() && test(text_[at])) ++at;
    return at;
  }

  // "private key": two words.
  bool is_two_words(std::string_view key) const {
    constexpr std::array<std::string_view, 5> first = {"api", "access", "private", "signing",
                                                       "encryption"};
    return key_begin_ > 0 && text_[key_begin_ - 1] == ' ' && lower(key) == "key" &&
           is_among(first, lower(before_));
  }

  void take_value(std::string_view key) {
    const bool secret = is_secret_key(key) || is_two_words(key);
    const bool group = holds_secrets(key);
    const bool value = is_value_key(key);
    if (!secret && !group && !value) return;
    // The quote after the key, with the backslashes of a string inside a string.
    size_t at = at_;
    while (peek(at) == '\\' || is_quote(peek(at)) || peek(at) == ']') ++at;
    const bool quoted = at > at_;
    at = over(at, is_space);
    const char sign = peek(at);
    if (sign == '=' || sign == ':') {
      ++at;
      while (peek(at) == '=' || peek(at) == '>') ++at;
      at = over(at, is_space);
      if (at >= text_.size()) return;
      const size_t end = end_of_value(at, sign, quoted, group && !secret);
      if (value && !secret && is_plain_value(text_.substr(at, end - at))) return;
      return remove(at, end);
    }
    if (secret && key.starts_with("-")) return take_argument();
    if (secret && is_password(key)) take_prose();
  }

  // "--token", "x": the next word, whatever quotes and commas are between.
  void take_argument() {
    size_t at = at_;
    while (at < text_.size() &&
           (is_space(text_[at]) || is_quote(text_[at]) || text_[at] == ',' || text_[at] == '\\'))
      ++at;
    if (at == at_) return;
    const char before = text_[at - 1];
    const size_t end = is_quote(before) ? end_of_quoted(at - 1) : end_of_word(at);
    remove(at, is_quote(before) && end > at ? end - 1 : end);
  }

  static bool is_password(std::string_view key) {
    const std::string small = lower(key);
    return small.starts_with("passw") || small.starts_with("passphrase");
  }

  // "password x", "password is x", "password 'x y'".
  void take_prose() {
    size_t at = over(at_, is_space);
    if (at == at_) return;
    for (std::string_view word : {std::string_view("is "), std::string_view("was ")}) {
      if (text_.substr(at, word.size()) == word) at = over(at + word.size(), is_space);
    }
    remove(at, is_quote(peek(at)) ? end_of_quoted(at) : end_of_word(at));
  }

  size_t end_of_value(size_t at, char sign, bool quoted, bool groups_only) const {
    const char first = peek(at);
    if (first == '[' || first == '{') return end_of_group(at);
    if (sign == ':' && (is_break(first) || is_block_mark(at))) {
      return end_of_block(at);
    }
    if (groups_only) return at;
    size_t mark = at;
    while (peek(mark) == '\\') ++mark;
    if (is_quote(peek(mark))) {
      const size_t end = end_of_quoted(at);
      // "a"b is one word in a shell, and the rest of a line in YAML.
      if (sign == '=') return end_of_word(end);
      return quoted ? end : end_of_line(end);
    }
    if (sign == '=') return end_of_word(at);
    return quoted ? end_of_scalar(at) : end_of_line(at);
  }

  // Behind a quoted key: a number, or what begins without a quote.
  size_t end_of_scalar(size_t at) const {
    while (at < text_.size() && text_[at] != ',' && text_[at] != '}' && !is_break(text_[at])) ++at;
    return at;
  }

  // To the end of the line or of the text that is quoted around it.
  size_t end_of_line(size_t at) const {
    for (; at < text_.size() && !is_break(text_[at]); ++at) {
      if (text_[at] != '"' && text_[at] != '\\') continue;
      if (text_[at] == '\\' && peek(at + 1) != '"') continue;
      const char next = text_[at] == '"' ? peek(at + 1) : peek(at + 2);
      if (next == '\0' || next == ',' || next == '}' || next == ']' || is_break(next)) return at;
    }
    return at;
  }

  size_t end_of_word(size_t at) const {
    while (at < text_.size() && !is_space(text_[at]) && !is_break(text_[at])) ++at;
    return at;
  }

  // For a string that begins with a quote after any number of backslashes: it ends with as many.
  size_t end_of_quoted(size_t at) const {
    size_t slashes = 0;
    while (peek(at + slashes) == '\\') ++slashes;
    const char quote = peek(at + slashes);
    const size_t begin = at + slashes + 1;
    const size_t last = std::min(text_.size(), begin + farthest);
    size_t run = 0;
    for (size_t i = begin; i < last; ++i) {
      if (text_[i] == quote && run == slashes) return i + 1;
      run = text_[i] == '\\' ? run + 1 : 0;
      // Without backslashes around it, a backslash takes away what a quote means.
      if (slashes == 0 && run == 2) run = 0;
    }
    const size_t line = over_line(begin);
    return last == text_.size() ? line : last;
  }

  size_t over_line(size_t at) const {
    while (at < text_.size() && !is_break(text_[at])) ++at;
    return at;
  }

  // To the bracket that closes it; what is in quotes does not count.
  size_t end_of_group(size_t at) const {
    const size_t last = std::min(text_.size(), at + farthest);
    int depth = 0;
    for (; at < last; ++at) {
      const char c = text_[at];
      if (c == '"') {
        const size_t end = end_of_quoted(at);
        at = end - 1;
        continue;
      }
      if (c == '[' || c == '{') ++depth;
      if ((c == ']' || c == '}') && --depth == 0) return at + 1;
    }
    return std::min(at, text_.size());
  }

  // "|", ">-", "|2": what follows is on the next lines.
  bool is_block_mark(size_t at) const {
    if (peek(at) != '|' && peek(at) != '>') return false;
    size_t end = at + 1;
    while (peek(end) == '+' || peek(end) == '-' || is_digit(peek(end))) ++end;
    return is_break(peek(over(end, is_space)));
  }

  // The lines that are indented more than the key's, and the items of a list beside it.
  size_t end_of_block(size_t at) const {
    const size_t key = key_begin_ - line_;
    size_t end = over_line(at);
    while (end < text_.size()) {
      size_t begin = end;
      while (begin < text_.size() && is_break(text_[begin])) ++begin;
      const size_t word = over(begin, is_space);
      const bool item = word - begin >= indent() && peek(word) == '-' && is_space(peek(word + 1));
      if (begin >= text_.size() || (word - begin <= key && !item)) break;
      end = over_line(word);
    }
    return end;
  }
  size_t indent() const { return over(line_, is_space) - line_; }

  static bool is_plain_value(std::string_view value) {
    return value == "true" || value == "false" || value == "null" ||
           (!value.empty() && value.size() <= 12 &&
            std::all_of(value.begin(), value.end(),
                        [](char c) { return is_digit(c) || c == '.' || c == '-'; }));
  }

  // Nothing but what was put there before.
  static bool is_removed(std::string_view value) {
    return value.starts_with(removed) &&
           value.find_first_not_of(" \t,.;:)]}\"'", removed.size()) == std::string_view::npos;
  }

  void remove(size_t begin, size_t end) {
    const std::string_view value = text_.substr(begin, end - begin);
    if (value.empty() || value == "true" || value == "false" || value == "null" ||
        value == "\"\"" || is_removed(value))
      return;
    // A block keeps the break before its lines, so that no line is lost to the next key.
    out_ += text_.substr(at_, begin - at_);
    out_ += removed;
    if (const size_t line = value.rfind('\n'); line != std::string_view::npos)
      line_ = begin + line + 1;
    at_ = end;
  }

  std::string_view text_;
  std::string out_;
  std::string_view before_;
  size_t at_ = 0;
  size_t line_ = 0;  // where it begins
  size_t key_begin_ = 0;
};

}  // namespace

bool is_secret_key(std::string_view key) {
  const std::string small = lower(key);
  for (std::string_view end :
       {"name", "ref", "seconds", "path", "policy", "kind", "reason", "count", "namespace"}) {
    if (small.ends_with(end)) return false;
  }
  constexpr std::array<std::string_view, 18> words = {
      "passw",        "passphrase", "token",       "secret",      "apikey",     "api-key",
      "api_key",      "privatekey", "private_key", "private-key", "credential", "authorization",
      "dockerconfig", "accesskey",  "access_key",  "access-key",  "x-amz-",     "signature"};
  return std::any_of(
             words.begin(), words.end(),
             [&](std::string_view word) { return small.find(word) != std::string::npos; }) ||
         has_secret_part(key);
}

std::string without_secret_pairs(std::string_view text) { return Pairs(text).read(); }

}  // namespace lockstep::doctor
