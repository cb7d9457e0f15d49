#include "sim/actors/fleet_objects.h"

#include <utility>

#include <fmt/format.h>

#include "controller/gate_jobs.h"
#include "data/yaml.h"

namespace lockstep::sim {

namespace {

const ResourceType device_classes{"resource.k8s.io", "v1", "DeviceClass", "deviceclasses", false};

Json condition(std::string_view type, std::string_view status, std::string_view reason, Time now) {
  return JsonObject{{"type", type},
                    {"status", status},
                    {"reason", reason},
                    {"message", ""},
                    {"lastHeartbeatTime", format_rfc3339(now)},
                    {"lastTransitionTime", format_rfc3339(now)}};
}

Json field(std::string_view type) { return JsonObject{{"type", type}}; }

JsonObject object_of(JsonObject properties) {
  return {{"type", "object"}, {"properties", std::move(properties)}};
}

// upgradePolicy as NVIDIA's own CRD has it: what is not here is pruned.
Json upgrade_policy_schema() {
  JsonObject eviction{{"force", field("boolean")},
                      {"timeoutSeconds", field("integer")},
                      {"deleteEmptyDir", field("boolean")}};
  JsonObject drain = eviction;
  drain["enable"] = field("boolean");
  drain["podSelector"] = field("string");
  JsonObject wait{{"podSelector", field("string")}, {"timeoutSeconds", field("integer")}};
  return object_of({{"autoUpgrade", field("boolean")},
                    {"maxParallelUpgrades", field("integer")},
                    {"maxUnavailable", JsonObject{{"x-kubernetes-int-or-string", true}}},
                    {"podDeletion", object_of(std::move(eviction))},
                    {"waitForCompletion", object_of(std::move(wait))},
                    {"drain", object_of(std::move(drain))}});
}

Json definition(const ResourceType& type, std::string_view singular,
                std::vector<std::string> short_names, bool prunes_policy = false) {
  JsonObject anything{{"type", "object"}, {"x-kubernetes-preserve-unknown-fields", true}};
  JsonObject spec = anything;
  if (prunes_policy) {
    JsonObject driver = anything;
    driver["properties"] = JsonObject{{"upgradePolicy", upgrade_policy_schema()}};
    spec["properties"] = JsonObject{{"driver", std::move(driver)}};
  }
  JsonObject status{{"type", "object"},
                    {"properties", JsonObject{{"state", JsonObject{{"type", "string"}}},
                                              {"namespace", JsonObject{{"type", "string"}}}}},
                    {"x-kubernetes-preserve-unknown-fields", true}};
  JsonObject schema{{"type", "object"},
                    {"properties", JsonObject{{"spec", spec}, {"status", status}}}};
  JsonArray columns{
      JsonObject{{"name", "Status"}, {"type", "string"}, {"jsonPath", ".status.state"}},
      JsonObject{{"name", "Age"}, {"type", "date"}, {"jsonPath", ".metadata.creationTimestamp"}}};
  JsonArray names;
  for (std::string& name : short_names) names.emplace_back(std::move(name));
  return JsonObject{
      {"apiVersion", "apiextensions.k8s.io/v1"},
      {"kind", "CustomResourceDefinition"},
      {"metadata", JsonObject{{"name", type.full_name()}}},
      {"spec",
       JsonObject{{"group", type.group},
                  {"scope", "Cluster"},
                  {"names", JsonObject{{"kind", type.kind},
                                       {"listKind", type.kind + "List"},
                                       {"plural", type.plural},
                                       {"singular", singular},
                                       {"shortNames", std::move(names)}}},
                  {"versions", JsonArray{JsonObject{
                                   {"name", type.version},
                                   {"served", true},
                                   {"storage", true},
                                   {"schema", JsonObject{{"openAPIV3Schema", std::move(schema)}}},
                                   {"subresources", JsonObject{{"status", JsonObject{}}}},
                                   {"additionalPrinterColumns", std::move(columns)}}}}}}};
}

Json namespace_object(std::string_view name) {
  return JsonObject{
      {"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", JsonObject{{"name", name}}}};
}

Json daemon_set(std::string_view ns, std::string_view name, JsonObject update_strategy,
                JsonObject template_metadata, JsonObject spec) {
  return JsonObject{
      {"apiVersion", "apps/v1"},
      {"kind", "DaemonSet"},
      {"metadata",
       JsonObject{{"name", name}, {"namespace", ns}, {"labels", JsonObject{{"app", name}}}}},
      {"spec", JsonObject{{"selector", JsonObject{{"matchLabels", JsonObject{{"app", name}}}}},
                          {"updateStrategy", std::move(update_strategy)},
                          {"template", JsonObject{{"metadata", std::move(template_metadata)},
                                                  {"spec", std::move(spec)}}}}}};
}

JsonObject rolling_update() {
  return {{"type", "RollingUpdate"}, {"rollingUpdate", JsonObject{{"maxUnavailable", 1}}}};
}

JsonArray any_taint() { return JsonArray{JsonObject{{"operator", "Exists"}}}; }

Json nvidia_driver(const std::string& name, const std::string& version,
                   const FleetOptions& options) {
  JsonObject spec{{"driverType", "gpu"},
                  {"repository", "nvcr.io/nvidia"},
                  {"image", "driver"},
                  {"version", written_version(options.image_naming, version)},
                  {"upgradePolicy", options.upgrade_policy}};
  if (options.image_naming == ImageNaming::precompiled) spec["usePrecompiled"] = true;
  if (name == default_nvidia_driver) {
    spec["default"] = true;
  } else {
    spec["nodeSelector"] = JsonObject{{pool_label, name}};
  }
  return JsonObject{{"apiVersion", nvidia_drivers.api_version()},
                    {"kind", nvidia_drivers.kind},
                    {"metadata", JsonObject{{"name", name}}},
                    {"spec", std::move(spec)}};
}

}  // namespace

std::string node_name(int index) { return fmt::format("gpu-{}", index + 1); }

Json node_object(int index, const FleetOptions& options, Time now) {
  std::string name = node_name(index);
  std::string gpus = std::to_string(options.gpus_per_node);
  JsonObject labels{
      {"kubernetes.io/hostname", name},
      {"kubernetes.io/arch", "amd64"},
      {"kubernetes.io/os", "linux"},
      {"topology.kubernetes.io/zone", fmt::format("zone-{}", static_cast<char>('a' + index % 3))},
      {"node.kubernetes.io/instance-type", "p5.48xlarge"},
      {"nvidia.com/gpu.present", "true"},
      {"nvidia.com/gpu.product", "NVIDIA-H100-80GB-HBM3"},
      {"nvidia.com/gpu.count", gpus},
      {"nvidia.com/gpu.deploy.driver", "true"}};
  if (!options.nvidia_drivers.empty()) {
    auto owner = options.nvidia_drivers.begin();
    std::advance(owner, index % static_cast<int>(options.nvidia_drivers.size()));
    labels[driver_owner_label] = owner->first;
    if (owner->first != default_nvidia_driver) labels[pool_label] = owner->first;
  }
  if (auto extra = options.node_labels.find(name); extra != options.node_labels.end()) {
    for (const auto& [key, value] : extra->second) labels[key] = value;
  }
  JsonObject resources{
      {"cpu", "192"}, {"memory", "2113444Mi"}, {"pods", "110"}, {"nvidia.com/gpu", gpus}};
  JsonArray conditions{condition("MemoryPressure", "False", "KubeletHasSufficientMemory", now),
                       condition("DiskPressure", "False", "KubeletHasNoDiskPressure", now),
                       condition("PIDPressure", "False", "KubeletHasSufficientPID", now),
                       condition("Ready", "True", "KubeletReady", now)};
  JsonObject info{{"kubeletVersion", "v1.34.0"},
                  {"kernelVersion", "6.8.0-1021-aws"},
                  {"osImage", "Ubuntu 24.04.3 LTS"},
                  {"containerRuntimeVersion", "containerd://2.1.4"},
                  {"architecture", "amd64"},
                  {"operatingSystem", "linux"},
                  {"bootID", ""},
                  {"machineID", ""},
                  {"systemUUID", ""},
                  {"kubeProxyVersion", ""}};
  JsonArray addresses{JsonObject{{"type", "InternalIP"},
                                 {"address", fmt::format("10.{}.{}.{}", index / 62500,
                                                         index / 250 % 250, index % 250 + 4)}},
                      JsonObject{{"type", "Hostname"}, {"address", name}}};
  return JsonObject{{"apiVersion", "v1"},
                    {"kind", "Node"},
                    {"metadata", JsonObject{{"name", name}, {"labels", std::move(labels)}}},
                    {"spec", JsonObject{{"providerID", fmt::format("lockstep:///{}", name)}}},
                    {"status", JsonObject{{"capacity", resources},
                                          {"allocatable", resources},
                                          {"conditions", std::move(conditions)},
                                          {"addresses", std::move(addresses)},
                                          {"nodeInfo", std::move(info)}}}};
}

Json cluster_policy_definition(bool prunes_policy) {
  return definition(cluster_policies, "clusterpolicy", {}, prunes_policy);
}

Json nvidia_driver_definition() {
  return definition(nvidia_drivers, "nvidiadriver", {"nvd", "nvdriver", "nvdrivers"});
}

Json cluster_policy(const FleetOptions& options) {
  JsonObject driver{{"enabled", true},
                    {"repository", "nvcr.io/nvidia"},
                    {"image", "driver"},
                    {"version", written_version(options.image_naming, options.driver_version)},
                    {"upgradePolicy", options.upgrade_policy}};
  if (options.image_naming == ImageNaming::precompiled) driver["usePrecompiled"] = true;
  if (!options.nvidia_drivers.empty()) driver["useNvidiaDriverCRD"] = true;
  JsonObject spec{{"driver", std::move(driver)}};
  if (options.driver_tolerations.is_array()) {
    spec["daemonsets"] = JsonObject{{"tolerations", options.driver_tolerations}};
  }
  JsonObject metadata{
      {"name", "cluster-policy"},
      {"labels", JsonObject{{"helm.sh/chart", "gpu-operator-" + options.chart_version}}}};
  if (options.policy_annotation.is_object()) {
    metadata["annotations"] =
        JsonObject{{fleet::policy_annotation, print_yaml(options.policy_annotation)}};
  }
  return JsonObject{{"apiVersion", cluster_policies.api_version()},
                    {"kind", cluster_policies.kind},
                    {"metadata", std::move(metadata)},
                    {"spec", std::move(spec)}};
}

Json dra_daemon_set(const FleetOptions& options) {
  std::string_view name = options.dra_renamed ? renamed_dra_daemon_set_name : dra_daemon_set_name;
  JsonObject labels{{"app", name}, {"app.kubernetes.io/name", "nvidia-dra-driver-gpu"}};
  if (options.dra_renamed) {
    labels["app.kubernetes.io/name"] = "dra-driver-nvidia-gpu";
    labels["dra-driver-nvidia-gpu-component"] = "kubelet-plugin";
  }
  JsonObject spec{
      {"nodeSelector", JsonObject{{"nvidia.com/gpu.present", "true"}}},
      {"tolerations", any_taint()},
      {"containers",
       JsonArray{JsonObject{
           {"name", "gpus"},
           {"image", "registry.k8s.io/dra-driver-nvidia/dra-driver-nvidia-gpu:v25.12.0"}}}}};
  return daemon_set(dra_namespace, name, rolling_update(),
                    JsonObject{{"labels", std::move(labels)}}, std::move(spec));
}

Json validator_daemon_set() {
  constexpr std::string_view image = "nvcr.io/nvidia/gpu-operator:v25.10.1";
  JsonObject spec{
      {"nodeSelector", JsonObject{{"nvidia.com/gpu.deploy.driver", "true"}}},
      {"tolerations", any_taint()},
      {"initContainers", JsonArray{JsonObject{{"name", "driver-validation"}, {"image", image}}}},
      {"containers",
       JsonArray{JsonObject{{"name", "nvidia-operator-validator"}, {"image", image}}}}};
  // The operator's validators all restart at once: it waits for none of them.
  JsonObject strategy{{"type", "RollingUpdate"},
                      {"rollingUpdate", JsonObject{{"maxUnavailable", "100%"}}}};
  return daemon_set(operator_namespace, validator_daemon_set_name, std::move(strategy),
                    JsonObject{{"labels", JsonObject{{"app", validator_daemon_set_name}}}},
                    std::move(spec));
}

Json operator_deployment() {
  JsonObject labels{{"app", "gpu-operator"}, {"app.kubernetes.io/component", "gpu-operator"}};
  constexpr std::string_view image = "nvcr.io/nvidia/gpu-operator:v25.10.1";
  JsonObject main{{"name", "gpu-operator"}, {"image", image}};
  // As long as it runs, the pod is Pending: as one that moves to another node and pulls its image.
  JsonObject before{{"name", "before"}, {"image", image}};
  return JsonObject{
      {"apiVersion", "apps/v1"},
      {"kind", "Deployment"},
      {"metadata",
       JsonObject{{"name", "gpu-operator"}, {"namespace", operator_namespace}, {"labels", labels}}},
      {"spec",
       JsonObject{{"replicas", 1},
                  {"selector", JsonObject{{"matchLabels", JsonObject{{"app", "gpu-operator"}}}}},
                  {"template",
                   JsonObject{{"metadata", JsonObject{{"labels", labels}}},
                              {"spec", JsonObject{{"tolerations", any_taint()},
                                                  {"initContainers", JsonArray{std::move(before)}},
                                                  {"containers", JsonArray{std::move(main)}}}}}}}}};
}

std::vector<kube::Request> fleet_requests(const FleetOptions& options) {
  std::vector<kube::Request> requests;
  for (Json& crd : std::vector<Json>{cluster_policy_definition(options.prunes_policy),
                                     nvidia_driver_definition()}) {
    requests.push_back(kube::create(resource::custom_resource_definitions, "", std::move(crd)));
  }
  for (std::string_view name :
       {operator_namespace, dra_namespace, std::string_view("lockstep-system"),
        std::string_view("ml-training"), std::string_view("kube-node-lease")}) {
    requests.push_back(kube::create(resource::namespaces, "", namespace_object(name)));
  }
  if (options.gate_namespace) {
    requests.push_back(
        kube::create(resource::namespaces, "", namespace_object(controller::usual_gate_namespace)));
  }
  Json policy = cluster_policy(options);
  if (makes_driver(policy)) {
    Json set = driver_daemon_set(config_of_cluster_policy(policy));
    set.at("spec").as_object()["updateStrategy"] = JsonObject{{"type", options.driver_strategy}};
    requests.push_back(
        kube::create(resource::daemon_sets, std::string(operator_namespace), std::move(set)));
  }
  requests.push_back(kube::create(cluster_policies, "", std::move(policy)));
  for (const auto& [name, version] : options.nvidia_drivers) {
    Json driver = nvidia_driver(name, version, options);
    requests.push_back(kube::create(resource::daemon_sets, std::string(operator_namespace),
                                    driver_daemon_set(config_of_nvidia_driver(driver))));
    requests.push_back(kube::create(nvidia_drivers, "", std::move(driver)));
  }
  if (options.dra) {
    requests.push_back(kube::create(
        device_classes, "",
        JsonObject{
            {"apiVersion", device_classes.api_version()},
            {"kind", device_classes.kind},
            {"metadata", JsonObject{{"name", "gpu.nvidia.com"}}},
            {"spec",
             JsonObject{
                 {"selectors",
                  JsonArray{JsonObject{
                      {"cel", JsonObject{{"expression", "device.driver == 'gpu.nvidia.com'"}}}}}},
                 {"extendedResourceName", extended_gpu_resource}}}}));
    requests.push_back(
        kube::create(resource::daemon_sets, std::string(dra_namespace), dra_daemon_set(options)));
  }
  if (options.validator) {
    requests.push_back(kube::create(resource::daemon_sets, std::string(operator_namespace),
                                    validator_daemon_set()));
  }
  if (options.operator_runs) {
    requests.push_back(kube::create(resource::deployments, std::string(operator_namespace),
                                    operator_deployment()));
  }
  for (kube::Request& request : workload_requests(options.workloads))
    requests.push_back(std::move(request));
  return requests;
}

}  // namespace lockstep::sim
