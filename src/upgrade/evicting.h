// Which pods have to leave a node before its driver is reloaded, and which ones must not be moved
// (sections 4, 5).
#pragma once

#include <string>
#include <vector>

#include "fleet/node_view.h"
#include "fleet/reason.h"
#include "upgrade/decision.h"

namespace lockstep::upgrade {

enum class Fate {
  stays,      // not concerned: finished, a mirror pod, of a DaemonSet, …
  leaves,     // to be evicted
  protected_  // would have to leave, and a setting keeps us from it
};

struct Verdict {
  Fate fate = Fate::stays;
  std::string because;  // of a protected pod: what it is, and the setting that would allow it
};

// Whether a GPU pod must go. One of a DaemonSet cannot be evicted away: it stays.
Verdict judge_gpu_pod(const fleet::PodOnNode& entry, const EvictionPolicy& policy);
// The same for a drain of the node.
Verdict judge_for_drain(const fleet::PodOnNode& entry, const DrainPolicy& policy,
                        const Rules& rules);

// GPU pods of a DaemonSet that the selector names: deleted together with the driver pod.
std::vector<fleet::PodPtr> daemon_pods_to_restart(const fleet::NodeView& view,
                                                  const EvictionPolicy& policy);
// A node that failed with this reason failed before its driver was touched: pods, or what protects
// them, were in the way. Any tenant can bring that about, and it says nothing about the new driver.
bool is_eviction_failure(const fleet::ReasonName& failure);
// Some GPU pod would have to leave before the driver may be touched.
bool has_gpu_pods_to_move(const fleet::NodeView& view, const EvictionPolicy& policy);

}  // namespace lockstep::upgrade
