#include "sim/scenario/step_reader.h"

#include <array>

#include <fmt/format.h>

#include "base/strings.h"
#include "sim/scenario/expectations_reader.h"
#include "sim/scenario/fault_reader.h"
#include "sim/scenario/tenants.h"
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
  reader.any("gateSpeeds",
             [&](StrictReader& speeds) { behaviour.gate_speeds = read_rates(speeds); });
  reader.duration("driverLoad", behaviour.driver_load);
  reader.duration("slicesLate", behaviour.slices_late);
  return behaviour;
}

// What upgradePolicy may say is for the policy's own reader to know.
void check_policy(StrictReader& reader, bool may_be_wrong) {
  const Json& json = reader.json();
  if (!json.is_object()) return reader.refuse(strict::not_a("a map", json).message);
  upgrade::Policy policy = upgrade::read_policy(&json, "");
  const auto& complaints = policy.warnings.empty() ? policy.problems : policy.warnings;
  if (policy.warnings.empty() && may_be_wrong) return;
  if (!complaints.empty()) reader.refuse(complaints.front());
}

void check_texts(StrictReader& reader, bool may_be_null) {
  reader.entries([&](const std::string&, StrictReader& value) {
    if (may_be_null && value.json().is_null()) return;
    std::string text;
    value.text(text);
  });
}

Result<IntOrPercent> read_share(const Json& json) {
  std::string_view text = as_text(&json);
  auto percent = parse_integer(text.substr(0, text.find('%')));
  constexpr int64_t most = 1'000'000;
  // Above 100% makes sense here: several pods for each node.
  constexpr int64_t most_percent = 10'000;
  if (percent && text.ends_with('%') && *percent >= 0 && *percent <= most_percent) {
    return IntOrPercent::percentage(*percent);
  }
  if (json.is_int64() && json.get_int64() >= 0 && json.get_int64() <= most) {
    return IntOrPercent::count(json.get_int64());
  }
  return fail(
      strict::not_one("a whole number up to 1000000, or a percentage of the nodes such as "
                      "\"50%\", up to 10000%",
                      json));
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

Result<bool> read_yes(const Json& json) {
  if (json.is_bool() && json.get_bool()) return true;
  return fail(strict::not_one("true", json));
}

Result<Duration> read_shift(const Json& json) {
  auto shift = parse_duration(as_text(&json));
  if (json.is_string() && shift) return *shift;
  return fail(strict::not_one("a duration such as 90s, or -1h30m to set the clock back", json));
}

void read_value(StrictReader& value, Wants wants, Interference& step) {
  std::string word;
  Duration length{0};
  bool yes = false;
  switch (wants) {
    case Wants::text:
      return value.text(word);
    case Wants::map:
      return value.as_map([](StrictReader& map) { map.ignore_unknown(); });
    case Wants::texts:
      return check_texts(value, true);
    case Wants::rates:
      return (void)read_rates(value);
    case Wants::policy:
      return check_policy(value, true);
    case Wants::machine:
      return value.as_map([&](StrictReader& map) { step.machine = read_behaviour(map); });
    case Wants::command:
      return value.read(word, [](const Json& json) { return strict::word(json, commands); });
    case Wants::yes:
      return value.read(yes, read_yes);
    case Wants::share:
      return value.read(step.share, read_share);
    case Wants::expectations:
      step.check = read_expectations(value);
      return;
    case Wants::time:
      return value.read(length, strict::duration);
    case Wants::shift:
      return value.read(length, read_shift);
    case Wants::replica:
      return (void)read_replica(value);
    case Wants::crash:
      return (void)read_crash_step(value);
    case Wants::imitation:
      return value.read(word, [](const Json& json) { return strict::word(json, imitations()); });
  }
}

void read_action(StrictReader& reader, const Action& action, Interference& step) {
  reader.any(action.name, [&](StrictReader& value) {
    if (!step.action.empty()) {
      reader.refuse(fmt::format("does two things, {} and {}", step.action, action.name));
    }
    step.action = action.name;
    step.value = value.json();
    read_value(value, action.wants, step);
    const bool has_nodes = reader.has("nodes");
    if (action.on_nodes && !has_nodes) value.refuse("needs nodes: which ones");
    if (!action.on_nodes && has_nodes) {
      reader.refuse("nodes", fmt::format("means nothing to {}; remove it", action.name));
    }
  });
}

}  // namespace

bool is_about_rollout(const Interference& step) {
  return !step.phase.empty() || step.action == "rollout" || step.action == "setRollout";
}

Interference read_step(StrictReader& reader, bool is_first) {
  Interference step;
  reader.as_map([&](StrictReader& map) {
    map.duration("at", step.at).duration("after", step.after);
    if (is_first && step.after) map.refuse("after", "needs a step before it");
    map.any("state", [&](StrictReader& state) { step.state = read_state(state); });
    map.read("reached", step.reached, read_share).flag("rest", step.rest);
    map.word("phase", step.phase, phase_names()).flag("promptly", step.promptly);
    map.any("nodes", [&](StrictReader& nodes) { step.nodes = read_some_nodes(nodes); });
    for (const Action& action : known_actions) read_action(map, action, step);
    // An action that is misspelt has the better message.
    if (step.action.empty() && !map.has_unknown()) map.refuse("says nothing to do");
  });
  return step;
}

}  // namespace lockstep::sim
