#include "apiserver/schema/pattern.h"

// Of the matcher's steps: a pattern may backtrack without end, and a value is checked on every
// write.
#define BOOST_REGEX_MAX_STATE_COUNT 2000000
#include <boost/regex.hpp>

#include "apiserver/schema/pattern_syntax.h"

namespace lockstep::apiserver {

namespace {

constexpr size_t longest_pattern = 16 << 10;

// Where Go and Perl read the same text differently, writes what Go means.
class Translator {
 public:
  explicit Translator(std::string_view text) : text_(text) {}

  std::string run() {
    while (at_ < text_.size()) {
      if (text_[at_] == '[') {
        take_class();
      } else if (text_.substr(at_).starts_with("(?P<")) {
        result_ += "(?<";
        at_ += 4;
      } else {
        take_one();
      }
    }
    return std::move(result_);
  }

 private:
  bool is_next(char c, size_t ahead = 0) const {
    return at_ + ahead < text_.size() && text_[at_ + ahead] == c;
  }

  // One character, or an escape of two.
  void take_one() {
    if (is_next('\\') && at_ + 1 < text_.size()) result_ += text_[at_++];
    result_ += text_[at_++];
  }

  // In a class, Go takes a dash that is not between two characters literally: [a-z-.].
  void take_class() {
    take_one();
    if (is_next('^')) take_one();
    if (is_next(']')) take_one();
    while (at_ < text_.size() && !is_next(']')) {
      if (is_next('[') && is_next(':', 1)) {
        size_t end = text_.find(":]", at_);
        size_t length = end == std::string_view::npos ? text_.size() - at_ : end + 2 - at_;
        result_ += text_.substr(at_, length);
        at_ += length;
        continue;
      }
      if (is_next('-')) result_ += '\\';
      bool is_set = is_next('\\') && at_ + 1 < text_.size() &&
                    std::string_view("dDsSwWpP").find(text_[at_ + 1]) != std::string_view::npos;
      take_one();
      if (is_set) continue;
      if (!is_next('-') || is_next(']', 1) || at_ + 1 >= text_.size()) continue;
      take_one();
      take_one();
    }
    if (at_ < text_.size()) take_one();
  }

  std::string_view text_;
  size_t at_ = 0;
  std::string result_;
};

// Boost knows Unicode's classes only with ICU.
bool has_unicode_class(std::string_view text) {
  return text.find("\\p") != std::string_view::npos || text.find("\\P") != std::string_view::npos;
}

}  // namespace

// Boost's matcher keeps its state on the heap and counts its steps; std::regex recurses and can
// overflow the stack on a long text.
struct Pattern::Compiled {
  boost::regex regex;
  bool is_checked = true;
};

Pattern::Pattern(std::unique_ptr<Compiled> compiled) : compiled_(std::move(compiled)) {}
Pattern::~Pattern() = default;

Result<std::shared_ptr<const Pattern>> Pattern::compile(std::string_view text) {
  if (text.size() > longest_pattern) return fail(ErrorKind::too_large, "the pattern is too long");
  LOCKSTEP_CHECK(check_go_syntax(text));
  auto compiled = std::make_unique<Compiled>();
  try {
    compiled->regex = boost::regex(Translator(text).run(), boost::regex::perl);
  } catch (const std::exception& error) {
    if (!has_unicode_class(text)) return fail(ErrorKind::invalid, error.what());
    compiled->is_checked = false;
  }
  return std::shared_ptr<const Pattern>(new Pattern(std::move(compiled)));
}

bool Pattern::matches(std::string_view text) const {
  if (!compiled_->is_checked) return true;
  try {
    return boost::regex_search(text.begin(), text.end(), compiled_->regex,
                               boost::regex_constants::match_any);
  } catch (const std::exception&) {
    return true;
  }
}

}  // namespace lockstep::apiserver
