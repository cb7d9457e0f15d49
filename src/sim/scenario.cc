#include "sim/scenario.h"

#include <algorithm>

#include <fmt/format.h>

#include "data/yaml.h"
#include "rollout/rollout_spec.h"
#include "sim/expectations_reader.h"
#include "sim/fault_reader.h"
#include "sim/step_reader.h"
#include "sim/strict_reader.h"

namespace lockstep::sim {

bool NodeChoice::includes(int number) const {
  return number <= first || (every > 0 && number % every == 0) ||
         std::find(numbers.begin(), numbers.end(), number) != numbers.end();
}

std::map<std::string, double> read_rates(const Json& json, const std::string& path,
                                         std::optional<Error>& error) {
  std::map<std::string, double> rates;
  StrictReader reader(json, path, error);
  if (!json.is_object()) return rates;
  for (const auto& [version, rate] : json.get_object()) {
    double value = 0;
    reader.decimal(std::string(version), value);
    rates[std::string(version)] = value;
  }
  return rates;
}

std::vector<std::string> NodeChoice::names(int nodes) const {
  std::vector<std::string> chosen;
  for (int number = 1; number <= nodes; ++number) {
    if (includes(number)) chosen.push_back(node_name(number - 1));
  }
  return chosen;
}

int NodeChoice::highest() const {
  int highest = first;
  for (int number : numbers) highest = std::max(highest, number);
  return highest;
}

Duration length_of(const Interference& step) {
  return parse_duration(as_text(&step.value)).value_or(Duration(0));
}

namespace {

using Errors = std::optional<Error>;

void read_workloads(const Json& json, Scenario& scenario, Errors& error) {
  StrictReader reader(json, "workloads", error);
  WorkloadOptions& workloads = scenario.fleet.workloads;
  auto share = [&](const std::string& key, int WorkloadOptions::* field) {
    std::optional<IntOrPercent> value;
    reader.maybe(key, value, &StrictReader::share);
    if (value) scenario.shares.emplace_back(field, *value);
  };
  share("deploymentReplicas", &WorkloadOptions::deployment_replicas);
  share("minAvailable", &WorkloadOptions::min_available);
  share("jobPods", &WorkloadOptions::job_pods);
  share("claimPods", &WorkloadOptions::claim_pods);
  share("extendedPods", &WorkloadOptions::extended_pods);
  reader.number("deploymentGpus", workloads.deployment_gpus);
  reader.number("jobGpus", workloads.job_gpus);
  reader.number("jobSeconds", workloads.job_seconds, 1);
  reader.flag("barePod", workloads.bare_pod);
  reader.flag("keptPod", workloads.kept_pod);
  reader.flag("badConfigPod", workloads.bad_config_pod);
  reader.flag("partitionsPod", workloads.partitions_pod);
  reader.flag("emptyDirPod", workloads.empty_dir_pod);
  reader.flag("daemonSetPods", workloads.daemon_set_pods);
}

void read_latencies(const Json& json, Latencies& latencies, Errors& error) {
  StrictReader reader(json, "latencies", error);
  auto range = [&](const std::string& key, Range& into) {
    reader.range(key, into.least, into.most);
  };
  range("imagePull", latencies.image_pull);
  range("initContainer", latencies.init_container);
  range("driverUnload", latencies.driver_unload);
  range("driverLoad", latencies.driver_load);
  range("driverAttach", latencies.driver_attach);
  range("clientStart", latencies.client_start);
  range("validatorRun", latencies.validator_run);
  range("podStop", latencies.pod_stop);
  range("workloadStart", latencies.workload_start);
  range("gpuLabels", latencies.gpu_labels);
}

void read_machine(const Json& json, const std::string& path, Scenario& scenario, Errors& error) {
  StrictReader reader(json, path, error);
  NodeBehaviour behaviour = read_behaviour(reader);
  const Json* nodes = reader.get("nodes");
  if (nodes == nullptr) return reader.complain(path, "does not say which nodes");
  scenario.machines.emplace_back(read_some_nodes(*nodes, path + ".nodes", error), behaviour);
}

void read_labels(const Json& json, const std::string& path, Scenario& scenario, Errors& error) {
  StrictReader reader(json, path, error);
  const Json* nodes = reader.get("nodes");
  const Json* labels = reader.get("set");
  if (nodes == nullptr || labels == nullptr || !labels->is_object()) {
    return reader.complain(path, "must say which nodes, and set: a map of labels");
  }
  check_texts(*labels, path + ".set", false, error);
  scenario.labels.emplace_back(read_some_nodes(*nodes, path + ".nodes", error),
                               labels->get_object());
}

template <typename Each>
void read_list(StrictReader& reader, const std::string& key, Each each) {
  const Json* list = reader.get(key);
  if (list == nullptr) return;
  if (!list->is_array()) return reader.complain(reader.path(key), "must be a list");
  int index = 0;
  for (const auto& entry : list->get_array()) {
    each(entry, fmt::format("{}[{}]", reader.path(key), index));
    ++index;
  }
}

void read_whole(const Json& json, Scenario& scenario, Errors& error) {
  StrictReader reader(json, "", error);
  reader.text("name", scenario.name);
  if (scenario.name.empty() && json.is_object()) {
    reader.complain("name", "is missing: what the scenario is called, best as its file is");
  }
  reader.text("about", scenario.about);
  constexpr int64_t most_nodes = 200'000;
  reader.number("nodes", scenario.fleet.nodes, 1, most_nodes);
  reader.number("minNodes", scenario.min_nodes, 1, most_nodes);
  reader.number("seeds", scenario.seeds, 1);
  reader.text("from", scenario.fleet.driver_version);
  reader.text("to", scenario.to_version);
  reader.text("chart", scenario.to_chart);
  std::string naming;
  reader.word("images", naming, {"version", "suffix", "precompiled", "digest"}, "naming of images");
  scenario.fleet.image_naming = image_naming_of(naming).value_or(ImageNaming::version);
  read_list(reader, "nvidiaDrivers", [&](const Json& entry, const std::string& path) {
    std::string name(as_text(&entry));
    if (name.empty()) return reader.complain(path, "must be the name of an NVIDIADriver");
    scenario.fleet.nvidia_drivers[name] = scenario.fleet.driver_version;
  });
  reader.word("keyDomain", scenario.key_domain, {"nvidia.com", "lockstep.dev"}, "key domain");
  if (scenario.key_domain.empty()) scenario.key_domain = "nvidia.com";
  reader.flag("rerollClients", scenario.reroll_clients);
  reader.duration("reroll", scenario.reroll_timeout);
  reader.flag("healPlugins", scenario.heal_plugins);
  reader.flag("failBadConfigs", scenario.fail_bad_configs);
  reader.flag("permanentFailures", scenario.permanent_failures);
  reader.flag("annotateDra", scenario.gpu_operator.annotate_dra);
  reader.flag("hook", scenario.gpu_operator.restart_dra_after_upgrade);
  reader.flag("dra", scenario.fleet.dra);
  reader.flag("draRenamed", scenario.fleet.dra_renamed);
  reader.flag("validator", scenario.fleet.validator);
  reader.flag("operatorRuns", scenario.fleet.operator_runs);
  if (const Json* tolerations = reader.get("driverTolerations")) {
    scenario.fleet.driver_tolerations = *tolerations;
    if (!tolerations->is_array()) reader.complain("driverTolerations", "must be a list");
  }
  constexpr int64_t most_controllers = 16;
  reader.number("controllers", scenario.controllers, 1, most_controllers);
  reader.chance("controllerFaults", scenario.controller_faults);
  reader.chance("fleetFaults", scenario.fleet_faults);
  reader.duration("limit", scenario.limit);
  reader.duration("aftermath", scenario.aftermath);
  if (const Json* policy = reader.get("policy")) {
    check_policy(*policy, "policy", false, error);
    scenario.fleet.upgrade_policy = *policy;
  }
  reader.flag("prunesPolicy", scenario.fleet.prunes_policy);
  if (const Json* policy = reader.get("policyAnnotation")) {
    check_policy(*policy, "policyAnnotation", true, error);
    scenario.fleet.policy_annotation = *policy;
  }
  reader.word("driverStrategy", scenario.fleet.driver_strategy, {"OnDelete", "RollingUpdate"},
              "update strategy");
  if (const Json* workloads = reader.get("workloads")) read_workloads(*workloads, scenario, error);
  if (const Json* latencies = reader.get("latencies")) {
    read_latencies(*latencies, scenario.latencies, error);
  }
  if (const Json* rollout = reader.get("rollout")) {
    scenario.rollout = *rollout;
    auto spec = rollout::read_rollout_spec(JsonObject{{"spec", *rollout}});
    if (!spec.problems.empty()) reader.complain("rollout", spec.problems.front());
  }
  reader.duration("selfHeal", scenario.self_heal);
  if (scenario.self_heal > Duration(0) &&
      (scenario.rollout.is_null() || find(scenario.rollout, "matrix") != nullptr)) {
    reader.complain("selfHeal", "needs a rollout without a matrix");
  }
  reader.flag("conduct", scenario.conduct);
  reader.flag("health", scenario.health);
  if (const Json* rates = reader.get("xidRates")) {
    scenario.xid_rates = read_rates(*rates, "xidRates", error);
  }
  read_list(reader, "labels", [&](const Json& entry, const std::string& path) {
    read_labels(entry, path, scenario, error);
  });
  read_list(reader, "machines", [&](const Json& entry, const std::string& path) {
    read_machine(entry, path, scenario, error);
  });
  read_list(reader, "steps", [&](const Json& entry, const std::string& path) {
    scenario.steps.push_back(read_step(entry, path, scenario.steps.empty(), error));
    if (scenario.rollout.is_null() && is_about_rollout(scenario.steps.back())) {
      reader.complain(path, "needs a rollout: the scenario has none");
    }
  });
  if (const Json* faults = reader.get("faults")) read_faults(*faults, "faults", scenario, error);
  if (const Json* expect = reader.get("expect")) {
    scenario.expect = read_expectations(*expect, "expect", error);
  } else if (json.is_object()) {
    reader.complain("expect", "is missing: a scenario says what must hold at its end");
  }
}

}  // namespace

Result<Scenario> read_scenario(std::string_view text, std::string_view file) {
  LOCKSTEP_TRY(Json json, parse_yaml(text, file));
  Scenario scenario;
  scenario.fleet.upgrade_policy = JsonObject{{"autoUpgrade", true}};
  Errors error;
  read_whole(json, scenario, error);
  if (error) return fail(error->at(file));
  if (auto enough = check_nodes(scenario, 0); !enough) return fail(enough.error().at(file));
  return scenario;
}

WorkloadOptions workloads_of(const Scenario& scenario, int nodes) {
  WorkloadOptions workloads = scenario.fleet.workloads;
  for (const auto& [field, share] : scenario.shares) {
    workloads.*field = static_cast<int>(share.of(nodes, Rounding::up));
  }
  return workloads;
}

namespace {

// Which nodes it names, and where: a machine that is not there would have nothing wrong with it.
std::vector<std::pair<std::string, int>> highest_nodes(const Scenario& scenario) {
  std::vector<std::pair<std::string, int>> highest;
  auto add = [&](std::string_view list, size_t index, const NodeChoice& choice) {
    highest.emplace_back(fmt::format("{}[{}].nodes", list, index), choice.highest());
  };
  for (size_t i = 0; i < scenario.labels.size(); ++i) add("labels", i, scenario.labels[i].first);
  for (size_t i = 0; i < scenario.machines.size(); ++i) {
    add("machines", i, scenario.machines[i].first);
  }
  for (size_t i = 0; i < scenario.steps.size(); ++i) add("steps", i, scenario.steps[i].nodes);
  return highest;
}

}  // namespace

Result<void> check_nodes(const Scenario& scenario, int nodes) {
  int count = nodes == 0 ? scenario.fleet.nodes : nodes;
  if (count < scenario.min_nodes) {
    return failf(ErrorKind::invalid, "{} needs at least {} nodes to show what it is about, not {}",
                 scenario.name.empty() ? "the scenario" : scenario.name, scenario.min_nodes, count);
  }
  for (const auto& [place, number] : highest_nodes(scenario)) {
    if (number <= count) continue;
    return fail(Error{ErrorKind::invalid,
                      fmt::format("names node {}, and there are {} nodes", number, count), place});
  }
  return {};
}

}  // namespace lockstep::sim
