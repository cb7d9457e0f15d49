#include "deploy/template_words.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"

namespace lockstep::deploy {

namespace {

constexpr std::string_view white = " \t\r\n";

void trim_end(std::string& text) { text.erase(text.find_last_not_of(white) + 1); }

std::string_view without_leading_white(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of(white), text.size()));
}

bool is_white(char c) { return white.find(c) != std::string_view::npos; }

// A string in quotes may contain braces; a comment may contain anything.
size_t end_of_action(std::string_view text, size_t begin) {
  std::string_view rest = without_leading_white(text.substr(begin));
  if (rest.starts_with("/*")) {
    size_t comment = text.find("*/", begin);
    return comment == std::string_view::npos ? comment : text.find("}}", comment);
  }
  bool quoted = false;
  for (size_t i = begin; i + 1 < text.size(); ++i) {
    if (text[i] == '"') quoted = !quoted;
    if (quoted && text[i] == '\\') ++i;
    if (!quoted && text.substr(i, 2) == "}}") return i;
  }
  return std::string_view::npos;
}

}  // namespace

Result<std::vector<TemplatePiece>> split_template(std::string_view text, const std::string& name) {
  std::vector<TemplatePiece> pieces;
  size_t at = 0;
  bool trim_next = false;
  auto line_of = [&](size_t position) {
    return 1 + static_cast<int>(std::count(text.begin(), text.begin() + position, '\n'));
  };
  while (at <= text.size()) {
    size_t open = std::min(text.find("{{", at), text.size());
    std::string before(text.substr(at, open - at));
    if (trim_next) before = without_leading_white(before);
    if (open == text.size()) {
      if (!before.empty()) pieces.push_back({false, std::move(before), line_of(at)});
      return pieces;
    }
    size_t begin = open + 2;
    bool trims_before =
        text.substr(begin, 1) == "-" && begin + 1 < text.size() && is_white(text[begin + 1]);
    if (trims_before) {
      trim_end(before);
      ++begin;
    }
    size_t close = end_of_action(text, begin);
    if (close == std::string_view::npos) {
      return fail(ErrorKind::invalid, "missing }}", fmt::format("{}:{}", name, line_of(open)));
    }
    std::string_view action = text.substr(begin, close - begin);
    trim_next = action.ends_with("-") && action.size() > 1 && is_white(action[action.size() - 2]);
    if (trim_next) action.remove_suffix(1);
    action = trim(action);
    if (!before.empty()) pieces.push_back({false, std::move(before), line_of(at)});
    bool is_comment = action.starts_with("/*") && action.ends_with("*/");
    if (!is_comment) pieces.push_back({true, std::string(action), line_of(open)});
    at = close + 2;
  }
  return pieces;
}

Result<std::vector<std::string>> split_action(std::string_view action) {
  std::vector<std::string> words;
  size_t at = 0;
  while (at < action.size()) {
    char c = action[at];
    if (is_white(c)) {
      ++at;
      continue;
    }
    size_t end = at + 1;
    if (c == '"') {
      while (end < action.size() && action[end] != '"') end += action[end] == '\\' ? 2 : 1;
      if (end >= action.size()) return failf(ErrorKind::invalid, "a string has no end");
      ++end;
    } else if (std::string_view("()|").find(c) == std::string_view::npos) {
      end = std::min(action.find_first_of(" \t\r\n()|\"", at), action.size());
    }
    words.emplace_back(action.substr(at, end - at));
    at = end;
  }
  return words;
}

}  // namespace lockstep::deploy
