#include "sim/scenario/scenario.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "rollout/rollout_spec.h"
#include "sim/scenario/expectations_reader.h"
#include "sim/scenario/fault_reader.h"
#include "sim/scenario/step_reader.h"

namespace lockstep::sim {

bool NodeChoice::includes(int number) const {
  return number <= first || (every > 0 && number % every == 0) ||
         std::find(numbers.begin(), numbers.end(), number) != numbers.end();
}

std::map<std::string, double> read_rates(StrictReader& reader) {
  std::map<std::string, double> rates;
  reader.entries([&](const std::string& version, StrictReader& rate) {
    rate.read(rates[version], [](const Json& json) { return strict::decimal(json); });
  });
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

void read_workloads(StrictReader& reader, Scenario& scenario) {
  WorkloadOptions& workloads = scenario.fleet.workloads;
  auto share = [&](std::string_view key, int WorkloadOptions::* field) {
    std::optional<IntOrPercent> value;
    reader.read(key, value, read_share);
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

// "90s", or "60s-120s".
Result<Range> read_range(const Json& json) {
  std::vector<std::string_view> parts = split(as_text(&json), '-');
  auto from = parse_duration(trim(parts.front()));
  auto to = parse_duration(trim(parts.back()));
  if (json.is_string() && from && to && parts.size() <= 2 && *from <= *to) return Range{*from, *to};
  return fail(strict::not_one("a duration or a range such as 60s-120s", json));
}

void read_latencies(StrictReader& reader, Latencies& latencies) {
  auto range = [&](std::string_view key, Range& into) { reader.read(key, into, read_range); };
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

NodeChoice read_nodes(StrictReader& reader) {
  NodeChoice choice;
  reader.any("nodes", [&](StrictReader& nodes) { choice = read_some_nodes(nodes); });
  reader.required("nodes");
  return choice;
}

void read_labels(StrictReader& reader, Scenario& scenario) {
  JsonObject labels;
  reader.object("set", labels).required("set");
  reader.any("set", [](StrictReader& set) { check_texts(set, false); });
  scenario.labels.emplace_back(read_nodes(reader), std::move(labels));
}

void read_fleet(StrictReader& reader, Scenario& scenario) {
  constexpr int64_t most_nodes = 200'000;
  reader.number("nodes", scenario.fleet.nodes, 1, most_nodes);
  reader.number("minNodes", scenario.min_nodes, 1, most_nodes);
  reader.text("from", scenario.fleet.driver_version);
  std::string naming;
  reader.word("images", naming, {"version", "suffix", "precompiled", "digest"});
  scenario.fleet.image_naming = image_naming_of(naming).value_or(ImageNaming::version);
  std::vector<std::string> drivers;
  reader.texts("nvidiaDrivers", drivers);
  for (const std::string& name : drivers) {
    if (name.empty()) reader.refuse("nvidiaDrivers", "must be names of NVIDIADrivers");
    scenario.fleet.nvidia_drivers[name] = scenario.fleet.driver_version;
  }
  reader.flag("dra", scenario.fleet.dra).flag("draRenamed", scenario.fleet.dra_renamed);
  reader.flag("validator", scenario.fleet.validator);
  reader.flag("operatorRuns", scenario.fleet.operator_runs);
  reader.any("driverTolerations", [&](StrictReader& tolerations) {
    tolerations.as_list([](StrictReader&) {});
    scenario.fleet.driver_tolerations = tolerations.json();
  });
  reader.any("policy", [&](StrictReader& policy) {
    check_policy(policy, false);
    scenario.fleet.upgrade_policy = policy.json();
  });
  reader.flag("prunesPolicy", scenario.fleet.prunes_policy);
  reader.any("policyAnnotation", [&](StrictReader& policy) {
    check_policy(policy, true);
    scenario.fleet.policy_annotation = policy.json();
  });
  reader.word("driverStrategy", scenario.fleet.driver_strategy, {"OnDelete", "RollingUpdate"});
  reader.within("workloads", [&](StrictReader& workloads) { read_workloads(workloads, scenario); });
  reader.within("latencies",
                [&](StrictReader& latencies) { read_latencies(latencies, scenario.latencies); });
  reader.each("labels", [&](StrictReader& labels) { read_labels(labels, scenario); });
  reader.each("machines", [&](StrictReader& machine) {
    NodeBehaviour behaviour = read_behaviour(machine);
    scenario.machines.emplace_back(read_nodes(machine), std::move(behaviour));
  });
}

void read_controllers(StrictReader& reader, Scenario& scenario) {
  reader.word("keyDomain", scenario.key_domain, {"nvidia.com", "lockstep.dev"});
  reader.flag("rerollClients", scenario.reroll_clients);
  reader.duration("reroll", scenario.reroll_timeout);
  reader.flag("healPlugins", scenario.heal_plugins);
  reader.flag("failBadConfigs", scenario.fail_bad_configs);
  reader.flag("permanentFailures", scenario.permanent_failures);
  reader.flag("annotateDra", scenario.gpu_operator.annotate_dra);
  reader.flag("hook", scenario.gpu_operator.restart_dra_after_upgrade);
  constexpr int64_t most_controllers = 16;
  reader.number("controllers", scenario.controllers, 1, most_controllers);
  reader.decimal("controllerFaults", scenario.controller_faults, 0, 1);
  reader.decimal("fleetFaults", scenario.fleet_faults, 0, 1);
  reader.flag("conduct", scenario.conduct).flag("health", scenario.health);
  reader.any("xidRates", [&](StrictReader& rates) { scenario.xid_rates = read_rates(rates); });
}

void read_rollout(StrictReader& reader, Scenario& scenario) {
  reader.any("rollout", [&](StrictReader& rollout) {
    scenario.rollout = rollout.json();
    auto spec = rollout::read_rollout_spec(JsonObject{{"spec", scenario.rollout}});
    if (!spec.problems.empty()) rollout.refuse(spec.problems.front());
  });
  reader.duration("selfHeal", scenario.self_heal);
  if (scenario.self_heal > Duration(0) &&
      (scenario.rollout.is_null() || find(scenario.rollout, "matrix") != nullptr)) {
    reader.refuse("selfHeal", "needs a rollout without a matrix");
  }
}

void read_whole(StrictReader& reader, Scenario& scenario) {
  reader.text("name", scenario.name).required("name", "name the scenario as its file");
  reader.text("about", scenario.about);
  reader.number("seeds", scenario.seeds, 1);
  reader.text("to", scenario.to_version).text("chart", scenario.to_chart);
  reader.duration("limit", scenario.limit).duration("aftermath", scenario.aftermath);
  read_fleet(reader, scenario);
  read_controllers(reader, scenario);
  read_rollout(reader, scenario);
  reader.items("steps", [&](StrictReader& step) {
    scenario.steps.push_back(read_step(step, scenario.steps.empty()));
    if (scenario.rollout.is_null() && is_about_rollout(scenario.steps.back())) {
      step.refuse("needs a rollout: the scenario has none");
    }
  });
  reader.within("faults", [&](StrictReader& faults) { read_faults(faults, scenario); });
  reader.any("expect", [&](StrictReader& expect) { scenario.expect = read_expectations(expect); });
  reader.required("expect", "say what must hold at the end");
}

}  // namespace

Result<Scenario> read_scenario(std::string_view text, std::string_view name) {
  LOCKSTEP_TRY(const YamlFile file, YamlFile::parse(std::string(name), std::string(text)));
  Scenario scenario;
  scenario.fleet.upgrade_policy = JsonObject{{"autoUpgrade", true}};
  Reading reading(file, {.refuse_null = true});
  reading.map(file.json, [&](StrictReader& reader) { read_whole(reader, scenario); });
  LOCKSTEP_CHECK(reading.result());
  if (auto enough = check_nodes(scenario, 0); !enough) return fail(enough.error().at(name));
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
