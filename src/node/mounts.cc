#include "node/mounts.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"

namespace lockstep::node {

namespace {

bool is_octal(char c) { return c >= '0' && c <= '7'; }

// Spaces, tabs, line ends and backslashes are written as \040 and the like.
std::string unescape(std::string_view text) {
  constexpr size_t escape_length = 4;
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    bool is_escape = text[i] == '\\' && i + escape_length <= text.size() && is_octal(text[i + 1]) &&
                     is_octal(text[i + 2]) && is_octal(text[i + 3]);
    if (!is_escape) {
      plain += text[i];
      continue;
    }
    int code = (text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0');
    plain += static_cast<char>(code);
    i += escape_length - 1;
  }
  return plain;
}

}  // namespace

Result<std::vector<std::string>> parse_mount_targets(std::string_view mountinfo) {
  std::vector<std::string> targets;
  int number = 0;
  for (std::string_view line : split(mountinfo, '\n')) {
    ++number;
    if (trim(line).empty()) continue;
    // id, parent, device, root, target, …
    constexpr size_t target_at = 4;
    auto words = split(line, ' ');
    if (words.size() <= target_at || words[target_at].empty() || words[target_at][0] != '/') {
      return fail(ErrorKind::invalid, "not a mount", fmt::format("line {}", number));
    }
    targets.push_back(unescape(words[target_at]));
  }
  return targets;
}

std::vector<std::string> mounts_under(const std::vector<std::string>& targets,
                                      std::string_view root) {
  std::vector<std::string> found;
  std::string below = std::string(root) + "/";
  for (const auto& target : targets) {
    if (target == root || target.starts_with(below)) found.push_back(target);
  }
  std::reverse(found.begin(), found.end());
  return found;
}

}  // namespace lockstep::node
