#include "view/live_status.h"

#include <vector>

namespace lockstep::view {

namespace {

using fleet::State;

// It failed with another revision than the newest: it is tried again by itself.
bool is_old_failure(const FleetWatch& watch, const std::string& name, const DriverFacts& facts) {
  auto node = watch.node(name);
  if (!node) return false;
  const Text* failed = node->meta.annotations.find(fleet::failed_revision_annotation);
  auto revisions = watch.revisions_of(facts.set);
  return failed != nullptr && revisions && *failed != revisions->newest;
}

bool is_skipped(const FleetWatch& watch, const std::string& name) {
  auto node = watch.node(name);
  return node && fleet::is_skipped(*node, watch.rules().keys);
}

}  // namespace

// As rollout::measure_progress counts them.
rollout::RolloutStatus live_status(const FleetWatch& watch, const KnownRollout& rollout) {
  rollout::RolloutStatus status = rollout.status;
  if (status.waves.empty() || rollout.gate.wave_of.empty()) return status;
  struct Counts {
    int64_t nodes = 0;
    int64_t done = 0;
    int64_t failed = 0;
    int64_t pending = 0;
  };
  std::vector<Counts> counts(status.waves.size());
  for (const auto& [name, facts] : watch.driver_facts()) {
    const fleet::NodeFacts* node = watch.tally().facts(name);
    if (node == nullptr || !rollout.covers(node->pool, facts.set)) continue;
    auto wave = rollout.gate.wave_of.find(name);
    const size_t index = wave == rollout.gate.wave_of.end() ? counts.size() - 1 : wave->second;
    if (index >= counts.size()) continue;
    Counts& count = counts[index];
    ++count.nodes;
    if (node->state == State::failed && !is_old_failure(watch, name, facts)) {
      ++count.failed;
    } else if (node->state == State::done && facts.in_sync) {
      ++count.done;
    } else if (!is_skipped(watch, name)) {
      ++count.pending;
    }
  }
  for (size_t i = 0; i < counts.size(); ++i) {
    status.waves[i].nodes = counts[i].nodes;
    status.waves[i].done = counts[i].done;
    status.waves[i].failed = counts[i].failed;
    status.waves[i].pending = counts[i].pending;
  }
  return status;
}

}  // namespace lockstep::view
