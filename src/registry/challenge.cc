#include "registry/challenge.h"

#include <utility>

#include "base/strings.h"

namespace lockstep::registry {

namespace {

void skip(std::string_view& text, std::string_view what) {
  text.remove_prefix(std::min(text.find_first_not_of(what), text.size()));
}

std::string_view take_word(std::string_view& text) {
  const std::string_view word = text.substr(0, text.find_first_of(" \t,="));
  text.remove_prefix(word.size());
  return word;
}

std::string take_value(std::string_view& text) {
  if (!text.starts_with('"')) {
    const std::string_view value = text.substr(0, text.find_first_of(" \t,"));
    text.remove_prefix(value.size());
    return std::string(value);
  }
  std::string value;
  size_t i = 1;
  for (; i < text.size() && text[i] != '"'; ++i) {
    if (text[i] == '\\' && i + 1 < text.size()) ++i;
    value += text[i];
  }
  text.remove_prefix(std::min(i + 1, text.size()));
  return value;
}

}  // namespace

std::string Challenge::parameter(const std::string& name) const {
  const auto found = parameters.find(name);
  return found == parameters.end() ? "" : found->second;
}

std::vector<Challenge> parse_challenges(std::string_view header) {
  std::vector<Challenge> challenges;
  for (;;) {
    skip(header, " \t,=");
    if (header.empty()) return challenges;
    const std::string word = lower(take_word(header));
    skip(header, " \t");
    if (!header.starts_with('=')) {
      challenges.push_back({word, {}});
      continue;
    }
    header.remove_prefix(1);
    skip(header, " \t");
    std::string value = take_value(header);
    if (!challenges.empty()) challenges.back().parameters[word] = std::move(value);
  }
}

}  // namespace lockstep::registry
