// What another process, the controller, knows of nodes and has given them: read from what it
// publishes.
#include <algorithm>
#include <utility>

#include "controller/fleet_watch.h"
#include "controller/slot_ledger.h"

namespace lockstep::controller {

void FleetWatch::take_notes(const kube::Cache<ConfigMap>::Change& change) {
  if (change.object().meta.name != notes_name) return;
  const ControllerNotes before = std::exchange(
      published_, change.after ? ControllerNotes::from_map(*change.after) : ControllerNotes{});
  for (const ControllerNotes* each : {&before, &std::as_const(published_)}) {
    for (const auto& [node, note] : each->nodes) touch(node);
  }
}

void FleetWatch::take_ledger(const kube::Cache<ConfigMap>::Change& change) {
  if (change.object().meta.name != ledger_name) return;
  const auto before = std::exchange(slots_, {});
  if (change.after) {
    for (const auto& [node, version] : change.after->data) {
      slots_.emplace(node.str(), version.str());
    }
  }
  for (const auto* each : {&before, &std::as_const(slots_)}) {
    for (const auto& [node, version] : *each) touch(node);
  }
}

void FleetWatch::add_tries(std::string_view node, fleet::PodOnNode& entry) const {
  const std::string uid = entry.pod->meta.uid.str();
  if (auto tries = tries_.find(uid); tries != tries_.end()) {
    entry.tries = tries->second;
    entry.pause = std::max(tries->second.not_before - loop_.uptime(), Duration::zero());
    return;
  }
  if (own_notes_) return;
  auto note = published_.nodes.find(std::string(node));
  if (note == published_.nodes.end()) return;
  auto eviction = note->second.evictions.find(uid);
  if (eviction == note->second.evictions.end()) return;
  const bool forced = eviction->second.forced_until.is_set();
  entry.tries = fleet::EvictionTries{forced ? 0U : 1U, Duration::zero(), eviction->second.by_budget,
                                     eviction->second.message, forced};
  // When the controller tries again is its own affair: it waits.
  entry.pause =
      forced ? std::max(eviction->second.forced_until - loop_.now(), Duration::zero()) : seconds(1);
}

void FleetWatch::add_notes(fleet::NodeView& view) const {
  if (own_notes_) return own_notes_(view);
  view.scheduler_sees_from = published_.scheduler_sees_from;
  auto slot = slots_.find(std::string(view.name()));
  view.granted = slot != slots_.end() && slot->second == view.node->meta.resource_version.view();
  auto note = published_.nodes.find(std::string(view.name()));
  if (note != published_.nodes.end()) add_note(note->second, view);
}

}  // namespace lockstep::controller
