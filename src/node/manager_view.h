// What the driver-manager decides on, as values: its settings, what it sees of its node, the pods
// on it and the machine under it, and how long it has been at each step.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "fleet/driver_clients.h"
#include "fleet/gpu_pods.h"
#include "fleet/node_view.h"
#include "node/host.h"
#include "objects/selector.h"

namespace lockstep::node {

struct ManagerSettings {
  std::string node;
  std::string operator_namespace = "gpu-operator";
  std::string key_domain = "nvidia.com";
  bool evict_gpu_pods = true;  // ENABLE_GPU_POD_EVICTION
  bool drain = true;           // ENABLE_AUTO_DRAIN: when evicting the GPU pods fails
  bool force = false;          // DRAIN_USE_FORCE: also pods without a controller
  bool delete_empty_dir = false;
  Duration drain_timeout{0};  // zero: indefinitely
  LabelSelector drain_pods;   // matches everything unless it says something
  // Configuration of the driver that is to be loaded; empty: not known, so it counts as another.
  std::string digest;
  bool force_reinstall = false;
  // One more node label by which a DRA plugin is sent away; empty: none.
  std::string plugin_label;
  fleet::GpuPodOptions gpu_pods;
  // DaemonSets whose pods hold the driver open and have no label to send them away.
  fleet::ClientOptions clients;
  // For operands and plugins to go, for claims to be given back, for devices to be closed, and for
  // an API that does not answer.
  Duration wait_limit = minutes(5);
  // For our own pod to be taken away, once the node is labelled as having a driver of its own.
  Duration installed_wait = seconds(60);
};

struct PodHere {
  fleet::PodOnNode entry;
  StringMap node_selector;
  bool holds_gpu_claim = false;

  const Pod& pod() const { return *entry.pod; }
};

enum class ManagerStep {
  host_driver,
  pause_operands,
  wait_for_operands,
  cordon,
  evict,
  drain,
  claims,
  stop_plugin,
  devices,
  unload,
  clean_up,
  restore,
  finish,
};
std::string_view to_string(ManagerStep step);

struct ManagerView {
  std::shared_ptr<const Node> node;
  std::vector<PodHere> pods;  // on the node, by namespace and name
  // Version of a driver that is the machine's own.
  std::optional<std::string> installed_driver;
  HostView host;
  // DaemonSets of which this process has deleted the pod, as namespace/name.
  std::set<std::string> restarted_clients;
  // How long ago each step was first come to, by this process.
  std::map<ManagerStep, Duration> elapsed;
  // Since something was last done.
  Duration quiet{0};
  // Of the last try to unload.
  std::string unload_error;

  Duration at(ManagerStep step) const {
    auto found = elapsed.find(step);
    return found == elapsed.end() ? Duration::zero() : found->second;
  }
};

}  // namespace lockstep::node
