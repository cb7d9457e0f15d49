// Versions as drivers, CUDA, operators and Kubernetes have them: numbers between dots, compared
// number by number. 570.26 is older than 570.124.06, which no comparison of texts or decimals sees.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace lockstep::rollout {

using Version = std::vector<uint64_t>;

// "580.65.06", "v24.9.0", "1.33.5-eks-3025e55": a leading "v" and what follows "-" or "+" do not
// count. Nothing for an invalid version.
std::optional<Version> parse_version(std::string_view text);

// Numbers that are missing are zero.
std::strong_ordering compare_versions(const Version& a, const Version& b);

// At the precision of `bound`: 1.31.4 is not above 1.31.
std::strong_ordering compare_to_bound(const Version& version, const Version& bound);

}  // namespace lockstep::rollout
