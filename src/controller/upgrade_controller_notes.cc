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

void UpgradeController::delay(const std::string& node, upgrade::Reason reason) {
  reasons_[node] = reason;
  delays_[node] = std::move(reason);
  notes_.look();
}

void UpgradeController::note_sighting(const fleet::NodeView& view) {
  fleet::State state = fleet::state_of(*view.node, watch_.rules().keys);
  if (!fleet::is_active(state)) {
    if (auto at = sightings_.find(view.name()); at != sightings_.end()) sightings_.erase(at);
    if (auto at = entered_.find(view.name()); at != entered_.end()) entered_.erase(at);
    renewals_.forget(view.name());
    return;
  }
  Time since = fleet::state_since(*view.node);
  auto [at, is_new] = sightings_.try_emplace(std::string(view.name()));
  Sighting& sighting = at->second;
  if (is_new || sighting.state != state || sighting.since != since) {
    sighting = {state, since, loop_.uptime(), loop_.now()};
  }
  watch_clock();
}

void UpgradeController::watch_clock() {
  if (watches_clock_ || sightings_.empty()) return;
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
void UpgradeController::tell(fleet::NodeView& view) const {
  auto on_the_clock = [this](Duration uptime) { return loop_.now() - (loop_.uptime() - uptime); };
  view.scheduler_sees_from = on_the_clock(watch_.scheduler_sees_from());
  view.blind = watch_.is_blind();
  view.seen_since = on_the_clock(watch_.acts_since(view.pool));
  view.renewed.clear();
  renewals_.tell(view);
  auto at = sightings_.find(view.name());
  if (at == sightings_.end()) return;
  const Sighting& sighting = at->second;
  view.seen_since = std::max(view.seen_since, on_the_clock(sighting.first));
  view.clock_gained = on_the_clock(sighting.first) - sighting.first_by_clock;
}

void UpgradeController::tell_all(fleet::NodeView& view) const {
  view.granted = has_slot(*view.node);
  if (auto at = delays_.find(view.name()); at != delays_.end()) {
    view.delay = fleet::RolloutHold{at->second.name, at->second.text, at->second.remedy};
  }
  // Of the others nothing else depends on it.
  if (fleet::is_active(fleet::state_of(*view.node, watch_.rules().keys))) tell(view);
}

ControllerNotes UpgradeController::collect_notes() const {
  ControllerNotes notes;
  const Duration wait = watch_.scheduler_sees_from() - loop_.uptime();
  if (wait > Duration::zero() && !sightings_.empty()) {
    notes.scheduler_sees_from = loop_.now() + wait;
  }
  auto add = [&](const std::string& name) {
    auto view = watch_.view(name);
    if (!view) return;
    NodeNote note = note_of(*view, loop_.now());
    if (!note.is_empty()) notes.nodes[name] = std::move(note);
  };
  for (const auto& [name, sighting] : sightings_) add(name);
  for (const auto& [name, reason] : delays_) add(name);
  return notes;
}

}  // namespace lockstep::controller
