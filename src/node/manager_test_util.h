// A machine in memory, and views of a node, for tests of what the driver-manager decides and does.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "node/host.h"
#include "node/manager_view.h"
#include "node/operands.h"

namespace lockstep::node {

inline constexpr std::string_view device_plugin_label = "nvidia.com/gpu.deploy.device-plugin";
inline constexpr std::string_view dra_driver_label = "nvidia.com/gpu.deploy.dra-driver";

// A driver with three modules, its container's root and files; no program uses it.
inline HostView loaded_driver(std::string digest = "old") {
  HostView host;
  host.modules = {
      {"nvidia_drm", 0, {}}, {"nvidia_uvm", 0, {}}, {"nvidia", 2, {"nvidia_drm", "nvidia_uvm"}}};
  host.driver_mounts = {"/run/nvidia/driver/proc", "/run/nvidia/driver"};
  host.digest = std::move(digest);
  host.digest_file = "/run/nvidia/nvidia-driver.state";
  host.process_file = "/run/nvidia/nvidia-driver.pid";
  return host;
}
// A program has opened the driver.
inline void use(HostView& host, std::string program = "python3") {
  host.modules.back().references += 1;
  host.holders = {{4711, std::move(program)}};
}

// Does what it is asked and records it, unless the test plants an error.
class FakeHost final : public Host {
 public:
  Result<std::optional<std::string>> installed_driver() override {
    if (installed_error) return fail(*installed_error);
    return installed;
  }
  Result<HostView> look() override {
    if (look_error) return fail(*look_error);
    return view;
  }
  Result<void> unload(const std::string& module) override {
    if (before_unload) before_unload(module);
    calls.push_back("unload " + module);
    if (auto error = errors.find(module); error != errors.end()) return fail(error->second);
    auto found = std::find_if(view.modules.begin(), view.modules.end(),
                              [&](const KernelModule& one) { return one.name == module; });
    if (found == view.modules.end()) return {};
    if (found->references > 0) return fail(ErrorKind::conflict, module + " is in use");
    view.modules.erase(found);
    for (KernelModule& other : view.modules) {
      other.references -= static_cast<int64_t>(std::erase(other.users, module));
    }
    return {};
  }
  Result<void> unmount(const std::string& target) override {
    calls.push_back("unmount " + target);
    if (auto error = errors.find(target); error != errors.end()) return fail(error->second);
    auto found = std::find(view.driver_mounts.begin(), view.driver_mounts.end(), target);
    if (found != view.driver_mounts.end()) view.driver_mounts.erase(found);
    return {};
  }
  Result<void> remove(const std::string& file) override {
    calls.push_back("remove " + file);
    if (auto error = errors.find(file); error != errors.end()) return fail(error->second);
    if (file == view.process_file) view.process_file.clear();
    if (file == view.digest_file) view.digest_file = view.digest = "";
    return {};
  }

  HostView view;
  std::optional<std::string> installed;
  std::optional<Error> installed_error;
  std::optional<Error> look_error;
  std::map<std::string, Error> errors;  // by module, mount or file
  std::vector<std::string> calls;
  std::function<void(const std::string&)> before_unload;
};

inline Node gpu_node() {
  Node node;
  node.meta.name = "gpu-1";
  node.meta.resource_version = "7";
  node.meta.labels = {{"nvidia.com/gpu.deploy.driver", "true"},
                      {Text(device_plugin_label), "true"},
                      {"nvidia.com/gpu.deploy.dcgm", "false"}};
  return node;
}

struct PodWish {
  std::string name{};
  std::string owner = "ReplicaSet";  // "": no owner
  bool uses_gpu = false;
  bool claim = false;
  bool empty_dir = false;
  bool deleting = false;
  StringMap selector{};
  std::string_view ns = "ml";
};

inline PodHere pod_here(const PodWish& wish) {
  Pod pod;
  pod.meta.name = Text(wish.name);
  pod.meta.ns = Text(wish.ns);
  pod.meta.uid = Text("uid-" + wish.name);
  pod.phase = PodPhase::running;
  pod.spec.has_empty_dir = wish.empty_dir;
  if (!wish.owner.empty()) {
    pod.meta.owners = {{"apps/v1", Text(wish.owner), Text(wish.name + "-set"), "uid", true}};
  }
  if (wish.deleting) pod.meta.deleted = Time::from_unix(1);
  PodHere here;
  here.entry.pod = std::make_shared<const Pod>(std::move(pod));
  here.entry.uses_gpu = wish.uses_gpu || wish.claim;
  here.holds_gpu_claim = wish.claim;
  here.node_selector = wish.selector;
  return here;
}

}  // namespace lockstep::node
