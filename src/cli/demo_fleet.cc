#include "cli/demo_fleet.h"

#include <string>

#include <fmt/format.h>

namespace lockstep::cli {

namespace {

constexpr std::string_view driver_version = "580.105.08";
constexpr int gpus_per_node = 8;

Json condition(std::string_view type, std::string_view status, std::string_view reason, Time now) {
  return JsonObject{{"type", type},
                    {"status", status},
                    {"reason", reason},
                    {"message", ""},
                    {"lastHeartbeatTime", format_rfc3339(now)},
                    {"lastTransitionTime", format_rfc3339(now)}};
}

std::string node_name(int index) { return fmt::format("gpu-{}", index + 1); }

Json node(int index, Time now) {
  JsonObject labels{
      {"kubernetes.io/hostname", node_name(index)},
      {"kubernetes.io/arch", "amd64"},
      {"kubernetes.io/os", "linux"},
      {"topology.kubernetes.io/zone", fmt::format("zone-{}", static_cast<char>('a' + index % 3))},
      {"node.kubernetes.io/instance-type", "p5.48xlarge"},
      {"nvidia.com/gpu.present", "true"},
      {"nvidia.com/gpu.product", "NVIDIA-H100-80GB-HBM3"},
      {"nvidia.com/gpu.count", std::to_string(gpus_per_node)},
      {"nvidia.com/gpu.deploy.driver", "true"},
      {"nvidia.com/cuda.driver-version.full", driver_version},
      {"nvidia.com/gpu-driver-upgrade-state", "upgrade-done"}};
  JsonObject resources{{"cpu", "192"},
                       {"memory", "2113444Mi"},
                       {"pods", "110"},
                       {"nvidia.com/gpu", std::to_string(gpus_per_node)}};
  JsonArray conditions{condition("MemoryPressure", "False", "KubeletHasSufficientMemory", now),
                       condition("DiskPressure", "False", "KubeletHasNoDiskPressure", now),
                       condition("PIDPressure", "False", "KubeletHasSufficientPID", now),
                       condition("Ready", "True", "KubeletReady", now)};
  JsonObject info{
      {"kubeletVersion", "v1.34.0"},     {"kernelVersion", "6.8.0-1021-aws"},
      {"osImage", "Ubuntu 24.04.3 LTS"}, {"containerRuntimeVersion", "containerd://2.1.4"},
      {"architecture", "amd64"},         {"operatingSystem", "linux"}};
  JsonArray addresses{
      JsonObject{{"type", "InternalIP"},
                 {"address", fmt::format("10.0.{}.{}", index / 250, index % 250 + 4)}},
      JsonObject{{"type", "Hostname"}, {"address", node_name(index)}}};
  return JsonObject{
      {"apiVersion", "v1"},
      {"kind", "Node"},
      {"metadata", JsonObject{{"name", node_name(index)}, {"labels", std::move(labels)}}},
      {"spec", JsonObject{{"providerID", fmt::format("demo:///{}", node_name(index))}}},
      {"status", JsonObject{{"capacity", resources},
                            {"allocatable", resources},
                            {"conditions", std::move(conditions)},
                            {"addresses", std::move(addresses)},
                            {"nodeInfo", std::move(info)}}}};
}

Json driver_template() {
  return JsonObject{
      {"metadata", JsonObject{{"labels", JsonObject{{"app", "nvidia-driver-daemonset"}}}}},
      {"spec",
       JsonObject{{"nodeSelector", JsonObject{{"nvidia.com/gpu.deploy.driver", "true"}}},
                  {"containers", JsonArray{JsonObject{
                                     {"name", "nvidia-driver-ctr"},
                                     {"image", fmt::format("nvcr.io/nvidia/driver:{}-ubuntu24.04",
                                                           driver_version)}}}}}}};
}

Json daemon_set(int nodes) {
  JsonObject selector{{"matchLabels", JsonObject{{"app", "nvidia-driver-daemonset"}}}};
  return JsonObject{
      {"apiVersion", "apps/v1"},
      {"kind", "DaemonSet"},
      {"metadata", JsonObject{{"name", "nvidia-driver-daemonset"},
                              {"labels", JsonObject{{"app", "nvidia-driver-daemonset"}}}}},
      {"spec", JsonObject{{"selector", std::move(selector)},
                          {"updateStrategy", JsonObject{{"type", "OnDelete"}}},
                          {"template", driver_template()}}},
      {"status", JsonObject{{"desiredNumberScheduled", nodes},
                            {"currentNumberScheduled", nodes},
                            {"updatedNumberScheduled", nodes},
                            {"numberReady", nodes},
                            {"numberAvailable", nodes},
                            {"numberMisscheduled", 0},
                            {"observedGeneration", 1}}}};
}

Json pod(const std::string& name, const std::string& app, const std::string& image,
         const std::string& on, int gpus) {
  JsonObject container{{"name", app}, {"image", image}};
  if (gpus > 0) {
    container["resources"] =
        JsonObject{{"limits", JsonObject{{"nvidia.com/gpu", std::to_string(gpus)}}}};
  }
  return JsonObject{
      {"apiVersion", "v1"},
      {"kind", "Pod"},
      {"metadata", JsonObject{{"name", name}, {"labels", JsonObject{{"app", app}}}}},
      {"spec", JsonObject{{"nodeName", on}, {"containers", JsonArray{std::move(container)}}}}};
}

Json running_status(const std::string& container, const std::string& image, Time now) {
  JsonObject state{{"running", JsonObject{{"startedAt", format_rfc3339(now)}}}};
  JsonArray conditions{JsonObject{
      {"type", "Ready"}, {"status", "True"}, {"lastTransitionTime", format_rfc3339(now)}}};
  JsonObject status{{"name", container},        {"ready", true},  {"started", true},
                    {"restartCount", 0},        {"image", image}, {"imageID", ""},
                    {"state", std::move(state)}};
  return JsonObject{{"status", JsonObject{{"phase", "Running"},
                                          {"startTime", format_rfc3339(now)},
                                          {"conditions", std::move(conditions)},
                                          {"containerStatuses", JsonArray{std::move(status)}}}}};
}

void add_running_pod(std::vector<kube::Request>& requests, const std::string& ns,
                     const std::string& name, const std::string& app, const std::string& image,
                     const std::string& on, int gpus, Time now) {
  requests.push_back(kube::create(resource::pods, ns, pod(name, app, image, on, gpus)));
  kube::Request status = kube::patch(resource::pods, {ns, name}, kube::PatchType::merge,
                                     running_status(app, image, now));
  status.subresource = "status";
  requests.push_back(std::move(status));
}

}  // namespace

std::vector<kube::Request> demo_fleet(int nodes, Time now) {
  std::vector<kube::Request> requests;
  for (auto ns : {"gpu-operator", "ml-training"}) {
    requests.push_back(kube::create(
        resource::namespaces, "",
        JsonObject{
            {"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", JsonObject{{"name", ns}}}}));
  }
  for (int i = 0; i < nodes; ++i)
    requests.push_back(kube::create(resource::nodes, "", node(i, now)));
  requests.push_back(kube::create(resource::daemon_sets, "gpu-operator", daemon_set(nodes)));
  kube::Request status =
      kube::patch(resource::daemon_sets, {"gpu-operator", "nvidia-driver-daemonset"},
                  kube::PatchType::merge, JsonObject{{"status", daemon_set(nodes).at("status")}});
  status.subresource = "status";
  requests.push_back(std::move(status));
  std::string driver_image = fmt::format("nvcr.io/nvidia/driver:{}-ubuntu24.04", driver_version);
  for (int i = 0; i < nodes; ++i) {
    add_running_pod(requests, "gpu-operator",
                    fmt::format("nvidia-driver-daemonset-{}", node_name(i)),
                    "nvidia-driver-daemonset", driver_image, node_name(i), 0, now);
    // Two nodes of three are busy.
    if (i % 3 == 2) continue;
    add_running_pod(requests, "ml-training", fmt::format("llm-pretrain-{}", i), "llm-pretrain",
                    "registry.example/llm-pretrain:2026.11", node_name(i), gpus_per_node, now);
  }
  return requests;
}

}  // namespace lockstep::cli
