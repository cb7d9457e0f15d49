#include "fleet/driver_clients.h"

#include <algorithm>

#include <fmt/format.h>

namespace lockstep::fleet {

bool is_nvidia_plugin(std::string_view daemon_set, const StringMap& labels) {
  // The chart was renamed, and the label's key with it: nvidia-dra-driver-gpu-component became
  // dra-driver-nvidia-gpu-component, or what `nameOverride` says. Older ones have no such label.
  bool labelled = std::any_of(labels.begin(), labels.end(), [](const StringMap::Entry& entry) {
    return entry.first.view().ends_with("-component") && entry.second == "kubelet-plugin";
  });
  return labelled || daemon_set.ends_with("-kubelet-plugin");
}

bool is_own_plugin(const StringMap& labels) {
  return labels.get("app.kubernetes.io/name") == "lockstep" &&
         labels.get("app.kubernetes.io/component") == "dra-plugin";
}

std::optional<DriverClient> find_driver_client(std::string_view ns, std::string_view daemon_set,
                                               const StringMap& labels,
                                               const ClientOptions& options) {
  auto has = [](const std::vector<std::string>& names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  DriverClient client;
  const bool is_near = has(options.namespaces, ns);
  if (is_near && is_own_plugin(labels)) {
    client.dra_driver = "gpu.lockstep.dev";
  } else if (is_near && is_nvidia_plugin(daemon_set, labels)) {
    client.dra_driver = "gpu.nvidia.com";
  } else if (!has(options.named, fmt::format("{}/{}", ns, daemon_set))) {
    return std::nullopt;
  }
  client.reopens_driver = labels.get(reopens_driver_label) == "true";
  return client;
}

std::optional<DriverClient> find_driver_client(const DaemonSet& set, const ClientOptions& options) {
  return find_driver_client(set.meta.ns, set.meta.name, set.pod_template.labels, options);
}

}  // namespace lockstep::fleet
