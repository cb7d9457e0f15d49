#include "sim/actors/driver_template.h"

#include <utility>

#include <fmt/format.h>

#include "sim/actors/driver_image.h"
#include "sim/actors/template_hash.h"

namespace lockstep::sim {

namespace {

void take_text(std::string& into, const Json& from, std::string_view key) {
  if (std::string_view text = text_at(from, key); !text.empty()) into = text;
}

void take_object(JsonObject& into, const Json* from) {
  if (from == nullptr || !from->is_object()) return;
  for (const auto& [key, value] : from->get_object()) into[key] = value;
}

// What both kinds of object write in the same way.
void take_driver_fields(DriverConfig& config, const Json& spec) {
  take_text(config.repository, spec, "repository");
  take_text(config.image, spec, "image");
  take_text(config.version, spec, "version");
  config.precompiled = as_bool(find(spec, "usePrecompiled"));
  JsonObject module;
  for (auto key : {"kernelModuleConfig", "kernelModuleType", "useOpenKernelModules", "rdma", "gds",
                   "gdrcopy"}) {
    if (const Json* value = find(spec, key)) module[key] = *value;
  }
  config.kernel_module = std::move(module);
}

}  // namespace

std::string DriverConfig::digest() const {
  JsonObject parts{{"repository", repository},
                   {"image", image},
                   {"version", version},
                   {"kernelModule", kernel_module}};
  if (precompiled) parts["usePrecompiled"] = true;
  return template_hash(std::move(parts));
}

bool makes_driver(const Json& policy) {
  const Json* driver = find(policy, "spec", "driver");
  if (driver == nullptr) return false;
  return as_bool(find(*driver, "enabled"), true) && !as_bool(find(*driver, "useNvidiaDriverCRD"));
}

DriverConfig config_of_cluster_policy(const Json& policy) {
  DriverConfig config;
  config.node_selector["nvidia.com/gpu.deploy.driver"] = "true";
  if (const Json* driver = find(policy, "spec", "driver")) take_driver_fields(config, *driver);
  take_object(config.annotations, find(policy, "spec", "daemonsets", "annotations"));
  take_object(config.labels, find(policy, "spec", "daemonsets", "labels"));
  const Json* tolerations = find(policy, "spec", "daemonsets", "tolerations");
  if (tolerations != nullptr && tolerations->is_array())
    config.tolerations = tolerations->get_array();
  return config;
}

DriverConfig config_of_nvidia_driver(const Json& driver) {
  DriverConfig config;
  config.owner = text_at(driver, "metadata", "name");
  config.daemon_set = fmt::format("nvidia-gpu-driver-{}", config.owner);
  config.node_selector["nvidia.com/gpu.deploy.driver"] = "true";
  config.node_selector[driver_owner_label] = config.owner;
  if (const Json* spec = find(driver, "spec")) {
    take_driver_fields(config, *spec);
    take_object(config.annotations, find(*spec, "annotations"));
    take_object(config.labels, find(*spec, "labels"));
  }
  return config;
}

Json driver_daemon_set(const DriverConfig& config) {
  // The labels by which pods are found; for an NVIDIADriver `app` is the DaemonSet's own name.
  JsonObject identity{{"app", config.daemon_set}};
  JsonObject labels = config.labels;
  labels["app"] = config.daemon_set;
  labels["app.kubernetes.io/component"] = "nvidia-driver";
  JsonObject manager{
      {"name", "k8s-driver-manager"},
      {"image", "nvcr.io/nvidia/cloud-native/k8s-driver-manager:v0.8.1"},
      // As docs/GPU-OPERATOR.md says: the upgrade controller moves pods and uncordons.
      {"env", JsonArray{JsonObject{{"name", "DRIVER_CONFIG_DIGEST"}, {"value", config.digest()}},
                        JsonObject{{"name", "ENABLE_GPU_POD_EVICTION"}, {"value", "false"}}}}};
  JsonObject driver{
      {"name", "nvidia-driver-ctr"},
      {"image", driver_image(config.repository, config.image, config.version, config.precompiled)},
      {"securityContext", JsonObject{{"privileged", true}}}};
  JsonObject metadata{{"labels", labels}};
  if (!config.annotations.empty()) metadata["annotations"] = config.annotations;
  JsonObject spec{{"nodeSelector", config.node_selector},
                  {"tolerations", config.tolerations},
                  {"terminationGracePeriodSeconds", 60},
                  {"initContainers", JsonArray{std::move(manager)}},
                  {"containers", JsonArray{std::move(driver)}}};
  Json pod_template = JsonObject{{"metadata", std::move(metadata)}, {"spec", std::move(spec)}};
  JsonObject annotations{{applied_hash_annotation, template_hash(pod_template)}};
  return JsonObject{
      {"apiVersion", "apps/v1"},
      {"kind", "DaemonSet"},
      {"metadata", JsonObject{{"name", config.daemon_set},
                              {"namespace", operator_namespace},
                              {"labels", labels},
                              {"annotations", std::move(annotations)}}},
      {"spec", JsonObject{{"selector", JsonObject{{"matchLabels", std::move(identity)}}},
                          {"updateStrategy", JsonObject{{"type", "OnDelete"}}},
                          {"template", std::move(pod_template)}}}};
}

}  // namespace lockstep::sim
