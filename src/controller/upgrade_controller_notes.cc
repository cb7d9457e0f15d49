// What the controller knows of nodes and no object says: into the views that it decides on, and
// into what it publishes.
#include <algorithm>
#include <utility>

#include "controller/upgrade_controller.h"

namespace lockstep::controller {

namespace {

constexpr Duration between_looks_at_clock = seconds(2);
constexpr Duration clock_slack = seconds(1);

}  // namespace

void UpgradeController::delay(const std::string& node, fleet::Reason reason) {
  NodeMemory& memory = memories_[node];
  memory.reason = reason;
  memory.delay = std::move(reason);
  notes_.look();
}

const NodeMemory* UpgradeController::memory_of(std::string_view node) const {
  auto at = memories_.find(node);
  return at == memories_.end() ? nullptr : &at->second;
}

fleet::ReasonName UpgradeController::reason_of(std::string_view node) const {
  const NodeMemory* memory = memory_of(node);
  return memory != nullptr && memory->reason ? memory->reason->name : fleet::ReasonName();
}

std::map<std::string, fleet::Reason> UpgradeController::reasons() const {
  std::map<std::string, fleet::Reason> reasons;
  for (const auto& [node, memory] : memories_) {
    if (memory.reason) reasons.emplace(node, *memory.reason);
  }
  return reasons;
}

void UpgradeController::note_sighting(const fleet::NodeView& view) {
  fleet::State state = fleet::state_of(*view.node, watch_.rules().keys);
  if (!fleet::is_active(state)) {
    if (auto at = memories_.find(view.name()); at != memories_.end()) at->second.end_upgrade();
    return;
  }
  Time since = fleet::state_since(*view.node);
  auto& sighting = memories_[std::string(view.name())].sighting;
  if (!sighting || sighting->state != state || sighting->since != since) {
    sighting = {state, since, loop_.uptime(), loop_.now()};
  }
  watch_clock();
}

void UpgradeController::watch_clock() {
  if (watches_clock_) return;
  const bool sees_any = std::any_of(memories_.begin(), memories_.end(), [](const auto& entry) {
    return entry.second.sighting.has_value();
  });
  if (!sees_any) return;
  watches_clock_ = true;
  const Time zero = loop_.now() - loop_.uptime();
  loop_.after(between_looks_at_clock, scope_.bind([this, zero] {
    watches_clock_ = false;
    const Duration gained = loop_.now() - loop_.uptime() - zero;
    if (gained > clock_slack || gained < -clock_slack) notes_.look();
    watch_clock();
  }));
}

// By the time that passes, not by a clock that users set.
void UpgradeController::tell_progress(fleet::NodeView& view) const {
  auto on_the_clock = [this](Duration uptime) { return loop_.now() - (loop_.uptime() - uptime); };
  view.known.scheduler_sees_from = on_the_clock(watch_.scheduler_sees_from());
  view.known.blind = watch_.is_blind();
  view.known.seen_since = on_the_clock(watch_.acts_since(view.pool));
  view.known.renewed.clear();
  const NodeMemory* memory = memory_of(view.name());
  if (memory == nullptr) return;
  memory->renewals.tell(view);
  if (!memory->sighting) return;
  const NodeMemory::Sighting& sighting = *memory->sighting;
  view.known.seen_since = std::max(view.known.seen_since, on_the_clock(sighting.first));
  view.known.clock_gained = on_the_clock(sighting.first) - sighting.first_by_clock;
}

void UpgradeController::tell(fleet::NodeView& view) const {
  view.known.granted = has_slot(*view.node);
  if (const NodeMemory* memory = memory_of(view.name()); memory != nullptr && memory->delay) {
    view.known.delay = memory->delay;
  }
  // Of the others nothing else depends on it.
  if (fleet::is_active(fleet::state_of(*view.node, watch_.rules().keys))) tell_progress(view);
}

void UpgradeController::tell_tries(std::string_view, fleet::PodOnNode& entry) const {
  auto tries = tries_.find(entry.pod->meta.uid.str());
  if (tries == tries_.end()) return;
  entry.tries = tries->second;
  entry.pause = std::max(tries->second.not_before - loop_.uptime(), Duration::zero());
}

view::ControllerNotes UpgradeController::collect_notes() const {
  view::ControllerNotes notes;
  const Duration wait = watch_.scheduler_sees_from() - loop_.uptime();
  for (const auto& [name, memory] : memories_) {
    if (!memory.sighting && !memory.delay) continue;
    if (memory.sighting && wait > Duration::zero()) notes.scheduler_sees_from = loop_.now() + wait;
    auto view = watch_.view(name);
    if (!view) continue;
    view::NodeNote note = view::note_of(*view, loop_.now());
    if (!note.is_empty()) notes.nodes[name] = std::move(note);
  }
  return notes;
}

}  // namespace lockstep::controller
