// The matrix of the source document, with a comment and a key that a user added.
#pragma once

#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/strings.h"

namespace lockstep::rollout {

inline const std::string seed_matrix = R"(# gpu-version-matrix.yaml (stored in Git)
versions:
  current:
    gpu_operator: "v24.9.0"
    network_operator: "v24.7.0"
    driver: "560.35.03"  # since January
    cuda: "12.6"
    firmware: "28.40.1000"
    sriov: "4.18.0"
    openshift: "4.16.23"
    status: "production"
  canary:
    gpu_operator: "v24.12.0"
    network_operator: "v24.10.0"
    driver: "565.57.01"
    cuda: "12.8"
    firmware: "28.42.1000"
    sriov: "4.18.0"
    openshift: "4.16.23"
    status: "testing"
owner: platform-team
)";

// What a diff of two texts with as many lines shows, "-" and "+".
inline std::string changed_lines(const std::string& before, const std::string& after) {
  const auto old_lines = split(before, '\n');
  const auto new_lines = split(after, '\n');
  if (old_lines.size() != new_lines.size()) return "not as many lines:\n" + after;
  std::string out;
  std::string added;
  for (size_t index = 0; index < old_lines.size(); ++index) {
    if (old_lines[index] == new_lines[index]) {
      out += std::exchange(added, {});
      continue;
    }
    out += fmt::format("-{}\n", old_lines[index]);
    added += fmt::format("+{}\n", new_lines[index]);
  }
  return out + added;
}

}  // namespace lockstep::rollout
