// Before anything on the node is moved: idle, waiting for a slot, the cordon, the wait for jobs.
// And the end, which is as short.
#include <algorithm>

#include <fmt/format.h>

#include "upgrade/deciding.h"
#include "upgrade/pod_names.h"
#include "upgrade/slots.h"

namespace lockstep::upgrade {

Reason auto_upgrade_off(const Policy& policy) {
  if (policy.source.empty()) {
    return {Reason::no_policy, "no ClusterPolicy or NVIDIADriver asks for upgrades",
            "install GPU Operator's ClusterPolicy, or create one"};
  }
  if (!policy.not_asked.empty()) {
    return {Reason::auto_upgrade_off, policy.not_asked + ": nothing changes", policy.asks_if};
  }
  return {Reason::auto_upgrade_off,
          fmt::format("autoUpgrade is false in {}: nothing changes", policy.source),
          "set upgradePolicy.autoUpgrade to true"};
}

Reason rolling_update_driver(const fleet::NodeView& view) {
  const DaemonSet& set = *view.driver.set;
  return {Reason::rolling_update_driver,
          fmt::format("the driver DaemonSet {} has the update strategy {}: Kubernetes itself "
                      "restarts its pods, under running jobs",
                      set.meta.key().text(), set.update_strategy.view()),
          fmt::format("kubectl -n {} patch daemonset {} --type=merge -p "
                      "'{{\"spec\":{{\"updateStrategy\":{{\"type\":\"OnDelete\","
                      "\"rollingUpdate\":null}}}}}}'",
                      set.meta.ns.view(), set.meta.name.view())};
}

namespace {

// The driver is in sync before anything was restarted.
bool fits_again(const fleet::NodeView& view, const Rules& rules) {
  const Node& node = *view.node;
  if (!view.driver.is_settled()) return false;
  if (fleet::waits_for_safe_load(node, rules.keys)) return false;
  // It was restarted, and what it became has not been validated.
  if (fleet::is_unvalidated(node)) return false;
  // A retry of the revision that failed does not roll back the change: what failed must pass first.
  return !is_retry(view);
}

}  // namespace

bool has_same_driver_pod(const fleet::NodeView& view) {
  if (view.driver.pod == nullptr) return false;
  const ObjectMeta& pod = view.driver.pod->meta;
  const StringMap& annotations = view.node->meta.annotations;
  // A user set the label where the first is missing: then with the pod of the last validation.
  for (std::string_view key : {fleet::began_with_annotation, fleet::driver_pod_annotation}) {
    if (const Text* uid = annotations.find(key)) return *uid == pod.uid;
  }
  Time since = fleet::state_since(*view.node);
  return since.is_set() && pod.created < since;
}

bool is_no_longer_needed(const fleet::NodeView& view, const Rules& rules) {
  return fits_again(view, rules) && !fleet::is_requested(*view.node, rules.keys) &&
         has_same_driver_pod(view);
}

bool is_restart_requested(const fleet::NodeView& view, const Rules& rules) {
  if (!fleet::is_requested(*view.node, rules.keys) || view.driver.pod == nullptr) return false;
  const Text* noted = view.node->meta.annotations.find(fleet::requested_with_annotation);
  return noted == nullptr ? has_same_driver_pod(view) : *noted == view.driver.pod->meta.uid;
}

bool is_replaced_by_others(const fleet::NodeView& view, const Rules& rules) {
  return fits_again(view, rules) && !has_same_driver_pod(view) &&
         !is_restart_requested(view, rules);
}

bool is_retry(const fleet::NodeView& view) {
  const StringMap& annotations = view.node->meta.annotations;
  const Text* failed = annotations.find(fleet::failed_revision_annotation);
  // It failed while the revision was not known.
  if (failed == nullptr) return annotations.contains(fleet::failure_annotation);
  return *failed == view.driver.newest_revision;
}

bool is_restart_only(const fleet::NodeView& view, const Rules& rules) {
  return view.driver.is_cosmetic_change() && !is_retry(view) &&
         !fleet::is_requested(*view.node, rules.keys) &&
         !fleet::waits_for_safe_load(*view.node, rules.keys);
}

bool is_resumed(const fleet::NodeView& view, const Rules& rules) {
  return fleet::is_unvalidated(*view.node) && view.driver.is_in_sync() && !is_retry(view) &&
         !is_restart_requested(view, rules) && !fleet::waits_for_safe_load(*view.node, rules.keys);
}

Reason driver_replaced(const fleet::NodeView& view) {
  return {Reason::driver_replaced,
          fmt::format("{} is ready with the newest revision, and is not the driver pod with which "
                      "the upgrade began; no more pods are moved, and the node is validated",
                      name_pod(*view.driver.pod)),
          ""};
}

bool is_outside_wave(const fleet::NodeView& view) {
  if (!view.outside_wave || view.driver.pod == nullptr) return false;
  return view.node->meta.annotations.get(fleet::driver_pod_annotation) !=
         view.driver.pod->meta.uid.view();
}

namespace {

// The rollout whose wave the node awaits, for readers without access to rollouts.
void note_rollout(Decision& decision, const Situation& situation) {
  const std::string& rollout = situation.view.rollout;
  if (rollout.empty()) return;
  annotate(decision, situation, std::string(fleet::awaits_rollout_annotation), rollout);
}

}  // namespace

Decision contain(const Situation& situation) {
  Reason reason = *situation.view.outside_wave;
  const std::string event = reason.line();
  // It is out of service as it is; a replica that does not know of its wave yet can wait.
  if (fleet::is_active(situation.state())) {
    if (auto not_yet = before_step_back(situation, reason)) return *not_yet;
  }
  Decision decision = situation.state() == State::required
                          ? hold(std::move(reason))
                          : enter(situation, State::required, std::move(reason));
  take_out_of_service(decision, situation);
  annotate(decision, situation, std::string(fleet::unvalidated_annotation), "true");
  note_rollout(decision, situation);
  decision.events.push_back({true, event});
  // A node in service is not cordoned on hearsay.
  decision.freshness = Freshness::revisions;
  return decision;
}

namespace {

Reason why_required(const Situation& situation) {
  const fleet::DriverView& driver = situation.view.driver;
  if (fleet::is_requested(situation.node(), situation.rules.keys)) {
    return {Reason::upgrade_requested, fmt::format("{} is true", situation.rules.keys.requested),
            ""};
  }
  if (fleet::waits_for_safe_load(situation.node(), situation.rules.keys)) {
    return {Reason::safe_load, "the driver waits for a safe moment to load", ""};
  }
  return {Reason::out_of_sync,
          fmt::format("the driver pod has revision {} and the newest is {}",
                      driver.pod->meta.labels.get(fleet::revision_label),
                      driver.newest_revision.view()),
          ""};
}

Reason why_begun(const Situation& situation) {
  if (is_replaced_by_others(situation.view, situation.rules)) {
    return driver_replaced(situation.view);
  }
  if (is_resumed(situation.view, situation.rules)) {
    return {Reason::resumed,
            "the upgrade was interrupted after the driver restart: no pods are moved, and it "
            "continues with validation",
            ""};
  }
  if (is_restart_only(situation.view, situation.rules)) {
    return {Reason::restart_only, "the change does not affect the driver: no pods are moved", ""};
  }
  return {Reason::slot_given, "the node got a slot", ""};
}

Decision begin(const Situation& situation) {
  const Text& newest = situation.view.driver.newest_revision;
  bool is_replaced = is_replaced_by_others(situation.view, situation.rules);
  bool moves_nobody = is_replaced || is_resumed(situation.view, situation.rules) ||
                      is_restart_only(situation.view, situation.rules);
  State next = is_replaced ? State::validation : moves_nobody ? State::pod_restart : State::cordon;
  Decision decision = enter(situation, next, why_begun(situation));
  if (moves_nobody || situation.node().unschedulable) {
    take_out_of_service(decision, situation);
  } else {
    // A note about a cordon is stale: the node is not cordoned.
    annotate(decision, situation, situation.rules.keys.initially_unschedulable, {});
    annotate(decision, situation, std::string(fleet::cordon_annotation), {});
  }
  // A retry remembers until its end what it is a retry of (see is_retry).
  bool retry = is_retry(situation.view);
  note_beginning(decision, situation);
  const auto& pod = situation.view.driver.pod;
  annotate(decision, situation, std::string(fleet::retried_with_annotation),
           retry && pod != nullptr ? std::optional(pod->meta.uid.str()) : std::nullopt);
  if (!newest.empty()) {
    annotate(decision, situation, std::string(fleet::failed_revision_annotation),
             retry ? std::optional(newest.str()) : std::nullopt);
  }
  if (situation.view.known.blind) decision.freshness = Freshness::driver;
  if (is_replaced) decision.freshness = Freshness::revisions;
  return decision;
}

// We have not ended what we began, and the label does not show it: it was lost, or set by hand.
bool is_broken_off(const fleet::NodeView& view) {
  const Node& node = *view.node;
  if (fleet::is_unvalidated(node) || fleet::is_cordoned_by_us(node)) return true;
  return node.meta.annotations.contains(fleet::began_with_annotation) && view.driver.pod &&
         !has_same_driver_pod(view);
}

// The restart that is requested is that of the pod which is there when the request is first seen.
void note_request(Decision& decision, const Situation& situation) {
  const std::string key(fleet::requested_with_annotation);
  const auto& pod = situation.view.driver.pod;
  const bool is_noted = situation.node().meta.annotations.contains(key);
  if (!fleet::is_requested(situation.node(), situation.rules.keys)) {
    if (is_noted) annotate(decision, situation, key, {});
  } else if (!is_noted && pod != nullptr) {
    annotate(decision, situation, key, pod->meta.uid.str());
    // Noted with a pod that is already gone, the request would count as done.
    decision.freshness = std::max(decision.freshness, Freshness::pods);
  }
}

Decision require(const Situation& situation, Reason reason) {
  const fleet::Keys& keys = situation.rules.keys;
  Decision decision = enter(situation, State::required, std::move(reason));
  note_request(decision, situation);
  if (fleet::was_cordoned_by_others(situation.node(), keys)) {
    annotate(decision, situation, keys.initially_unschedulable, "true");
  }
  if (situation.view.held_by_rollout) note_rollout(decision, situation);
  return decision;
}

// The node may not begin, or no longer: its wave is not open, possibly for days. Nodes of
// open waves would miss its slot. If it is the only slot, it would block them
// indefinitely.
Decision give_slot_back(const Situation& situation, Reason reason) {
  // Limits the writes of two replicas that disagree about the open waves.
  constexpr Duration shortest = minutes(1);
  Decision decision = hold(std::move(reason));
  const std::string key(fleet::slot_returned_annotation);
  auto last = parse_rfc3339(situation.node().meta.annotations.get(key));
  if (last && *last <= situation.now && situation.now - *last < shortest) {
    decision.look_again = shortest - (situation.now - *last);
    return decision;
  }
  annotate(decision, situation, key, format_rfc3339(situation.now));
  return decision;
}

}  // namespace

Decision decide_idle(const Situation& situation) {
  const fleet::NodeView& view = situation.view;
  const fleet::Keys& keys = situation.rules.keys;
  bool strange = fleet::has_strange_state(situation.node(), keys);
  Decision decision;
  if (!view.driver.wanted()) {
    decision = hold({Reason::no_driver, "no driver DaemonSet schedules a pod on this node", ""});
  } else if (fleet::is_requested(situation.node(), keys) ||
             fleet::waits_for_safe_load(situation.node(), keys) || view.driver.is_out_of_sync()) {
    if (view.driver.is_rolled_by_kubernetes()) return hold(rolling_update_driver(view));
    decision = require(situation, why_required(situation));
    // The pod that the node was done with is gone: others replaced it, or the view is stale.
    if (situation.state() == State::done &&
        (situation.is_suspicious_change() || !has_same_driver_pod(view))) {
      decision.freshness = Freshness::driver;
    }
  } else if (view.driver.is_orphan()) {
    decision =
        hold({Reason::orphan, "the DaemonSet of the driver pod was deleted; the pod is not changed",
              fmt::format("to replace it: kubectl annotate node {} {}=true", view.name(),
                          keys.requested)});
  } else if (view.driver.pod == nullptr) {
    decision = hold({Reason::driver_pod_missing, "the node has no driver pod now",
                     "check the driver's DaemonSet"});
  } else if (view.driver.newest_revision.empty()) {
    decision =
        hold({Reason::revision_unknown, "the driver DaemonSet has no ControllerRevision yet", ""});
  } else if (is_broken_off(view)) {
    decision = require(
        situation,
        {Reason::interrupted,
         "the state label was lost or set manually during the upgrade; the upgrade continues", ""});
  } else if (situation.state() == State::unknown && !view.driver.is_settled()) {
    // Of the right revision is not yet loaded.
    decision = hold(
        {Reason::driver_not_ready,
         fmt::format("{} has the newest revision and is not ready", name_pod(*view.driver.pod)),
         "read the driver pod's events and logs"});
  } else if (situation.state() == State::unknown) {
    decision = enter(situation, State::done,
                     {Reason::in_sync, "the driver pod has the newest revision and is ready", ""});
  } else {
    decision = hold({Reason::in_sync,
                     fmt::format("the driver pod has the newest revision ({})",
                                 view.driver.newest_revision.view()),
                     ""});
  }
  if (strange) {
    decision.events.push_back(
        {true, fmt::format("{}={} is not a valid state; the node is treated as unknown", keys.state,
                           situation.node().meta.labels.get(keys.state))});
  }
  return decision;
}

namespace {

Decision decide_waiting(const Situation& situation) {
  if (is_outside_wave(situation.view)) {
    if (situation.view.known.granted) {
      return give_slot_back(situation, *situation.view.outside_wave);
    }
    if (auto restart = restart_stale_clients(situation)) return *restart;
    return hold(*situation.view.outside_wave);
  }
  if (situation.view.known.granted && situation.view.driver.is_rolled_by_kubernetes()) {
    return give_slot_back(situation, rolling_update_driver(situation.view));
  }
  // A slot that was given just before a pause is kept, and used after it if it still fits.
  bool held = held_by_switch(situation.policy()) || situation.view.held_by_rollout;
  if (situation.view.known.granted && !held) {
    if (!situation.view.driver.is_revision_unknown()) return begin(situation);
    // The slot belongs to another replica, which knows more; its use depends on the
    // change.
    return hold({Reason::revision_unknown,
                 "the newest revision of the driver DaemonSet is not known now", ""});
  }
  const auto& wave = situation.view.held_by_rollout;
  if (situation.view.known.granted && wave && wave->name == Reason::wave_not_open) {
    return give_slot_back(situation, *wave);
  }
  auto reason = held_back(situation.view, situation.pool, situation.rules);
  if (reason) {
    Decision decision = hold(*reason);
    // A rollout that was made, or closed its waves, after the node was required.
    if (reason->name == Reason::wave_not_open) note_rollout(decision, situation);
    return decision;
  }
  return hold(
      {Reason::next_in_line,
       fmt::format("{} waiting and a slot is free; nodes with the fewest GPU pods start first",
                   counted(static_cast<size_t>(situation.pool.counts.waiting), "node")),
       ""});
}

}  // namespace

Decision decide_required(const Situation& situation) {
  const bool is_requested = fleet::is_requested(situation.node(), situation.rules.keys);
  Decision decision = is_requested ? hold(why_required(situation)) : decide_waiting(situation);
  if (std::holds_alternative<std::monostate>(decision.write)) note_request(decision, situation);
  return is_requested && decision.patch() == nullptr ? decide_waiting(situation) : decision;
}

Decision decide_cordon(const Situation& situation) {
  Decision decision =
      enter(situation, State::wait_for_jobs, {Reason::cordoned, "the node is cordoned", ""});
  take_out_of_service(decision, situation);
  return decision;
}

Decision decide_wait_for_jobs(const Situation& situation) {
  const WaitPolicy& wait = situation.policy().wait;
  std::vector<fleet::PodPtr> waited_for;
  for (const auto& entry : situation.view.pods) {
    const Pod& pod = *entry.pod;
    bool runs = pod.phase == PodPhase::running || pod.phase == PodPhase::pending;
    if (runs && wait.pods.matches(pod.meta.labels)) waited_for.push_back(entry.pod);
  }
  if (waited_for.empty()) {
    return enter(situation, State::pod_deletion, {Reason::no_jobs_left, "no pod to wait for", ""});
  }
  // Not only the time seen by this process: a wait of a day continues after a restart.
  Duration waited = situation.really_since_timer(situation.rules.keys.wait_start);
  Duration left = std::max(wait.timeout - waited, Duration::zero());
  if (wait.timeout > Duration::zero() && left == Duration::zero()) {
    return enter(situation, State::pod_deletion,
                 {Reason::wait_timed_out,
                  fmt::format("{} still running after {}: {}", counted(waited_for.size(), "pod"),
                              format_duration(wait.timeout), name_pods(waited_for)),
                  ""});
  }
  Reason reason{
      Reason::waits_for_jobs,
      fmt::format("waits for {} with \"{}\" to finish: {}; {}", counted(waited_for.size(), "pod"),
                  wait.pods.text(), name_pods(waited_for),
                  wait.timeout == Duration::zero()
                      ? "no time limit (waitForCompletion.timeoutSeconds is 0)"
                      : fmt::format("times out in {}", human_duration(left))),
      "let them finish, delete them, or set waitForCompletion.timeoutSeconds"};
  return hold(std::move(reason),
              wait.timeout > Duration::zero() ? std::optional(left) : std::nullopt);
}

Decision decide_uncordon(const Situation& situation) {
  Decision decision =
      enter(situation, State::done, {Reason::upgraded, "the upgrade is complete", ""});
  // Whatever brought the node here, a cordon that a user had set before stays.
  set_unschedulable(decision, situation,
                    fleet::was_cordoned_by_others(situation.node(), situation.rules.keys));
  return decision;
}

}  // namespace lockstep::upgrade
