// The rules of the state machine, state by state; decide() picks one. Each is pure.
#pragma once

#include <optional>

#include "upgrade/decision.h"
#include "upgrade/transition.h"

namespace lockstep::upgrade {

Reason auto_upgrade_off(const Policy& policy);
// Kubernetes itself restarts the driver pods, under running jobs.
Reason rolling_update_driver(const fleet::NodeView& view);

// The driver pod is the one with which the upgrade began. Compares uids; where none was recorded,
// compares times. Without either, the answer is no.
bool has_same_driver_pod(const fleet::NodeView& view);
// A user requested a restart, and the driver pod is still the one that the request was about.
bool is_restart_requested(const fleet::NodeView& view, const Rules& rules);
// Before its driver pod was restarted, the pod fits again: the change was rolled back.
bool is_no_longer_needed(const fleet::NodeView& view, const Rules& rules);
// Another pod fits, which we have not made come: a user deleted the old one, or the machine was
// restarted. The driver was reloaded, so that the node has to be validated.
bool is_replaced_by_others(const fleet::NodeView& view, const Rules& rules);
Reason driver_replaced(const fleet::NodeView& view);
// What failed is done again, by the same revision: it must pass from the beginning, although the
// pod may fit.
bool is_retry(const fleet::NodeView& view);
// The change does not affect the driver: restart its pod, evict no workload (section 6).
bool is_restart_only(const fleet::NodeView& view, const Rules& rules);

// The upgrade was broken off after the driver was restarted, because its state label was lost or
// set by hand: what is left to do is the validation.
bool is_resumed(const fleet::NodeView& view, const Rules& rules);

// A failed node whose driver is ready after all, of the revision that failed: it may be validated.
bool has_recovered(const fleet::NodeView& view, const Rules& rules);

// It got a driver that no open wave allows it, and has not been in service with it: it is to be out
// of service until its wave opens.
bool is_outside_wave(const fleet::NodeView& view);
// Out of service and into the line, whatever the state: nothing on the node is moved.
Decision contain(const Situation& situation);
// What of the node's clients (view.clients) is from before its driver was restarted. Nothing: the
// driver is not ready, or a client is not there or not ready.
std::optional<PodRemovals> stale_clients(const fleet::NodeView& view);
// For a node whose driver is ready: clients that opened the driver before it was restarted. Returns
// nothing if it has no stale clients.
std::optional<Decision> restart_stale_clients(const Situation& situation);

// unknown, upgrade-done
Decision decide_idle(const Situation& situation);
Decision decide_required(const Situation& situation);
Decision decide_cordon(const Situation& situation);
Decision decide_wait_for_jobs(const Situation& situation);
Decision decide_pod_deletion(const Situation& situation);
Decision decide_drain(const Situation& situation);
Decision decide_pod_restart(const Situation& situation);
Decision decide_validation(const Situation& situation);
Decision decide_uncordon(const Situation& situation);
Decision decide_failed(const Situation& situation);

}  // namespace lockstep::upgrade
