#include "apiserver/pattern.h"

#include <boost/regex.hpp>

namespace lockstep::apiserver {

namespace {

constexpr size_t longest_pattern = 16 << 10;

std::string to_perl(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    result += text[i];
    if (text[i] == '\\' && i + 1 < text.size()) {
      result += text[++i];
    } else if (text.substr(i).starts_with("(?P<")) {
      result += "?<";
      i += 3;
    }
  }
  return result;
}

}  // namespace

// Boost's matcher keeps its state on the heap and counts its steps; std::regex recurses and can
// overflow the stack on a long text.
struct Pattern::Compiled {
  boost::regex regex;
};

Pattern::Pattern(std::unique_ptr<Compiled> compiled) : compiled_(std::move(compiled)) {}
Pattern::~Pattern() = default;

Result<std::shared_ptr<const Pattern>> Pattern::compile(std::string_view text) {
  if (text.size() > longest_pattern) return fail(ErrorKind::too_large, "the pattern is too long");
  try {
    auto compiled = std::make_unique<Compiled>();
    compiled->regex = boost::regex(to_perl(text), boost::regex::perl);
    return std::shared_ptr<const Pattern>(new Pattern(std::move(compiled)));
  } catch (const std::exception& error) {
    return fail(ErrorKind::invalid, error.what());
  }
}

bool Pattern::matches(std::string_view text) const {
  try {
    return boost::regex_search(text.begin(), text.end(), compiled_->regex,
                               boost::regex_constants::match_any);
  } catch (const std::exception&) {
    return true;
  }
}

}  // namespace lockstep::apiserver
