// The objects of a simulated GPU fleet, as requests that may be sent again: whatever exists already
// is fine as it is. Custom resource definitions, namespaces, the operator's custom resources, the
// DaemonSets of driver, DRA plugin and validator, and work for the GPUs.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "data/json.h"
#include "kube/api.h"
#include "sim/actors/driver_image.h"
#include "sim/actors/driver_template.h"

namespace lockstep::sim {

// Of the DriverRollout, in scenarios that have one.
inline constexpr std::string_view rollout_name = "driver";

struct WorkloadOptions {
  int deployment_replicas = 0;  // Deployment ml-training/inference
  int deployment_gpus = 8;      // of each of its pods
  int min_available = -1;       // above -1: a PodDisruptionBudget for them
  int job_pods = 0;             // Job ml-training/llm-pretrain: as many at once
  int job_gpus = 8;
  int64_t job_seconds = 3600;
  int claim_pods = 0;           // Deployment ml-training/dra-inference: a GPU each by a claim
  int extended_pods = 0;        // ml-training/extended: by an extended resource of a device class
  bool bare_pod = false;        // ml-training/notebook, without a controller
  bool kept_pod = false;        // ml-training/kept, likewise, and a drain is to leave it out
  bool bad_config_pod = false;  // ml-training/bad-config, whose claim asks for what there is not
  // ml-training/partitions, whose claim asks for more partitions than a GPU has: what KEP-5322 has
  // as its example, with the words of its driver.
  bool partitions_pod = false;
  bool empty_dir_pod = false;    // Deployment ml-training/scratch, one pod with an emptyDir
  bool daemon_set_pods = false;  // DaemonSet ml-training/gpu-health-probe with a GPU on every node
};

struct FleetOptions {
  int nodes = 4;
  int gpus_per_node = 8;
  std::string driver_version = "580.105.08";  // that machines load
  ImageNaming image_naming = ImageNaming::version;
  std::string chart_version = "v25.10.1";
  Json upgrade_policy = JsonObject{{"autoUpgrade", true}};  // spec.driver.upgradePolicy
  // The CRD keeps only those fields of upgradePolicy that NVIDIA's has.
  bool prunes_policy = false;
  // The value of the annotation lockstep.dev/upgrade-policy; null: no annotation.
  Json policy_annotation;
  // How Kubernetes updates the driver's DaemonSet.
  std::string driver_strategy = "OnDelete";
  // ClusterPolicy's spec.daemonsets.tolerations; null: every taint is tolerated.
  Json driver_tolerations;
  bool dra = true;
  bool dra_renamed = false;  // the plugin is of the chart's newer name, by labels that differ
  bool validator = true;
  bool operator_runs = false;  // its Deployment is there, with one pod
  bool gate_namespace = true;  // the gates' own; off where an installation brings it
  // NVIDIADrivers instead of the ClusterPolicy's driver: name -> driver version. Nodes are dealt
  // out to them in turn, by a label that each selects; one that is called "default" selects none
  // and has all remaining nodes.
  std::map<std::string, std::string> nvidia_drivers;
  std::map<std::string, JsonObject> node_labels;  // besides the usual ones, by node
  WorkloadOptions workloads;
};

// By which the NVIDIADrivers of a simulated fleet select their nodes.
inline constexpr std::string_view pool_label = "example.com/gpu-pool";
inline constexpr std::string_view default_nvidia_driver = "default";

std::string node_name(int index);  // "gpu-1" for 0
// A whole Node, Ready, as the GPU operator and the feature discovery label it.
Json node_object(int index, const FleetOptions& options, Time now);

// In the order in which they are to be sent. Nodes are not among them: kubelets register.
std::vector<kube::Request> fleet_requests(const FleetOptions& options);

// Its parts.
Json cluster_policy_definition(bool prunes_policy = false);
Json nvidia_driver_definition();
Json cluster_policy(const FleetOptions& options);
Json dra_daemon_set(const FleetOptions& options);
Json validator_daemon_set();
Json operator_deployment();
std::vector<kube::Request> workload_requests(const WorkloadOptions& workloads);

}  // namespace lockstep::sim
