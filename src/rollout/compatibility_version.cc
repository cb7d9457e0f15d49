#include "rollout/compatibility_version.h"

#include <algorithm>

#include "base/strings.h"

namespace lockstep::rollout {

namespace {

uint64_t number_at(const Version& version, size_t index) {
  return index < version.size() ? version[index] : 0;
}

std::strong_ordering compare_first(const Version& a, const Version& b, size_t count) {
  for (size_t index = 0; index < count; ++index) {
    const auto order = number_at(a, index) <=> number_at(b, index);
    if (order != std::strong_ordering::equal) return order;
  }
  return std::strong_ordering::equal;
}

}  // namespace

std::optional<Version> parse_version(std::string_view text) {
  if (text.starts_with('v') || text.starts_with('V')) text.remove_prefix(1);
  text = text.substr(0, text.find_first_of("-+"));
  Version version;
  for (const std::string_view part : split(text, '.')) {
    const auto number = parse_unsigned(part);
    if (!number) return std::nullopt;
    version.push_back(*number);
  }
  return version;
}

std::strong_ordering compare_versions(const Version& a, const Version& b) {
  return compare_first(a, b, std::max(a.size(), b.size()));
}

std::strong_ordering compare_to_bound(const Version& version, const Version& bound) {
  return compare_first(version, bound, bound.size());
}

}  // namespace lockstep::rollout
