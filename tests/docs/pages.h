// Markdown pages: their headings, links and pictures.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::documentation {

struct Link {
  int line = 0;
  std::string target;  // "ROLLOUT.md#rights", "#rights", "status.svg"
  bool is_picture = false;
};

// Links and pictures outside of code, in the order of the page.
std::vector<Link> links_of(std::string_view page);

// The anchors that GitHub makes from the headings: "### Who approves" is "who-approves".
std::set<std::string> anchors_of(std::string_view page);

// Names of pages in text and code, with their anchors: "docs/ROLLOUT.md#rights".
std::vector<Link> mentions_of(std::string_view text);

// The first line of text below the heading of the first level.
std::string opening_of(std::string_view page);

}  // namespace lockstep::documentation
