#include "fleet/keys.h"

namespace lockstep::fleet {

const ResourceType cluster_policies{"nvidia.com", "v1", "ClusterPolicy", "clusterpolicies", false};
const ResourceType nvidia_drivers{"nvidia.com", "v1alpha1", "NVIDIADriver", "nvidiadrivers", false};
const ResourceType driver_rollouts{"lockstep.dev", "v1alpha1", "DriverRollout", "driverrollouts",
                                   false};

Keys::Keys(std::string_view key_domain) : domain(key_domain) {
  std::string prefix = domain + "/gpu-driver-upgrade";
  state = prefix + "-state";
  skip = prefix + ".skip";
  drain_skip = prefix + "-drain.skip";
  users_skip = "nvidia.com/gpu-driver-upgrade.skip";
  users_drain_skip = "nvidia.com/gpu-driver-upgrade-drain.skip";
  requested = prefix + "-requested";
  safe_load = prefix + ".driver-wait-for-safe-load";
  initially_unschedulable = prefix + ".node-initial-state.unschedulable";
  wait_start = prefix + "-wait-for-pod-completion-start-time";
  validation_start = prefix + "-validation-start-time";
}

}  // namespace lockstep::fleet
