// Which DaemonSets bring pods that hold the driver open: DRA kubelet plugins, and what a user
// names. The one finder of the upgrade controller, the failure controller, `reroll`,
// `driver-manager` and the doctor.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "objects/daemon_set.h"
#include "objects/string_map.h"

namespace lockstep::fleet {

struct ClientOptions {
  // The namespaces of DRA plugins. Elsewhere a tenant may have given anything their labels.
  std::vector<std::string> namespaces = {"nvidia-dra-driver",     "nvidia-dra-driver-gpu",
                                         "dra-driver-nvidia-gpu", "gpu-operator",
                                         "lockstep-system",       "lockstep-dra"};
  // Others, as "namespace/name".
  std::vector<std::string> named = {};

  // Clients are ignored.
  bool empty() const { return namespaces.empty() && named.empty(); }
};

// On the pods of a plugin that opens the driver again by itself, as ours does.
inline constexpr std::string_view reopens_driver_label = "lockstep.dev/reopens-driver";

// NVIDIA's kubelet plugin, under any name that its chart has had; `labels` of its pods.
bool is_nvidia_plugin(std::string_view daemon_set, const StringMap& labels);
// The plugin of Lockstep's own chart.
bool is_own_plugin(const StringMap& labels);

struct DriverClient {
  std::string_view dra_driver;  // whose ResourceSlices it publishes; empty: not known
  bool reopens_driver = false;  // never stale: nothing restarts it
};
// Returns nothing if the pod is not known to be a client.
std::optional<DriverClient> find_driver_client(std::string_view ns, std::string_view daemon_set,
                                               const StringMap& labels,
                                               const ClientOptions& options);
std::optional<DriverClient> find_driver_client(const DaemonSet& set, const ClientOptions& options);

}  // namespace lockstep::fleet
