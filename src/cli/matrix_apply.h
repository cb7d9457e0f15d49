// --apply: the version of the matrix into the cluster itself, where no GitOps tool does it.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "cli/cluster_session.h"
#include "objects/resource_type.h"
#include "rollout/matrix_file.h"

namespace lockstep::cli {

struct ApplyTarget {
  bool is_cluster_policy = true;
  std::string name;  // empty: the only one
};

// "clusterpolicy", "clusterpolicy/NAME", "nvidiadriver/NAME"; empty: the ClusterPolicy. A canary
// needs an NVIDIADriver, because a ClusterPolicy has one version for all nodes.
Result<ApplyTarget> parse_apply_target(const std::string& text, rollout::Slot slot);

// Returns what was patched, for display.
Result<std::string> apply_driver(const ClusterFlags& cluster, const ApplyTarget& target,
                                 const std::string& version, bool dry_run);

}  // namespace lockstep::cli
