// What keeps a node that waits from starting although nothing is wrong with it: switches, limits,
// groups and rollouts.
#include <algorithm>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "rollout/rollout_spec.h"
#include "sim/actors/object_facts.h"
#include "sim/oracle/reason_truth.h"
#include "sim/oracle/rollout_truth.h"

namespace lockstep::sim {

namespace {

using fleet::Reason;
using fleet::State;

const auto& rollouts(const Said& said) {
  return said.truth.cluster().backend.store.shelf(fleet::driver_rollouts.full_name()).objects();
}

std::string has_conflicting_controller(const Said& said) {
  const apiserver::Store& store = said.truth.cluster().backend.store;
  for (const auto& [key, pod] : store.shelf("pods").objects()) {
    if (is_operators(pod->json()) && text_at(pod->json(), "status", "phase") == "Running")
      return {};
  }
  for (const auto& [key, deployment] : store.shelf("deployments.apps").objects()) {
    const Json& document = deployment->json();
    if (is_operators(document) && as_integer(find(document, "spec", "replicas"), 1) > 0) return {};
  }
  return "NVIDIA's operator is not there";
}

std::string has_no_policy(const Said& said) {
  bool is_so =
      by_some_policy(said, [](const upgrade::Policy& policy) { return policy.source.empty(); });
  return is_so ? "" : "there is one";
}

std::string is_off(const Said& said) {
  bool is_so =
      by_some_policy(said, [](const upgrade::Policy& policy) { return !policy.auto_upgrade; });
  return is_so ? "" : "autoUpgrade is true";
}

std::string is_invalid(const Said& said) {
  bool is_so =
      by_some_policy(said, [](const upgrade::Policy& policy) { return !policy.problems.empty(); });
  return is_so ? "" : "the policy is valid";
}

std::string is_paused(const Said& said) {
  bool is_so =
      by_some_policy(said, [](const upgrade::Policy& policy) { return policy.paused.has_value(); });
  return is_so ? "" : "no user has paused the policy";
}

// A user repaired it and has it tried again.
bool is_retried(const Said& said, const std::string& name, const NodeTruth& node) {
  if (node.state != State::required) return false;
  if (!has_annotation(*node.object, fleet::failure_annotation)) return false;
  const PodTruth* pod = said.truth.driver_pod(name);
  const DriverTruth* driver = pod == nullptr ? nullptr : said.truth.driver_of(*pod->object);
  std::string_view failed = annotation_of(*node.object, fleet::failed_revision_annotation);
  return failed.empty() || (driver != nullptr && driver->newest == failed);
}

std::string is_rolled_by_kubernetes(const Said& said) {
  const DriverTruth* driver = driver_for(said);
  if (driver == nullptr || said.truth.may_be_unknown(driver->rolled_changed)) return {};
  return driver->is_rolled ? "" : "its driver pods are replaced when they are deleted, not before";
}

std::string is_at_parallel_limit(const Said& said) {
  int64_t limit = said.truth.limits(said.node.pool).parallel;
  if (limit > 0 && said.pool.active >= limit) return {};
  return fmt::format("{} are active and maxParallelUpgrades is {}", said.pool.active, limit);
}

std::string is_at_unavailable_limit(const Said& said) {
  int64_t limit = said.truth.limits(said.node.pool).unavailable;
  if (said.pool.unavailable >= limit) return {};
  return fmt::format("{} are unavailable and maxUnavailable is {}", said.pool.unavailable, limit);
}

std::string is_at_failure_budget(const Said& said) {
  int64_t limit = said.truth.limits(said.node.pool).failures;
  if (is_retried(said, said.name, said.node)) return "it failed, and is tried again";
  if (said.pool.failed >= limit) return {};
  return fmt::format("{} failed and maxFailures is {}", said.pool.failed, limit);
}

// What starts, and beside how many.
struct Start {
  int64_t active = 0;
  int64_t unavailable = 0;
  int64_t failed = 0;
};

bool asks_for_place(const Said& said, const NodeTruth& node) {
  if (!node.unschedulable) return true;
  bool may_be_upgraded = by_some_policy(said, [](const upgrade::Policy& policy) {
    return policy.cordoned_nodes == upgrade::CordonedNodes::upgrade;
  });
  return node.cordon == Cordon::others && !may_be_upgraded;
}

bool fits(const Said& said, const std::string& name, const NodeTruth& node, const Start& beside) {
  const Truth::Limits limits = said.truth.limits(said.node.pool);
  // Each that recovers is a failure less.
  bool may_fail = node.state == State::failed || is_retried(said, name, node);
  if (!may_fail && beside.failed >= limits.failures) return false;
  if (limits.parallel > 0 && beside.active >= limits.parallel) return false;
  return !asks_for_place(said, node) || beside.unavailable < limits.unavailable;
}

bool fit_together(const Said& said, const std::map<std::string, const NodeTruth*>& nodes,
                  Start beside) {
  for (const auto& [name, node] : nodes) {
    if (!fits(said, name, *node, beside)) return false;
    ++beside.active;
    if (!node->unschedulable) ++beside.unavailable;
  }
  return true;
}

Start now(const Said& said) { return {said.pool.active, said.pool.unavailable, said.pool.failed}; }

std::string is_next(const Said& said) {
  bool is_free =
      said.pool.reserved.contains(said.name) || fits(said, said.name, said.node, now(said));
  return is_free ? "" : "no slot is free";
}

// What the rollouts say of a node at that time; nothing: it may begin.
std::optional<TrueHold> hold_at(const Said& said, const std::string& name, Time then) {
  const PodTruth* pod = said.truth.driver_pod(name);
  const DriverTruth* driver = pod == nullptr ? nullptr : said.truth.driver_of(*pod->object);
  if (driver == nullptr) return std::nullopt;
  const std::string set = daemon_set_of(*pod->object);
  for (const auto& [key, rollout] : rollouts(said)) {
    auto hold = true_hold(rollout, said.truth.cluster().backend.store, name, set, driver->newest,
                          then, &*pod->object);
    if (hold) return hold;
  }
  return std::nullopt;
}

std::string is_held(const Said& said, fleet::KnownReason reason) {
  if (rollouts(said).empty()) return "there is no rollout";
  const PodTruth* pod = said.truth.driver_pod(said.name);
  const DriverTruth* driver = driver_for(said);
  if (pod == nullptr || driver == nullptr || said.truth.may_be_unknown(driver->changed)) return {};
  std::string why = "its rollout lets it begin";
  // Near a window's edge, a moment of difference is not an error.
  for (Duration ago : {Duration::zero(), said.truth.blindness}) {
    auto hold = hold_at(said, said.name, said.truth.cluster().loop.now() - ago);
    if (hold && hold->reason == reason) return {};
    if (hold) why = hold->why;
  }
  return why;
}

std::string is_outside_waves(const Said& said) { return is_held(said, Reason::wave_not_open); }
// With a driver that it was not allowed to get, for longer than a moment.
std::string is_upgraded_outside_wave(const Said& said) {
  const PodTruth* pod = said.truth.driver_pod(said.name);
  const DriverTruth* driver = pod == nullptr ? nullptr : said.truth.driver_of(*pod->object);
  if (driver == nullptr || said.truth.may_be_unknown(driver->changed)) return {};
  if (said.truth.may_be_unknown(pod->changed)) return {};
  if (label_of(*pod->object, fleet::revision_label) != driver->newest) return "its driver is old";
  return is_held(said, Reason::wave_not_open);
}

std::string is_in_paused_rollout(const Said& said) { return is_held(said, Reason::rollout_paused); }
std::string is_outside_windows(const Said& said) {
  // By the controller's clock.
  return said.truth.clock_set.is_set() ? "" : is_held(said, Reason::outside_window);
}

std::string group_of(const Said& said, const NodeTruth& node) {
  for (const auto& [key, rollout] : rollouts(said)) {
    const std::string label = rollout::read_rollout_spec(rollout->json()).group_by;
    if (!label.empty()) return std::string(label_of(*node.object, label));
  }
  return {};
}

// Those of its group that wait and have no slot.
std::map<std::string, const NodeTruth*> group_that_waits(const Said& said) {
  std::map<std::string, const NodeTruth*> members;
  const std::string group = group_of(said, said.node);
  if (group.empty()) return members;
  for (const auto& [name, node] : said.truth.nodes()) {
    bool waits = node.pool == said.node.pool && node.state == State::required &&
                 !said.pool.reserved.contains(name);
    if (waits && group_of(said, node) == group) members.emplace(name, &node);
  }
  return members;
}

bool may_start(const Said& said, const std::string& name, const NodeTruth& node) {
  if (is_skipped_node(*node.object) || !node.ready) return false;
  if (said.truth.driver_pod(name) == nullptr) return false;
  if (hold_at(said, name, said.truth.cluster().loop.now())) return false;
  return !node.unschedulable || !by_some_policy(said, [](const upgrade::Policy& policy) {
    return policy.cordoned_nodes == upgrade::CordonedNodes::ignore;
  });
}

std::string is_in_incomplete_group(const Said& said) {
  const auto members = group_that_waits(said);
  bool is_complete = std::all_of(members.begin(), members.end(), [&](const auto& member) {
    return may_start(said, member.first, *member.second);
  });
  return is_complete ? "everybody in its group may start" : "";
}

std::string objection_to_group(const Said& said, bool fits_ever) {
  const auto nodes = group_that_waits(said);
  if (nodes.empty()) return "it is in no group";
  if (fit_together(said, nodes, now(said))) return "there is room for its whole group";
  if (fit_together(said, nodes, Start()) == fits_ever) return {};
  return fits_ever ? "its group will never fit" : "its group would fit if the others were done";
}

std::string waits_with_group(const Said& said) { return objection_to_group(said, true); }
std::string is_in_too_large_group(const Said& said) { return objection_to_group(said, false); }

}  // namespace

const Objections& objections_to_slots() {
  static const Objections table = {
      {Reason::auto_upgrade_off, is_off},
      {Reason::failure_budget, is_at_failure_budget},
      {Reason::group_incomplete, is_in_incomplete_group},
      {Reason::group_too_large, is_in_too_large_group},
      {Reason::group_waits, waits_with_group},
      {Reason::invalid_policy, is_invalid},
      {Reason::next_in_line, is_next},
      {Reason::no_policy, has_no_policy},
      {Reason::outside_window, is_outside_windows},
      {Reason::parallel_limit, is_at_parallel_limit},
      {Reason::paused, is_paused},
      {Reason::conflicting_controller, has_conflicting_controller},
      {Reason::rolling_update_driver, is_rolled_by_kubernetes},
      {Reason::rollout_paused, is_in_paused_rollout},
      {Reason::unavailable_limit, is_at_unavailable_limit},
      {Reason::upgraded_outside_wave, is_upgraded_outside_wave},
      {Reason::wave_not_open, is_outside_waves},
  };
  return table;
}

}  // namespace lockstep::sim
