#include "sim/scenario.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/strings.h"
#include "data/yaml.h"
#include "rollout/rollout_spec.h"
#include "sim/expectations_reader.h"
#include "sim/fault_reader.h"
#include "sim/strict_reader.h"
#include "upgrade/policy.h"

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
  reader.number("deploymentGpus", workloads.deployment_gpus);
  reader.number("jobGpus", workloads.job_gpus);
  reader.number("jobSeconds", workloads.job_seconds, 1);
  reader.flag("barePod", workloads.bare_pod);
  reader.flag("keptPod", workloads.kept_pod);
  reader.flag("badConfigPod", workloads.bad_config_pod);
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
}

NodeBehaviour read_behaviour(StrictReader& reader) {
  NodeBehaviour behaviour;
  reader.decimal("slowness", behaviour.slowness);
  reader.text("imagePullFails", behaviour.image_pull_fails);
  reader.text("driverCrashes", behaviour.driver_crashes);
  reader.number("driverCrashCount", behaviour.driver_crash_count);
  reader.text("driverNeverReady", behaviour.driver_never_ready);
  reader.text("loadsInstead", behaviour.loads_instead);
  reader.text("validationFails", behaviour.validation_fails);
  reader.flag("keepsOperands", behaviour.keeps_operands);
  reader.text("prepareFails", behaviour.prepare_fails);
  reader.text("gateFails", behaviour.gate_fails);
  reader.number("gateExitCode", behaviour.gate_exit_code, 1);
  if (const Json* speeds = reader.get("gateSpeeds")) {
    behaviour.gate_speeds = read_rates(*speeds, reader.path("gateSpeeds"), reader.error());
  }
  reader.duration("driverLoad", behaviour.driver_load);
  reader.duration("slicesLate", behaviour.slices_late);
  return behaviour;
}

void read_machine(const Json& json, const std::string& path, Scenario& scenario, Errors& error) {
  StrictReader reader(json, path, error);
  NodeBehaviour behaviour = read_behaviour(reader);
  const Json* nodes = reader.get("nodes");
  if (nodes == nullptr) return reader.complain(path, "does not say which nodes");
  scenario.machines.emplace_back(read_choice(*nodes, path + ".nodes", error), behaviour);
}

void read_labels(const Json& json, const std::string& path, Scenario& scenario, Errors& error) {
  StrictReader reader(json, path, error);
  const Json* nodes = reader.get("nodes");
  const Json* labels = reader.get("set");
  if (nodes == nullptr || labels == nullptr || !labels->is_object()) {
    return reader.complain(path, "must say which nodes, and set: a map of labels");
  }
  scenario.labels.emplace_back(read_choice(*nodes, path + ".nodes", error), labels->get_object());
}

// What upgradePolicy may say is for the policy's own reader to know.
void check_policy(const Json& json, const std::string& path, bool may_be_wrong, Errors& error) {
  if (error) return;
  if (!json.is_object()) {
    error = Error{ErrorKind::invalid, "must be a map", path};
    return;
  }
  upgrade::Policy policy = upgrade::read_policy(&json, path);
  const auto& complaints = policy.warnings.empty() ? policy.problems : policy.warnings;
  if (policy.warnings.empty() && may_be_wrong) return;
  if (!complaints.empty()) error = Error{ErrorKind::invalid, complaints.front(), path};
}

enum class Wants { text, map, yes, share, expectations, time, shift, replica, crash };

struct Action {
  std::string_view name;
  Wants wants;
  bool on_nodes = false;
};

constexpr std::array<Action, 45> known_actions = {{
    {"setVersion", Wants::text},
    {"setChart", Wants::text},
    {"setPolicy", Wants::map},
    {"pause", Wants::text},
    {"resume", Wants::yes},
    {"cosmeticChange", Wants::map},
    {"cordon", Wants::yes, true},
    {"uncordon", Wants::yes, true},
    {"retry", Wants::yes, true},
    {"skip", Wants::yes, true},
    {"unskip", Wants::yes, true},
    {"notReady", Wants::yes, true},
    {"ready", Wants::yes, true},
    {"repair", Wants::yes, true},
    {"crashDriver", Wants::yes, true},
    {"restart", Wants::yes},
    {"stop", Wants::yes},
    {"start", Wants::yes},
    {"crash", Wants::crash},
    {"addClaims", Wants::share},
    {"evictWork", Wants::yes},
    {"giveWay", Wants::yes},
    {"calm", Wants::yes},
    {"check", Wants::expectations},
    {"heal", Wants::yes},
    {"outage", Wants::time},
    {"partition", Wants::time},
    {"silenceWatches", Wants::yes},
    {"dropWatches", Wants::yes},
    {"olderReplica", Wants::replica},
    {"clockStep", Wants::shift},
    {"notReadyFor", Wants::time, true},
    {"rebootNodes", Wants::time, true},
    {"hangKubelets", Wants::time, true},
    {"deleteNodes", Wants::yes, true},
    {"recreateNodes", Wants::time, true},
    {"recreateDriverPods", Wants::yes, true},
    {"recreateDaemonSet", Wants::yes},
    {"relabel", Wants::map, true},
    {"setMachine", Wants::map, true},
    {"rollout", Wants::text},
    {"setRollout", Wants::map},
    {"setXidRates", Wants::map},
    {"setMatrix", Wants::map},
    {"cutGit", Wants::time},
}};

void read_action(StrictReader& reader, const std::string& key, const Action& action,
                 Interference& step, bool has_nodes) {
  std::string place = reader.path(key);
  const Json& value = step.value;
  switch (action.wants) {
    case Wants::text:
      if (!value.is_string()) reader.complain(place, "must be a text; put it in quotes");
      break;
    case Wants::map:
      if (!value.is_object()) reader.complain(place, "must be a map");
      if (key == "setPolicy") check_policy(value, place, true, reader.error());
      if (key == "setMachine") {
        StrictReader machine(value, place, reader.error());
        step.machine = read_behaviour(machine);
      }
      break;
    case Wants::yes:
      if (!value.is_bool() || !value.get_bool()) reader.complain(place, "must be true");
      break;
    case Wants::share:
      reader.share(key, step.share);
      break;
    case Wants::expectations:
      step.check = read_expectations(value, place, reader.error());
      break;
    case Wants::time:
    case Wants::shift: {
      auto length = parse_duration(as_text(&value));
      bool is_right =
          value.is_string() && length && (action.wants == Wants::shift || *length >= Duration(0));
      if (!is_right) reader.complain(place, "must be a length of time such as 90s or 1h30m");
      break;
    }
    case Wants::replica:
      check_replica(value, place, reader.error());
      break;
    case Wants::crash:
      (void)read_crash_step(value, place, reader.error());
      break;
  }
  if (action.on_nodes && !has_nodes) {
    reader.complain(place, "needs nodes: which ones");
  } else if (!action.on_nodes && has_nodes) {
    reader.complain(reader.path("nodes"), fmt::format("means nothing to {}", key));
  }
}

Interference read_step(const Json& json, const std::string& path, bool is_first, Errors& error) {
  Interference step;
  StrictReader reader(json, path, error);
  reader.duration("at", step.at);
  reader.maybe("after", step.after, &StrictReader::duration);
  if (is_first && step.after) reader.complain(path + ".after", "needs a step before it");
  if (const Json* state = reader.get("state")) {
    step.state = read_state(*state, path + ".state", error);
  }
  reader.share("reached", step.reached);
  reader.flag("rest", step.rest);
  reader.text("phase", step.phase);
  reader.flag("promptly", step.promptly);
  const Json* nodes = reader.get("nodes");
  if (nodes != nullptr) step.nodes = read_choice(*nodes, path + ".nodes", error);
  for (const Action& action : known_actions) {
    std::string key(action.name);
    const Json* value = reader.get(key);
    if (value == nullptr) continue;
    if (!step.action.empty()) {
      reader.complain(path, fmt::format("does two things, {} and {}", step.action, key));
    }
    step.action = key;
    step.value = *value;
    read_action(reader, key, action, step, nodes != nullptr);
  }
  if (step.action.empty() && json.is_object() && !error) {
    // An action that is misspelt has the better message, and it comes first.
    for (const auto& [key, value] : json.get_object()) {
      std::vector<std::string> names{"at",   "after",    "state", "reached",
                                     "rest", "promptly", "nodes", "phase"};
      if (std::find(names.begin(), names.end(), std::string(key)) == names.end()) return step;
    }
    reader.complain(path, "says nothing to do");
  }
  return step;
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
  reader.text("about", scenario.about);
  reader.number("nodes", scenario.fleet.nodes, 1);
  reader.number("minNodes", scenario.min_nodes, 1);
  reader.number("seeds", scenario.seeds, 1);
  reader.text("from", scenario.fleet.driver_version);
  reader.text("to", scenario.to_version);
  reader.text("chart", scenario.to_chart);
  read_list(reader, "nvidiaDrivers", [&](const Json& entry, const std::string& path) {
    std::string name(as_text(&entry));
    if (name.empty()) return reader.complain(path, "must be the name of an NVIDIADriver");
    scenario.fleet.nvidia_drivers[name] = scenario.fleet.driver_version;
  });
  reader.flag("rerollClients", scenario.reroll_clients);
  reader.flag("healPlugins", scenario.heal_plugins);
  reader.flag("failBadConfigs", scenario.fail_bad_configs);
  reader.flag("permanentFailures", scenario.permanent_failures);
  reader.flag("annotateDra", scenario.gpu_operator.annotate_dra);
  reader.flag("hook", scenario.gpu_operator.restart_dra_after_upgrade);
  reader.flag("dra", scenario.fleet.dra);
  reader.flag("validator", scenario.fleet.validator);
  reader.number("controllers", scenario.controllers, 1);
  reader.decimal("controllerFaults", scenario.controller_faults);
  reader.decimal("fleetFaults", scenario.fleet_faults);
  reader.duration("limit", scenario.limit);
  reader.duration("aftermath", scenario.aftermath);
  if (const Json* policy = reader.get("policy")) {
    check_policy(*policy, "policy", false, error);
    scenario.fleet.upgrade_policy = *policy;
  }
  if (const Json* workloads = reader.get("workloads")) read_workloads(*workloads, scenario, error);
  if (const Json* latencies = reader.get("latencies")) {
    read_latencies(*latencies, scenario.latencies, error);
  }
  if (const Json* rollout = reader.get("rollout")) {
    scenario.rollout = *rollout;
    auto spec = rollout::read_rollout_spec(JsonObject{{"spec", *rollout}});
    if (!spec.problems.empty()) reader.complain("rollout", spec.problems.front());
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

Result<void> check_nodes(const Scenario& scenario, int nodes) {
  int count = nodes == 0 ? scenario.fleet.nodes : nodes;
  int needed = scenario.min_nodes;
  // A machine that is not there would have nothing wrong with it.
  for (const auto& [choice, behaviour] : scenario.machines) {
    needed = std::max(needed, choice.highest());
  }
  for (const auto& step : scenario.steps) needed = std::max(needed, step.nodes.highest());
  if (count >= needed) return {};
  return failf(ErrorKind::invalid, "{} needs at least {} nodes to show what it is about, not {}",
               scenario.name.empty() ? "the scenario" : scenario.name, needed, count);
}

}  // namespace lockstep::sim
