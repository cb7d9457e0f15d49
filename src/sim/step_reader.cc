#include "sim/step_reader.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "sim/expectations_reader.h"
#include "sim/fault_reader.h"
#include "sim/tenants.h"
#include "upgrade/policy.h"

namespace lockstep::sim {

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
  reader.flag("managerUncordons", behaviour.manager_uncordons);
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

// What upgradePolicy may say is for the policy's own reader to know.
void check_policy(const Json& json, const std::string& path, bool may_be_wrong,
                  std::optional<Error>& error) {
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

void check_texts(const Json& json, const std::string& path, bool may_be_null,
                 std::optional<Error>& error) {
  if (error || !json.is_object()) return;
  for (const auto& [key, value] : json.get_object()) {
    if (value.is_string() || (may_be_null && value.is_null())) continue;
    error = Error{ErrorKind::invalid,
                  may_be_null ? "must be a text, in quotes, or null to take it away"
                              : "must be a text; put it in quotes",
                  fmt::format("{}.{}", path, key)};
    return;
  }
}

namespace {

enum class Wants {
  text,
  map,
  texts,  // a map of them, or null to take one away
  rates,
  policy,
  machine,
  command,
  yes,
  share,
  expectations,
  time,
  shift,
  replica,
  crash,
  imitation
};

struct Action {
  std::string_view name;
  Wants wants;
  bool on_nodes = false;
};

constexpr auto known_actions = std::to_array<Action>({
    {"setVersion", Wants::text},
    {"setChart", Wants::text},
    {"setPolicy", Wants::policy},
    {"pause", Wants::text},
    {"resume", Wants::yes},
    {"cosmeticChange", Wants::texts},
    {"cordon", Wants::yes, true},
    {"uncordon", Wants::yes, true},
    {"taint", Wants::texts, true},
    {"retry", Wants::yes, true},
    {"request", Wants::yes, true},
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
    {"restoreLedger", Wants::yes},
    {"restartOperator", Wants::yes},
    {"stopOperator", Wants::yes},
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
    {"deleteDriverPods", Wants::yes, true},
    {"recreateDaemonSet", Wants::yes},
    {"setDriverStrategy", Wants::text},
    {"relabel", Wants::texts, true},
    {"setMachine", Wants::machine, true},
    {"rollout", Wants::command},
    {"setRollout", Wants::map},
    {"setXidRates", Wants::rates},
    {"setMatrix", Wants::texts},
    {"cutGit", Wants::time},
    {"imitate", Wants::imitation},
});

// As decide_rollout() obeys them.
const std::vector<std::string> commands = {"abort", "promote", "promote --force", "retry",
                                           "rollback"};

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
      break;
    case Wants::texts:
      if (!value.is_object()) reader.complain(place, "must be a map");
      check_texts(value, place, true, reader.error());
      break;
    case Wants::rates:
      (void)read_rates(value, place, reader.error());
      break;
    case Wants::policy:
      check_policy(value, place, true, reader.error());
      break;
    case Wants::machine: {
      StrictReader machine(value, place, reader.error());
      step.machine = read_behaviour(machine);
      break;
    }
    case Wants::command: {
      std::string verb;
      reader.word(key, verb, commands, "command to a rollout");
      break;
    }
    case Wants::yes:
      if (!value.is_bool() || !value.get_bool()) reader.complain(place, "must be true");
      break;
    case Wants::share:
      reader.share(key, step.share);
      break;
    case Wants::expectations:
      step.check = read_expectations(value, place, reader.error());
      break;
    case Wants::time: {
      Duration length{0};
      reader.duration(key, length);
      break;
    }
    case Wants::shift:
      if (!value.is_string() || !parse_duration(value.get_string())) {
        reader.complain(place, "must be a length of time such as 90s, or -1h30m to set it back");
      }
      break;
    case Wants::replica:
      check_replica(value, place, reader.error());
      break;
    case Wants::crash:
      (void)read_crash_step(value, place, reader.error());
      break;
    case Wants::imitation: {
      std::string what;
      reader.word(key, what, imitations(), "part of the driver");
      break;
    }
  }
  if (action.on_nodes && !has_nodes) {
    reader.complain(place, "needs nodes: which ones");
  } else if (!action.on_nodes && has_nodes) {
    reader.complain(reader.path("nodes"), fmt::format("means nothing to {}", key));
  }
}

}  // namespace

bool is_about_rollout(const Interference& step) {
  return !step.phase.empty() || step.action == "rollout" || step.action == "setRollout";
}

Interference read_step(const Json& json, const std::string& path, bool is_first,
                       std::optional<Error>& error) {
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
  reader.word("phase", step.phase, phase_names(), "phase of a rollout");
  reader.flag("promptly", step.promptly);
  const Json* nodes = reader.get("nodes");
  if (nodes != nullptr) step.nodes = read_some_nodes(*nodes, path + ".nodes", error);
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

}  // namespace lockstep::sim
