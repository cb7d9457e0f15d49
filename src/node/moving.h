// Which pods have to leave the node before its driver goes, by the driver-manager's own settings.
// The rules are the upgrade controller's; the settings that would allow more have other names here.
#pragma once

#include <string>
#include <vector>

#include "fleet/keys.h"
#include "node/manager_view.h"

namespace lockstep::node {

struct Moving {
  std::vector<fleet::PodPtr> leaving;
  // Of these: to be evicted now, already ending, and refused when last tried, with the answer.
  std::vector<fleet::PodPtr> to_evict;
  std::vector<fleet::PodPtr> ending;
  std::vector<std::string> refused;
  std::optional<Duration> next_try;
  // Pods that would have to leave and may not, with the setting that would allow it.
  std::vector<std::string> protected_pods;

  bool empty() const { return leaving.empty() && protected_pods.empty(); }
};

// GPU pods, but for those of a DaemonSet, which cannot be evicted away.
Moving move_gpu_pods(const ManagerView& view, const ManagerSettings& settings);
// All that a drain moves.
Moving move_all_pods(const ManagerView& view, const ManagerSettings& settings);

// "waits for 2 pods to end: a/b, a/c; refused: …"
std::string describe(const Moving& moving);

}  // namespace lockstep::node
