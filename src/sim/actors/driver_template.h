// How the GPU operator turns its custom resources into the driver's DaemonSet. Pure.
#pragma once

#include <string>

#include "data/json.h"
#include "fleet/keys.h"
#include "objects/resource_type.h"

namespace lockstep::sim {

using fleet::cluster_policies;
using fleet::driver_owner_label;
using fleet::nvidia_drivers;

inline constexpr std::string_view operator_namespace = "gpu-operator";
inline constexpr std::string_view dra_namespace = "nvidia-dra-driver";
// Of a tenant that imitates the driver (tenants.h).
inline constexpr std::string_view tenant_namespace = "team-a";
inline constexpr std::string_view driver_daemon_set_name = "nvidia-driver-daemonset";
inline constexpr std::string_view dra_daemon_set_name = "nvidia-dra-driver-gpu-kubelet-plugin";
// The same plugin by its chart's newer name.
inline constexpr std::string_view renamed_dra_daemon_set_name =
    "dra-driver-nvidia-gpu-kubelet-plugin";
inline constexpr std::string_view validator_daemon_set_name = "nvidia-operator-validator";
// What the device class of GPUs calls them for pods that know nothing of claims.
inline constexpr std::string_view extended_gpu_resource = "example.com/gpu";
// On the DaemonSet: what the operator applied last.
inline constexpr std::string_view applied_hash_annotation = "nvidia.com/last-applied-hash";

struct DriverConfig {
  std::string daemon_set = std::string(driver_daemon_set_name);
  std::string owner;  // the NVIDIADriver's name; empty for the ClusterPolicy's
  std::string repository = "nvcr.io/nvidia";
  std::string image = "driver";
  std::string version;
  bool precompiled = false;
  Json kernel_module;      // settings of the module: part of the digest
  JsonObject annotations;  // of pods: without effect on the driver or the digest
  JsonObject labels;       // the same
  JsonObject node_selector;
  JsonArray tolerations = {JsonObject{{"operator", "Exists"}}};

  // Of what makes a reload necessary. Equal digests: the change does not affect the driver.
  std::string digest() const;
};

// From a whole ClusterPolicy or NVIDIADriver object.
DriverConfig config_of_cluster_policy(const Json& policy);
DriverConfig config_of_nvidia_driver(const Json& driver);
// ClusterPolicy's spec.driver: the operator makes a DaemonSet from it.
bool makes_driver(const Json& policy);

// The whole DaemonSet, OnDelete.
Json driver_daemon_set(const DriverConfig& config);

}  // namespace lockstep::sim
