// Before a node returns to service: no client of the driver is from before its restart, and the
// validators are content (sections 7, 8).
#include <algorithm>

#include <fmt/format.h>

#include "upgrade/deciding.h"
#include "upgrade/pod_names.h"

namespace lockstep::upgrade {

namespace {

constexpr Duration clients_go_within = minutes(1);

bool is_from_before(const fleet::NodeView& view, const Pod& pod, Time driver_ready) {
  const auto& renewed = view.known.renewed;
  const bool is_new = std::find(renewed.begin(), renewed.end(), pod.meta.uid) != renewed.end();
  return fleet::is_older_than_driver(pod, driver_ready, is_new);
}

struct Findings {
  PodRemovals stale;
  Reason waiting;             // no name: nothing to wait for
  bool is_validator = false;  // it is a validator that is waited for
};

void look_at_clients(const fleet::NodeView& view, Time driver_ready, Findings& findings) {
  for (const auto& client : view.clients) {
    if (client.pod == nullptr || client.pod->meta.is_deleting()) {
      if (!client.wanted && client.pod == nullptr) continue;
      findings.waiting = {Reason::client_missing,
                          fmt::format("waits for the new pod of {}", client.daemon_set), ""};
      continue;
    }
    if (is_from_before(view, *client.pod, driver_ready)) {
      findings.stale.push_back({client.pod, Removal::remove});
    } else if (!fleet::is_running_and_ready(*client.pod)) {
      findings.waiting = {Reason::client_not_ready,
                          fmt::format("waits for {} to become ready", name_pod(*client.pod)), ""};
    }
  }
}

void look_at_slices(const Situation& situation, Findings& findings) {
  std::string version = situation.view.driver.version();
  if (version.empty() || !findings.waiting.name.empty()) return;
  for (const auto& published : situation.view.slice_versions) {
    if (fleet::is_same_version(published, version)) continue;
    findings.waiting = {
        Reason::stale_resource_slice,
        fmt::format("the node's ResourceSlices still show driver version {}, and {} is loaded",
                    published, version),
        "read the log of the DRA plugin on this node"};
    return;
  }
}

void look_at_validators(const Situation& situation, Time driver_ready, Findings& findings) {
  if (!findings.waiting.name.empty()) return;
  if (situation.view.validators.empty()) {
    findings.waiting = {Reason::no_validator_pod, "the node has no validator pod",
                        "check the DaemonSet nvidia-operator-validator"};
    findings.is_validator = true;
    return;
  }
  for (const auto& pod : situation.view.validators) {
    // What it validated was the old driver.
    if (!pod->meta.is_deleting() && pod->is_owned_by_daemon_set() &&
        is_from_before(situation.view, *pod, driver_ready)) {
      findings.stale.push_back({pod, Removal::remove});
    } else if (!fleet::is_running_and_ready(*pod)) {
      findings.waiting = {Reason::validator_not_ready,
                          fmt::format("waits for {} to become ready", name_pod(*pod)),
                          fmt::format("kubectl logs -n {} {} --all-containers", pod->meta.ns.view(),
                                      pod->meta.name.view())};
      findings.is_validator = true;
    }
  }
}

// Also where the newest revision is not known at the moment: that is no fault of the node, and its
// clients and validators are checked all the same.
bool is_driver_ready(const fleet::DriverView& driver) {
  const bool runs =
      driver.is_revision_unknown() ? fleet::is_running_and_ready(*driver.pod) : driver.is_settled();
  return runs && driver.pod->ready;
}

Decision restart_clients(PodRemovals stale) {
  std::vector<fleet::PodPtr> pods;
  for (const auto& removal : stale) pods.push_back(removal.pod);
  Decision decision =
      hold({Reason::restarts_clients,
            fmt::format("restarts {} that opened the driver before it was restarted: {}",
                        counted(pods.size(), "pod"), name_pods(pods)),
            ""});
  decision.write = std::move(stale);
  return decision;
}

}  // namespace

std::optional<PodRemovals> stale_clients(const fleet::NodeView& view) {
  const fleet::DriverView& driver = view.driver;
  if (!view.node->ready() || !driver.is_settled() || !driver.pod->ready) return std::nullopt;
  Findings findings;
  look_at_clients(view, driver.pod->ready_since, findings);
  if (findings.stale.empty() && !findings.waiting.name.empty()) return std::nullopt;
  return std::move(findings.stale);
}

std::optional<Decision> restart_stale_clients(const Situation& situation) {
  auto stale = stale_clients(situation.view);
  if (!stale || stale->empty()) return std::nullopt;
  Decision decision = restart_clients(std::move(*stale));
  decision.freshness = Freshness::pods;
  return decision;
}

Decision decide_validation(const Situation& situation) {
  const fleet::DriverView& driver = situation.view.driver;
  if (driver.is_out_of_sync() || driver.is_orphan()) {
    Reason reason{Reason::newer_revision,
                  fmt::format("a newer revision was created ({})", driver.newest_revision.view()),
                  ""};
    if (auto not_yet = before_step_back(situation, reason)) return *not_yet;
    Decision decision = enter(situation, State::pod_restart, std::move(reason));
    // Or our newest revision is stale, and another replica knows a newer one.
    decision.freshness = Freshness::revisions;
    return decision;
  }
  // The machine was restarted meanwhile: only this controller tells the driver that it may load.
  if (fleet::waits_for_safe_load(situation.node(), situation.rules.keys)) {
    return enter(situation, State::pod_restart,
                 {Reason::safe_load, "the driver waits again for a safe moment to load", ""});
  }
  Findings findings;
  if (!situation.node().ready()) {
    findings.waiting = {Reason::node_not_ready,
                        "the node is not Ready: the status of its pods is out of date",
                        "check the node's kubelet"};
    // Until the pod is Ready as a whole, it does not say since when.
  } else if (!is_driver_ready(driver)) {
    findings.waiting = {Reason::driver_not_ready, "the driver pod is not ready",
                        "read the driver pod's events and logs"};
  } else {
    Time driver_ready = driver.pod->ready_since;
    look_at_clients(situation.view, driver_ready, findings);
    if (findings.stale.empty()) {
      look_at_slices(situation, findings);
      look_at_validators(situation, driver_ready, findings);
    }
  }
  Duration limit = situation.policy().deadlines.validation;
  Duration spent = situation.seen_of(situation.since_timer(situation.rules.keys.validation_start));
  Duration left = std::max(limit - spent, Duration::zero());
  if (left == Duration::zero() && (!findings.stale.empty() || !findings.waiting.name.empty())) {
    Reason reason = findings.stale.empty()
                        ? findings.waiting
                        : Reason{Reason::stale_client,
                                 fmt::format("{} started before the driver's restart",
                                             name_pod(*findings.stale.front().pod)),
                                 ""};
    reason.text += fmt::format(", for {} in validation", format_duration(limit));
    Decision decision = fail_node(situation, std::move(reason));
    // Also where it fails of a pod: without that, the slices may be the next cause.
    decision.reads_slices =
        !situation.view.clients.empty() || !situation.view.slice_versions.empty();
    return decision;
  }
  if (!findings.stale.empty()) {
    Decision decision = restart_clients(std::move(findings.stale));
    decision.look_again = left;
    // Most clients are restarted as soon as validation begins. Later, another replica may have put
    // the node into service, with its client in use.
    if (situation.in_state() > clients_go_within) decision.freshness = Freshness::pods;
    return decision;
  }
  if (!findings.waiting.name.empty()) {
    findings.waiting.text += fmt::format("; times out in {}", human_duration(left));
    return hold(std::move(findings.waiting), left);
  }
  // No failure, however long that lasts: a retry of the node would not help.
  if (driver.is_revision_unknown()) {
    return hold({Reason::revision_unknown,
                 "the driver is ready, and which revision of its DaemonSet is the newest is not "
                 "known yet",
                 ""});
  }
  // It went on to a newer revision than the one for which its wave is open.
  if (is_outside_wave(situation.view)) return contain(situation);
  Decision decision = leave_upgrade(
      situation, {Reason::validated, "the driver, its clients and the validators are ready", ""});
  // Work comes to it as soon as it is in service. What it has is fit for that, also if a newer
  // revision has just come: that is the next upgrade.
  decision.freshness = Freshness::pods;
  return decision;
}

}  // namespace lockstep::upgrade
