#include "sim/scenario/scenario_text.h"

#include "data/yaml.h"
#include "sim/scenario/fault_reader.h"

namespace lockstep::sim {

namespace {

Json json_of(Duration duration) { return Json(format_duration(duration)); }

Json json_of(const NodeChoice& choice) {
  if (choice.first > 0) return JsonObject{{"first", choice.first}};
  if (choice.every > 0) return JsonObject{{"every", choice.every}};
  JsonArray numbers;
  for (int number : choice.numbers) numbers.emplace_back(number);
  return numbers;
}

Json json_of(const NodeChoice& choice, const NodeBehaviour& behaviour) {
  JsonObject machine{{"nodes", json_of(choice)}};
  auto text = [&](std::string_view key, const std::string& value) {
    if (!value.empty()) machine[key] = value;
  };
  text("imagePullFails", behaviour.image_pull_fails);
  text("driverCrashes", behaviour.driver_crashes);
  if (behaviour.driver_crash_count >= 0) machine["driverCrashCount"] = behaviour.driver_crash_count;
  text("driverNeverReady", behaviour.driver_never_ready);
  text("loadsInstead", behaviour.loads_instead);
  text("validationFails", behaviour.validation_fails);
  text("gateFails", behaviour.gate_fails);
  text("prepareFails", behaviour.prepare_fails);
  JsonObject speeds;
  for (const auto& [version, speed] : behaviour.gate_speeds) speeds[version] = speed;
  if (!speeds.empty()) machine["gateSpeeds"] = std::move(speeds);
  if (behaviour.keeps_operands) machine["keepsOperands"] = true;
  if (behaviour.manager_uncordons) machine["managerUncordons"] = true;
  if (behaviour.driver_load > Duration(0)) machine["driverLoad"] = json_of(behaviour.driver_load);
  if (behaviour.slices_late > Duration(0)) machine["slicesLate"] = json_of(behaviour.slices_late);
  if (behaviour.slowness != 1.0) machine["slowness"] = behaviour.slowness;
  return machine;
}

Json json_of(const WorkloadOptions& work) {
  const WorkloadOptions none;
  JsonObject json;
  auto number = [&](std::string_view key, int value, int usual) {
    if (value != usual) json[key] = value;
  };
  number("deploymentReplicas", work.deployment_replicas, none.deployment_replicas);
  number("deploymentGpus", work.deployment_gpus, none.deployment_gpus);
  number("minAvailable", work.min_available, none.min_available);
  number("jobPods", work.job_pods, none.job_pods);
  number("jobGpus", work.job_gpus, none.job_gpus);
  if (work.job_seconds != none.job_seconds) json["jobSeconds"] = work.job_seconds;
  number("claimPods", work.claim_pods, none.claim_pods);
  number("extendedPods", work.extended_pods, none.extended_pods);
  auto flag = [&](std::string_view key, bool value) {
    if (value) json[key] = true;
  };
  flag("barePod", work.bare_pod);
  flag("keptPod", work.kept_pod);
  flag("badConfigPod", work.bad_config_pod);
  flag("partitionsPod", work.partitions_pod);
  flag("emptyDirPod", work.empty_dir_pod);
  flag("daemonSetPods", work.daemon_set_pods);
  return json;
}

Json json_of(const Interference& step) {
  JsonObject json;
  if (step.at > Duration(0)) json["at"] = json_of(step.at);
  if (step.after) json["after"] = json_of(*step.after);
  if (step.state) json["state"] = fleet::display_name(*step.state);
  if (step.reached.value != 1) json["reached"] = step.reached.to_json();
  if (!step.phase.empty()) json["phase"] = step.phase;
  if (step.promptly) json["promptly"] = true;
  if (step.rest) json["rest"] = true;
  bool on_nodes = !step.nodes.numbers.empty() || step.nodes.first > 0 || step.nodes.every > 0;
  if (on_nodes) json["nodes"] = json_of(step.nodes);
  json[step.action] = step.value;
  return json;
}

Json json_of(const Expectations& expect) {
  JsonObject json;
  if (expect.done) json["done"] = *expect.done;
  if (expect.failed) json["failed"] = *expect.failed;
  if (expect.cordoned) json["cordoned"] = json_of(*expect.cordoned);
  if (expect.version) json["version"] = *expect.version;
  if (expect.rollout_settled) json["rolloutSettled"] = *expect.rollout_settled;
  if (expect.as_planned) json["asPlanned"] = *expect.as_planned;
  return json;
}

}  // namespace

std::string print_scenario(const Scenario& scenario) {
  JsonObject json{{"name", scenario.name},
                  {"nodes", scenario.fleet.nodes},
                  {"from", scenario.fleet.driver_version}};
  if (!scenario.to_version.empty()) json["to"] = scenario.to_version;
  if (scenario.fleet.image_naming != ImageNaming::version) {
    json["images"] = to_string(scenario.fleet.image_naming);
  }
  json["policy"] = scenario.fleet.upgrade_policy;
  if (scenario.fleet.prunes_policy) json["prunesPolicy"] = true;
  if (scenario.fleet.policy_annotation.is_object()) {
    json["policyAnnotation"] = scenario.fleet.policy_annotation;
  }
  if (const std::string& strategy = scenario.fleet.driver_strategy; strategy != "OnDelete") {
    json["driverStrategy"] = strategy;
  }
  Json work = json_of(workloads_of(scenario, scenario.fleet.nodes));
  if (!work.get_object().empty()) json["workloads"] = std::move(work);
  if (!scenario.rollout.is_null()) json["rollout"] = scenario.rollout;
  if (scenario.self_heal > Duration(0)) json["selfHeal"] = json_of(scenario.self_heal);
  if (scenario.key_domain != "nvidia.com") json["keyDomain"] = scenario.key_domain;
  if (!scenario.fleet.dra) json["dra"] = false;
  if (scenario.fleet.dra_renamed) json["draRenamed"] = true;
  if (scenario.fleet.operator_runs) json["operatorRuns"] = true;
  if (scenario.health) json["health"] = true;
  if (scenario.conduct) json["conduct"] = true;
  if (!scenario.xid_rates.empty()) {
    JsonObject rates;
    for (const auto& [version, rate] : scenario.xid_rates) rates[version] = rate;
    json["xidRates"] = std::move(rates);
  }
  if (const Range& lag = scenario.latencies.gpu_labels; lag.most > Duration(0)) {
    json["latencies"] =
        JsonObject{{"gpuLabels", format_duration(lag.least) + "-" + format_duration(lag.most)}};
  }
  if (scenario.controllers != 1) json["controllers"] = scenario.controllers;
  if (scenario.controller_faults > 0) json["controllerFaults"] = scenario.controller_faults;
  if (scenario.fleet_faults > 0) json["fleetFaults"] = scenario.fleet_faults;
  if (scenario.controller_weights || scenario.fleet_weights || scenario.world) {
    json["faults"] = faults_json(scenario);
  }
  JsonArray machines;
  for (const auto& [choice, behaviour] : scenario.machines) {
    machines.push_back(json_of(choice, behaviour));
  }
  if (!machines.empty()) json["machines"] = std::move(machines);
  JsonArray steps;
  for (const auto& step : scenario.steps) steps.push_back(json_of(step));
  if (!steps.empty()) json["steps"] = std::move(steps);
  json["limit"] = json_of(scenario.limit);
  json["aftermath"] = json_of(scenario.aftermath);
  json["expect"] = json_of(scenario.expect);
  return print_yaml(Json(std::move(json)));
}

}  // namespace lockstep::sim
