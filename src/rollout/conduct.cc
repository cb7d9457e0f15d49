#include "rollout/conduct.h"

#include <algorithm>
#include <limits>

#include "rollout/decide_rollout.h"

namespace lockstep::rollout {

namespace {

// Any of its waves is open now, for the version that the cluster is to have.
bool is_any_open(const RolloutView& view, const RolloutGate& gate) {
  const RolloutStatus& status = view.status;
  bool active = status.phase != Phase::pending && !is_over(status.phase);
  // Waves are counted by their place, which a changed spec may have moved.
  active = active && (status.phase == Phase::rolling_back || has_opened_waves(view.spec, status));
  return active && !status.closed && view.target.is_set() && view.target.same_as(status.open_for) &&
         !gate.paused && (gate.window.open || status.phase == Phase::rolling_back);
}

bool is_finished(const RolloutNode& node) {
  bool is_idle = node.state == fleet::State::done || node.state == fleet::State::unknown;
  return node.state == fleet::State::failed || (is_idle && node.in_sync);
}

// The version was set back before its wave opened. NVIDIA's controller would leave it in
// upgrade-required, and evict its work without need once the label goes.
bool needs_no_upgrade(const RolloutNode& node, const fleet::Keys& keys) {
  return node.state == fleet::State::required && node.in_sync && node.reason.empty() &&
         !fleet::is_requested(*node.node, keys) && !fleet::waits_for_safe_load(*node.node, keys);
}

// Its wave is open; or the rollback takes along what it got outside the waves.
bool is_open_to(const RolloutView& view, const RolloutNode& node, size_t wave) {
  const auto index = static_cast<int64_t>(wave);
  if (index < view.status.open_waves) return true;
  return view.status.phase == Phase::rolling_back && index >= view.status.waves_to_return &&
         runs_rejected(view.status, node.set, node.revision, node.image);
}

}  // namespace

bool is_kept_back(const Node& node) {
  return node.meta.annotations.find(kept_back_annotation) != nullptr;
}

bool is_skipped_by_person(const Node& node, const fleet::Keys& keys) {
  return fleet::is_skipped(node, keys) && !is_kept_back(node);
}

std::vector<SkipChange> skips_due(const RolloutView& view, const RolloutGate& gate,
                                  const fleet::Keys& keys) {
  const bool any_open = is_any_open(view, gate);
  const WaveIndex waves = waves_of(view);
  std::vector<SkipChange> keep;
  std::vector<SkipChange> let_go;
  int64_t free = 0;  // nodes of the current wave that may be in progress
  for (const RolloutNode& node : view.nodes) {
    if (is_skipped_by_person(*node.node, keys)) continue;
    auto at = waves.find(node.name());
    size_t wave = at == waves.end() ? view.spec.waves.size() - 1 : at->second;
    bool open = any_open && is_open_to(view, node, wave);
    bool labelled = fleet::is_skipped(*node.node, keys);
    bool in_progress = fleet::is_active(node.state);
    // NVIDIA's controller reads the label before it begins a node, and nowhere else: a node in
    // progress gets it back at once, so that the next version finds every node with it.
    bool may_begin = open && !in_progress && !is_finished(node);
    if (open && in_progress) ++free;
    if (!may_begin) {
      if (!labelled) keep.push_back({node.name(), true, false});
      if (labelled && needs_no_upgrade(node, keys)) keep.push_back({node.name(), true, true});
    } else if (labelled || is_kept_back(*node.node)) {
      let_go.push_back({node.name(), false, false});
    } else {
      ++free;
    }
  }
  if (!keep.empty()) return keep;
  auto current = static_cast<size_t>(std::max<int64_t>(view.status.open_waves, 1) - 1);
  int64_t most = std::numeric_limits<int64_t>::max();
  if (current < view.spec.waves.size() && view.spec.waves[current].max_parallel.value_or(0) > 0) {
    most = std::max<int64_t>(0, *view.spec.waves[current].max_parallel - free);
  }
  if (static_cast<int64_t>(let_go.size()) > most) let_go.resize(static_cast<size_t>(most));
  return let_go;
}

Json skip_patch(const SkipChange& change, const std::string& rollout, const fleet::Keys& keys,
                std::string_view resource_version) {
  Json label = change.skip ? Json("true") : Json(nullptr);
  Json mark = change.skip ? Json(rollout) : Json(nullptr);
  JsonObject labels{{keys.skip, std::move(label)}};
  if (change.is_done) labels[keys.state] = to_string(fleet::State::done);
  return JsonObject{
      {"metadata",
       JsonObject{{"resourceVersion", resource_version},
                  {"labels", std::move(labels)},
                  {"annotations", JsonObject{{kept_back_annotation, std::move(mark)}}}}}};
}

bool is_left_behind(const Node& node, const RolloutSpec* keeper, bool governed) {
  if (!is_kept_back(node)) return false;
  if (keeper == nullptr) return true;
  if (governed || keeper->driver.kind == DriverKind::daemon_set) return false;
  // Without an owner its driver may come back any moment.
  std::string_view pool = node.meta.labels.get(fleet::driver_owner_label);
  return !pool.empty() && (keeper->driver.kind == DriverKind::cluster_policy ||
                           pool != std::string_view(keeper->driver.name));
}

}  // namespace lockstep::rollout
