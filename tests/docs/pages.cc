#include "pages.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <regex>

namespace lockstep::documentation {

namespace {

template <typename Visit>
void each_line_of(std::string_view text, Visit visit) {
  int number = 0;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = std::min(text.find('\n', begin), text.size());
    visit(++number, std::string(text.substr(begin, end - begin)));
    begin = end + 1;
  }
}

// Lines that are not code: neither fenced nor indented by four spaces below a blank line.
template <typename Visit>
void each_text_line(std::string_view page, Visit visit) {
  bool is_fenced = false;
  bool is_code = false;
  bool after_blank = true;
  each_line_of(page, [&](int number, const std::string& line) {
    if (line.rfind("```", 0) == 0) {
      is_fenced = !is_fenced;
      return;
    }
    bool is_indented = line.rfind("    ", 0) == 0;
    if (line.find_first_not_of(' ') == std::string::npos) {
      after_blank = true;
      return;
    }
    is_code = is_indented && (after_blank || is_code);
    after_blank = false;
    if (!is_fenced && !is_code) visit(number, line);
  });
}

std::string without_spans(const std::string& line) {
  static const std::regex span("`[^`]*`");
  return std::regex_replace(line, span, "");
}

std::string anchor_of(const std::string& heading) {
  std::string anchor;
  for (char c : heading) {
    auto byte = static_cast<unsigned char>(c);
    if (c == ' ') anchor += '-';
    if (std::isalnum(byte) || c == '-' || c == '_' || byte >= 0x80) {
      anchor += static_cast<char>(std::tolower(byte));
    }
  }
  return anchor;
}

}  // namespace

std::vector<Link> links_of(std::string_view page) {
  static const std::regex link(R"((!?)\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^)\s]+)\))");
  std::vector<Link> links;
  each_text_line(page, [&](int number, const std::string& line) {
    const std::string text = without_spans(line);
    for (std::sregex_iterator at(text.begin(), text.end(), link), end; at != end; ++at) {
      links.push_back({number, (*at)[2].str(), (*at)[1].length() > 0});
    }
  });
  return links;
}

std::set<std::string> anchors_of(std::string_view page) {
  static const std::regex heading("^#{1,6} +(.*?) *$");
  static const std::regex marks("[`*]|\\]\\([^)]*\\)|\\[");
  std::set<std::string> anchors;
  std::map<std::string, int> seen;
  each_text_line(page, [&](int, const std::string& line) {
    std::smatch match;
    if (!std::regex_match(line, match, heading)) return;
    std::string anchor = anchor_of(std::regex_replace(match[1].str(), marks, ""));
    int before = seen[anchor]++;
    anchors.insert(before == 0 ? anchor : anchor + "-" + std::to_string(before));
  });
  return anchors;
}

std::vector<Link> mentions_of(std::string_view text) {
  static const std::regex page(R"((docs/[A-Z][A-Z0-9-]*\.md(?:#[a-z0-9_-]+)?))");
  std::vector<Link> found;
  each_line_of(text, [&](int number, const std::string& line) {
    if (line.find("docs/") == std::string::npos) return;
    for (std::sregex_iterator at(line.begin(), line.end(), page), end; at != end; ++at) {
      found.push_back({number, (*at)[1].str(), false});
    }
  });
  return found;
}

std::string opening_of(std::string_view page) {
  std::string opening;
  bool below_heading = false;
  each_text_line(page, [&](int, const std::string& line) {
    if (line.rfind("# ", 0) == 0) {
      below_heading = true;
    } else if (below_heading && opening.empty()) {
      opening = line;
    }
  });
  return opening;
}

}  // namespace lockstep::documentation
