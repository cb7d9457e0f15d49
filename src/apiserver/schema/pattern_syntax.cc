#include "apiserver/schema/pattern_syntax.h"

#include <algorithm>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "base/strings.h"

namespace lockstep::apiserver {

namespace {

constexpr uint64_t most_repeats = 1000;  // Go's limit, for one repeat and for nested ones together
constexpr size_t most_nested = 1000;     // Go's limit
// Go's is 3 million instructions, which it runs through in linear time.
constexpr uint64_t largest_pattern = 100'000;

Unexpected refuse(std::string_view what, std::string_view where) {
  return failf(ErrorKind::invalid, "error parsing regexp: {}: `{}`", what, where);
}

struct Repeat {
  uint64_t most = 1;  // how many copies are made of what is repeated
  size_t length = 0;  // 0: it is text
};

class Checker {
 public:
  explicit Checker(std::string_view text) : text_(text) {}

  Result<void> run() {
    groups_.push_back({});
    while (at_ < text_.size()) LOCKSTEP_CHECK(take());
    if (groups_.front().size > largest_pattern) return refuse("expression too large", text_);
    return {};
  }

 private:
  // The part of a group read so far: its size when expanded, and how far its repeats nest.
  struct Group {
    uint64_t size = 0;
    uint64_t repeats = 1;
    // Of the last item, to which a repeat applies.
    uint64_t item_size = 0;
    uint64_t item_repeats = 1;
    bool has_item = false;
  };

  std::string_view rest() const { return text_.substr(at_); }

  Result<void> take() {
    switch (text_[at_]) {
      case '\\':
        return take_escape();
      case '[':
        take_class();
        return {};
      case '(':
        return open();
      case ')':
        close();
        return {};
      case '*':
      case '+':
      case '?':
      case '{':
        return take_repeat();
      case '|':
      case '^':
      case '$':
        groups_.back().has_item = false;
        ++at_;
        return {};
      default:
        ++at_;
        add_item(1, 1);
        return {};
    }
  }

  Result<void> take_escape() {
    if (at_ + 1 >= text_.size()) return refuse("trailing backslash at end of expression", "");
    const char c = text_[at_ + 1];
    const bool is_zero = c == '0';
    if ((is_digit(c) && !is_zero) ||
        std::string_view("ghkKRXNZGcueElLUoy<>`'").find(c) != std::string_view::npos) {
      return refuse("invalid escape sequence", text_.substr(at_, 2));
    }
    at_ += 2;
    // "\x{10FFFF}", "\p{Greek}".
    const bool braces = (c == 'x' || c == 'p' || c == 'P') && rest().starts_with('{');
    if (braces) at_ = std::min(text_.find('}', at_), text_.size() - 1) + 1;
    if (c == 'Q') {
      const size_t end = text_.find("\\E", at_);
      add_item(std::min(end, text_.size()) - at_, 1);
      at_ = end == std::string_view::npos ? text_.size() : end + 2;
    } else if (c != 'A' && c != 'z' && c != 'b' && c != 'B') {
      add_item(1, 1);
    }
    return {};
  }

  void take_class() {
    ++at_;
    if (at_ < text_.size() && text_[at_] == '^') ++at_;
    if (at_ < text_.size() && text_[at_] == ']') ++at_;
    while (at_ < text_.size() && text_[at_] != ']') {
      if (rest().starts_with("[:")) {
        const size_t end = text_.find(":]", at_);
        if (end != std::string_view::npos) at_ = end + 1;
      } else if (text_[at_] == '\\') {
        ++at_;
      }
      ++at_;
    }
    at_ = std::min(at_ + 1, text_.size());
    add_item(1, 1);
  }

  Result<void> open() {
    if (groups_.size() > most_nested) return refuse("expression nests too deeply", text_);
    if (rest().starts_with("(?")) {
      // Flags, a name, or neither: "(?:", "(?i)", "(?P<name>", "(?<name>".
      const bool named =
          rest().starts_with("(?P<") ||
          (rest().starts_with("(?<") && !rest().starts_with("(?<=") && !rest().starts_with("(?<!"));
      const size_t end = text_.find_first_not_of("imsU-", at_ + 2);
      if (!named && (end == std::string_view::npos || (text_[end] != ':' && text_[end] != ')'))) {
        return refuse("invalid or unsupported Perl syntax",
                      text_.substr(at_, std::min(end + 1, text_.size()) - at_));
      }
      if (named) {
        at_ = std::min(text_.find('>', at_), text_.size() - 1);
      } else if (text_[end] == ')') {
        at_ = end + 1;
        groups_.back().has_item = false;
        return {};
      } else {
        at_ = end;
      }
    }
    ++at_;
    groups_.push_back({});
    return {};
  }

  void close() {
    ++at_;
    // The compiler says what is wrong with one too many.
    if (groups_.size() == 1) return;
    const Group inner = groups_.back();
    groups_.pop_back();
    add_item(inner.size + 1, inner.repeats);
  }

  void add_item(uint64_t size, uint64_t repeats) {
    Group& group = groups_.back();
    group.size = std::min(group.size + size, largest_pattern + 1);
    group.repeats = std::max(group.repeats, repeats);
    group.item_size = size;
    group.item_repeats = repeats;
    group.has_item = true;
  }

  // "{2}", "{2,}", "{2,5}", each with '?' behind it or not. What is not of this form is text.
  Result<Repeat> read_repeat() const {
    Repeat repeat;
    if (text_[at_] != '{') {
      repeat.length = 1;
      return repeat;
    }
    const size_t end = text_.find('}', at_);
    if (end == std::string_view::npos) return repeat;
    const std::string_view inside = text_.substr(at_ + 1, end - at_ - 1);
    const size_t comma = inside.find(',');
    const auto least = parse_unsigned(inside.substr(0, comma));
    const std::string_view upper =
        comma == std::string_view::npos ? std::string_view() : inside.substr(comma + 1);
    const auto most = upper.empty() ? least : parse_unsigned(upper);
    const bool is_number =
        std::all_of(inside.begin(), inside.end(), [](char c) { return is_digit(c) || c == ','; });
    if (!is_number || inside.empty() || !is_digit(inside.front())) return repeat;
    repeat.length = end + 1 - at_;
    // What does not fit in a number is too many.
    const bool too_many = !least || !most || *least > most_repeats || *most > most_repeats;
    if (too_many || *least > *most) {
      return refuse("invalid repeat count", text_.substr(at_, repeat.length));
    }
    repeat.most = std::max<uint64_t>(*most, 1);
    return repeat;
  }

  Result<void> take_repeat() {
    LOCKSTEP_TRY(Repeat repeat, read_repeat());
    if (repeat.length == 0) {
      ++at_;
      add_item(1, 1);
      return {};
    }
    const std::string_view sign = text_.substr(at_, repeat.length);
    Group& group = groups_.back();
    at_ += repeat.length;
    // The compiler says where there is nothing to repeat.
    if (!group.has_item) return {};
    if (at_ < text_.size() && text_[at_] == '?') ++at_;
    const bool again =
        at_ < text_.size() && (text_[at_] == '*' || text_[at_] == '+' || text_[at_] == '?');
    if (again) {
      return refuse("invalid nested repetition operator", std::string(sign) + text_[at_]);
    }
    const uint64_t repeats = group.item_repeats * repeat.most;
    if (repeats > most_repeats) return refuse("invalid repeat count", sign);
    const uint64_t size = std::min(group.item_size, largest_pattern) * repeat.most;
    group.size =
        std::min(group.size - std::min(group.size, group.item_size) + size, largest_pattern + 1);
    group.repeats = std::max(group.repeats, repeats);
    group.item_size = std::min(size, largest_pattern + 1);
    group.item_repeats = repeats;
    return {};
  }

  std::string_view text_;
  size_t at_ = 0;
  std::vector<Group> groups_;
};

}  // namespace

Result<void> check_go_syntax(std::string_view pattern) { return Checker(pattern).run(); }

}  // namespace lockstep::apiserver
