#include "view/published_notes.h"

#include <algorithm>
#include <utility>

namespace lockstep::view {

void PublishedNotes::take_notes(const kube::Cache<ConfigMap>::Change& change) {
  if (change.object().meta.name != notes_name) return;
  const ControllerNotes before = std::exchange(
      notes_, change.after ? ControllerNotes::from_map(*change.after) : ControllerNotes{});
  for (const ControllerNotes* each : {&before, &std::as_const(notes_)}) {
    for (const auto& [node, note] : each->nodes) touch_(node);
  }
}

void PublishedNotes::take_ledger(const kube::Cache<ConfigMap>::Change& change) {
  if (change.object().meta.name != ledger_name) return;
  const auto before = std::exchange(slots_, {});
  if (change.after) {
    for (const auto& [node, version] : change.after->data) {
      slots_.emplace(node.str(), version.str());
    }
  }
  for (const auto* each : {&before, &std::as_const(slots_)}) {
    for (const auto& [node, version] : *each) touch_(node);
  }
}

void PublishedNotes::tell(fleet::NodeView& view) const {
  view.known.scheduler_sees_from = notes_.scheduler_sees_from;
  auto slot = slots_.find(view.name());
  view.known.granted =
      slot != slots_.end() && slot->second == view.node->meta.resource_version.view();
  auto note = notes_.nodes.find(std::string(view.name()));
  if (note != notes_.nodes.end()) add_note(note->second, view);
}

void PublishedNotes::tell_tries(std::string_view node, fleet::PodOnNode& entry) const {
  auto note = notes_.nodes.find(std::string(node));
  if (note == notes_.nodes.end()) return;
  auto eviction = note->second.evictions.find(entry.pod->meta.uid.str());
  if (eviction == note->second.evictions.end()) return;
  const bool forced = eviction->second.forced_until.is_set();
  entry.tries = fleet::EvictionTries{forced ? 0U : 1U, Duration::zero(), eviction->second.by_budget,
                                     eviction->second.message, forced};
  // When the controller tries again is its own affair: it waits.
  entry.pause =
      forced ? std::max(eviction->second.forced_until - loop_.now(), Duration::zero()) : seconds(1);
}

}  // namespace lockstep::view
