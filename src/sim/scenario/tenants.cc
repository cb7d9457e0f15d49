#include "sim/scenario/tenants.h"

#include <utility>

#include <fmt/format.h>

namespace lockstep::sim {

namespace {

Json workload_of(std::string_view kind, std::string_view name, JsonObject labels, Json spec,
                 JsonObject more) {
  JsonObject metadata{{"name", name}, {"namespace", tenant_namespace}, {"labels", labels}};
  more["selector"] = JsonObject{{"matchLabels", labels}};
  more["template"] = JsonObject{{"metadata", JsonObject{{"labels", std::move(labels)}}},
                                {"spec", std::move(spec)}};
  return JsonObject{{"apiVersion", "apps/v1"},
                    {"kind", kind},
                    {"metadata", std::move(metadata)},
                    {"spec", std::move(more)}};
}

Json pod_spec(int gpus) {
  JsonObject container{{"name", "agent"}, {"image", "registry.example/agent:2026.11"}};
  if (gpus > 0) {
    container["resources"] =
        JsonObject{{"limits", JsonObject{{"nvidia.com/gpu", std::to_string(gpus)}}}};
  }
  return JsonObject{{"containers", JsonArray{std::move(container)}}};
}

Json daemon_set(std::string_view name, std::string_view strategy, JsonObject labels) {
  labels["app"] = name;
  Json spec = pod_spec(0);
  spec.as_object()["nodeSelector"] = JsonObject{{"nvidia.com/gpu.present", "true"}};
  return workload_of("DaemonSet", name, std::move(labels), std::move(spec),
                     {{"updateStrategy", JsonObject{{"type", strategy}}}});
}

struct Imitation {
  ResourceType type;
  Json object;
};

Imitation imitation_of(std::string_view what) {
  if (what == "driver") {
    return {resource::daemon_sets, daemon_set(driver_daemon_set_name, "OnDelete", {})};
  }
  if (what == "validator") {
    return {resource::daemon_sets, daemon_set(validator_daemon_set_name, "RollingUpdate", {})};
  }
  if (what == "plugin") {
    return {resource::daemon_sets,
            daemon_set(dra_daemon_set_name, "RollingUpdate",
                       {{"nvidia-dra-driver-gpu-component", "kubelet-plugin"}})};
  }
  if (what == "operator") {
    return {resource::deployments,
            workload_of("Deployment", "gpu-operator", {{"app", "gpu-operator"}}, pod_spec(0),
                        {{"replicas", 1}})};
  }
  return {
      resource::deployments,
      workload_of("Deployment", "training", {{"app", driver_daemon_set_name}, {"role", "training"}},
                  pod_spec(1), {{"replicas", 2}})};
}

Result<void> outcome(const Result<Document>& done) {
  if (!done) return fail(done.error());
  return {};
}

}  // namespace

const std::vector<std::string>& imitations() {
  static const std::vector<std::string> known = {"driver", "gpuPods", "validator", "plugin",
                                                 "operator"};
  return known;
}

Result<void> imitate(Cluster& cluster, std::string_view what) {
  const std::string ns(tenant_namespace);
  if (!cluster.get(resource::namespaces, {"", ns})) {
    LOCKSTEP_CHECK(
        outcome(cluster.call(kube::create(resource::namespaces, "",
                                          JsonObject{{"apiVersion", "v1"},
                                                     {"kind", "Namespace"},
                                                     {"metadata", JsonObject{{"name", ns}}}}))));
  }
  Imitation made = imitation_of(what);
  const ObjectKey key{ns, std::string(text_at(made.object, "metadata", "name"))};
  if (!cluster.get(made.type, key)) {
    return outcome(cluster.call(kube::create(made.type, ns, std::move(made.object))));
  }
  JsonObject version{{"example.com/version", format_rfc3339(cluster.loop.now())}};
  JsonObject metadata{{"annotations", std::move(version)}};
  return outcome(cluster.call(merge_patch(
      made.type, key,
      JsonObject{
          {"spec", JsonObject{{"template", JsonObject{{"metadata", std::move(metadata)}}}}}})));
}

}  // namespace lockstep::sim
