// The work that keeps the fleet's GPUs busy.
#include <utility>

#include <fmt/format.h>

#include "fleet/keys.h"
#include "sim/actors/claim_controller.h"
#include "sim/actors/fleet_objects.h"

namespace lockstep::sim {

namespace {

const std::string work_namespace = "ml-training";

JsonObject container(std::string_view name, int gpus) {
  JsonObject container{{"name", name}, {"image", fmt::format("registry.example/{}:2026.11", name)}};
  if (gpus > 0) {
    container["resources"] =
        JsonObject{{"limits", JsonObject{{"nvidia.com/gpu", std::to_string(gpus)}}}};
  }
  return container;
}

Json deployment(std::string_view name, int replicas, JsonObject pod_spec) {
  JsonObject labels{{"app", name}};
  return JsonObject{
      {"apiVersion", "apps/v1"},
      {"kind", "Deployment"},
      {"metadata", JsonObject{{"name", name}, {"labels", labels}}},
      {"spec", JsonObject{{"replicas", replicas},
                          {"selector", JsonObject{{"matchLabels", labels}}},
                          {"template", JsonObject{{"metadata", JsonObject{{"labels", labels}}},
                                                  {"spec", std::move(pod_spec)}}}}}};
}

Json claim_template() {
  JsonObject request{{"name", "gpu"},
                     {"exactly", JsonObject{{"deviceClassName", "gpu.nvidia.com"},
                                            {"allocationMode", "ExactCount"},
                                            {"count", 1}}}};
  return JsonObject{
      {"apiVersion", claim_templates.api_version()},
      {"kind", claim_templates.kind},
      {"metadata", JsonObject{{"name", "one-gpu"}}},
      {"spec",
       JsonObject{{"spec", JsonObject{{"devices", JsonObject{{"requests",
                                                              JsonArray{std::move(request)}}}}}}}}};
}

JsonObject claim_pod_spec() {
  JsonObject main = container("dra-inference", 0);
  main["resources"] = JsonObject{{"claims", JsonArray{JsonObject{{"name", "gpu"}}}}};
  return {{"containers", JsonArray{std::move(main)}},
          {"resourceClaims",
           JsonArray{JsonObject{{"name", "gpu"}, {"resourceClaimTemplateName", "one-gpu"}}}}};
}

Json job(const WorkloadOptions& workloads) {
  JsonObject metadata{{"labels", JsonObject{{"app", "llm-pretrain"}}},
                      {"annotations", JsonObject{{"sim.lockstep.dev/run-seconds",
                                                  std::to_string(workloads.job_seconds)}}}};
  return JsonObject{
      {"apiVersion", "batch/v1"},
      {"kind", "Job"},
      {"metadata", JsonObject{{"name", "llm-pretrain"}}},
      {"spec",
       JsonObject{{"parallelism", workloads.job_pods},
                  {"completions", workloads.job_pods},
                  {"template",
                   JsonObject{{"metadata", std::move(metadata)},
                              {"spec", JsonObject{{"restartPolicy", "Never"},
                                                  {"containers",
                                                   JsonArray{container("llm-pretrain",
                                                                       workloads.job_gpus)}}}}}}}}};
}

Json bare_pod() {
  return JsonObject{
      {"apiVersion", "v1"},
      {"kind", "Pod"},
      {"metadata", JsonObject{{"name", "notebook"}, {"labels", JsonObject{{"app", "notebook"}}}}},
      {"spec", JsonObject{{"containers", JsonArray{container("notebook", 1)}}}}};
}

Json kept_pod() {
  return JsonObject{
      {"apiVersion", "v1"},
      {"kind", "Pod"},
      {"metadata",
       JsonObject{{"name", "kept"},
                  {"labels", JsonObject{{"app", "kept"}, {fleet::Keys().drain_skip, "true"}}}}},
      {"spec", JsonObject{{"containers", JsonArray{container("kept", 1)}}}}};
}

Json bad_claim_template(std::string_view name, std::string_view key, Json value) {
  JsonObject parameters{{"apiVersion", "resource.nvidia.com/v1beta1"}, {"kind", "GpuConfig"}};
  parameters[key] = std::move(value);
  JsonObject config{
      {"opaque", JsonObject{{"driver", "gpu.nvidia.com"}, {"parameters", std::move(parameters)}}}};
  Json made = claim_template();
  made.as_object()["metadata"] = JsonObject{{"name", name}};
  made.as_object()["spec"].as_object()["spec"].as_object()["devices"].as_object()["config"] =
      JsonArray{std::move(config)};
  return made;
}

Json bad_config_pod(std::string_view name, std::string_view claim_template_name) {
  JsonObject main = container(std::string(name), 0);
  main["resources"] = JsonObject{{"claims", JsonArray{JsonObject{{"name", "gpu"}}}}};
  return JsonObject{
      {"apiVersion", "v1"},
      {"kind", "Pod"},
      {"metadata", JsonObject{{"name", name}}},
      {"spec", JsonObject{{"containers", JsonArray{std::move(main)}},
                          {"resourceClaims", JsonArray{JsonObject{{"name", "gpu"},
                                                                  {"resourceClaimTemplateName",
                                                                   claim_template_name}}}}}}};
}

Json budget(int min_available) {
  return JsonObject{
      {"apiVersion", "policy/v1"},
      {"kind", "PodDisruptionBudget"},
      {"metadata", JsonObject{{"name", "inference"}}},
      {"spec",
       JsonObject{{"minAvailable", min_available},
                  {"selector", JsonObject{{"matchLabels", JsonObject{{"app", "inference"}}}}}}}};
}

Json probe_daemon_set() {
  constexpr std::string_view name = "gpu-health-probe";
  JsonObject labels{{"app", name}};
  return JsonObject{
      {"apiVersion", "apps/v1"},
      {"kind", "DaemonSet"},
      {"metadata", JsonObject{{"name", name}, {"labels", labels}}},
      {"spec",
       JsonObject{
           {"selector", JsonObject{{"matchLabels", labels}}},
           {"updateStrategy", JsonObject{{"type", "RollingUpdate"}}},
           {"template",
            JsonObject{{"metadata", JsonObject{{"labels", labels}}},
                       {"spec",
                        JsonObject{{"nodeSelector", JsonObject{{"nvidia.com/gpu.present", "true"}}},
                                   {"containers", JsonArray{container(name, 1)}}}}}}}}};
}

}  // namespace

std::vector<kube::Request> workload_requests(const WorkloadOptions& workloads) {
  std::vector<kube::Request> requests;
  auto add = [&](const ResourceType& type, Json object) {
    requests.push_back(kube::create(type, work_namespace, std::move(object)));
  };
  if (workloads.deployment_replicas > 0) {
    add(resource::deployments,
        deployment("inference", workloads.deployment_replicas,
                   {{"containers", JsonArray{container("inference", workloads.deployment_gpus)}}}));
    if (workloads.min_available >= 0)
      add(resource::pod_disruption_budgets, budget(workloads.min_available));
  }
  if (workloads.job_pods > 0) add(resource::jobs, job(workloads));
  if (workloads.claim_pods > 0) {
    add(claim_templates, claim_template());
    add(resource::deployments, deployment("dra-inference", workloads.claim_pods, claim_pod_spec()));
  }
  if (workloads.extended_pods > 0) {
    JsonObject main = container("extended", 0);
    main["resources"] = JsonObject{{"limits", JsonObject{{extended_gpu_resource, "1"}}}};
    add(resource::deployments, deployment("extended", workloads.extended_pods,
                                          {{"containers", JsonArray{std::move(main)}}}));
  }
  if (workloads.bare_pod) add(resource::pods, bare_pod());
  if (workloads.kept_pod) add(resource::pods, kept_pod());
  if (workloads.bad_config_pod) {
    add(claim_templates, bad_claim_template("one-gpu-shared", "sharring", "TimeSlicing"));
    add(resource::pods, bad_config_pod("bad-config", "one-gpu-shared"));
  }
  if (workloads.partitions_pod) {
    add(claim_templates,
        bad_claim_template("one-gpu-parted", "sharing",
                           JsonObject{{"strategy", "SpacePartitioning"}, {"partitionCount", 99}}));
    add(resource::pods, bad_config_pod("partitions", "one-gpu-parted"));
  }
  if (workloads.empty_dir_pod) {
    JsonObject spec{
        {"containers", JsonArray{container("scratch", 1)}},
        {"volumes", JsonArray{JsonObject{{"name", "scratch"}, {"emptyDir", JsonObject{}}}}}};
    add(resource::deployments, deployment("scratch", 1, std::move(spec)));
  }
  if (workloads.daemon_set_pods) add(resource::daemon_sets, probe_daemon_set());
  return requests;
}

}  // namespace lockstep::sim
