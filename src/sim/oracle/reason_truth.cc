#include "sim/oracle/reason_truth.h"

#include <fmt/format.h>

#include "controller/slot_ledger.h"
#include "sim/actors/view.h"

namespace lockstep::sim {

namespace {

using fleet::Reason;
using fleet::ReasonName;
using fleet::State;

Objection find_objection(const ReasonName& reason) {
  for (const Objections* table :
       {&objections_to_starting(), &objections_to_slots(), &objections_to_evicting(),
        &objections_to_restarting(), &objections_to_validating()}) {
    auto at = table->find(reason);
    if (at != table->end()) return at->second;
  }
  return nullptr;
}

// A failed node shows its reason for the failure, whose truth was checked when it failed.
std::string objection_to_failed(const ReasonName& reason, const Said& said) {
  const auto failure = failure_of(*said.node.object);
  const ReasonName name = failure ? failure->name : Reason::failed;
  return reason == name ? "" : fmt::format("it failed with {}", name.view());
}

// A DaemonSet for drivers whose selector takes the node.
bool is_wanted_by(const Json& set, const Json& node) {
  if (!is_driver_set(set)) return false;
  const Json* selector = find(set, "spec", "template", "spec", "nodeSelector");
  if (selector == nullptr || !selector->is_object()) return true;
  for (const auto& [key, value] : selector->get_object()) {
    if (label_of(node, key) != as_text(&value)) return false;
  }
  return true;
}

}  // namespace

PoolTruth::PoolTruth(const Truth& truth, const std::string& pool) {
  auto held =
      truth.cluster().backend.store.shelf("configmaps").find({"lockstep-system", "lockstep-slots"});
  if (held) {
    for (const auto& [name, version] : controller::Ledger::from_json(held->json()).slots) {
      const NodeTruth* node = truth.node(name);
      // Used already, or of no use any more.
      if (node == nullptr || node->pool != pool || fleet::is_active(node->state)) continue;
      if (text_at(*node->object, "metadata", "resourceVersion") == version) reserved.insert(name);
    }
  }
  for (const auto& [name, node] : truth.nodes()) {
    if (node.pool != pool) continue;
    bool has_slot = reserved.contains(name);
    active += fleet::is_active(node.state) || has_slot ? 1 : 0;
    failed += node.state == State::failed ? 1 : 0;
    bool is_out = node.unschedulable || !node.ready || node.state == State::cordon || has_slot;
    unavailable += is_out ? 1 : 0;
  }
}

std::string objection_to(const ReasonName& reason, const Said& said) {
  const bool is_failure = reason.row().fails();
  if (said.fails && !is_failure) return "nothing fails with that";
  bool is_failed = !said.fails && said.node.state == State::failed;
  if (is_failed && is_failure) return objection_to_failed(reason, said);
  Objection objection = find_objection(reason);
  return objection == nullptr ? "it is not in the table of reasons" : objection(said);
}

const DriverTruth* driver_for(const Said& said) {
  if (const PodTruth* pod = said.truth.driver_pod(said.name)) {
    return said.truth.driver_of(*pod->object);
  }
  const apiserver::Store& store = said.truth.cluster().backend.store;
  for (const auto& [key, set] : store.shelf("daemonsets.apps").objects()) {
    if (!is_wanted_by(set->json(), *said.node.object)) continue;
    return said.truth.driver(text_at(set->json(), "metadata", "uid"));
  }
  return nullptr;
}

bool is_surely_settled(const Said& said) {
  const PodTruth* pod = said.truth.driver_pod(said.name);
  const DriverTruth* driver = pod == nullptr ? nullptr : said.truth.driver_of(*pod->object);
  if (driver == nullptr || said.truth.may_be_unknown(driver->changed)) return false;
  // The old pod stays, and says that it is ready, if no kubelet is there to end it.
  return !said.truth.may_be_unknown(pod->changed) && !is_terminating(*pod->object) &&
         label_of(*pod->object, fleet::revision_label) == driver->newest &&
         is_ready_pod(*pod->object);
}

}  // namespace lockstep::sim
