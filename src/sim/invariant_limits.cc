#include "sim/invariant_limits.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "controller/slot_ledger.h"

namespace lockstep::sim {

namespace {

using fleet::State;

bool begins(const NodeStep& step) {
  bool waited = step.from() == State::required || step.from() == State::failed;
  return step.ours && waited && step.after != nullptr && step.after->begun;
}

}  // namespace

void MaxUnavailable::on_change(const std::string& storage, const apiserver::Change& change,
                               bool ours) {
  if (!ours || storage != "configmaps" || change.object->key().name != "lockstep-slots") return;
  controller::Ledger ledger = controller::Ledger::from_json(change.object->json());
  auto version = parse_integer(ledger.seen);
  uint64_t seen =
      version ? static_cast<uint64_t>(*version) : truth().cluster().backend.store.version();
  std::map<std::string, std::string> before;
  if (change.before) before = controller::Ledger::from_json(change.before->json()).slots;
  for (const auto& [node, slot] : ledger.slots) {
    auto at = before.find(node);
    if (at == before.end() || at->second != slot) seen_[node] = seen;
  }
}

void MaxUnavailable::on_node(const NodeStep& step) {
  if (!step.ours || step.after == nullptr) return;
  const NodeTruth& node = *step.after;
  bool was_out =
      step.before != nullptr && (step.before->out_by_us() || step.before->cordon == Cordon::others);
  if (!node.out_by_us() || was_out) return;
  auto ours = static_cast<int64_t>(truth().out_by_us(node.pool).size());
  Truth::Limits limits = truth().limits(node.pool);
  if (ours > limits.unavailable) {
    return accuse(fmt::format(
        "{} was taken out of service as number {} by our doing, and maxUnavailable is {} of {} "
        "nodes",
        step.name, ours, limits.unavailable, truth().total(node.pool)));
  }
  if (!begins(step) || step.before->out_since != 0) return;
  auto grant = seen_.find(step.name);
  uint64_t seen = grant == seen_.end() ? truth().cluster().backend.store.version() : grant->second;
  const auto& others = truth().out_by_others(node.pool);
  int64_t known = std::count_if(others.begin(), others.end(), [&](const std::string& name) {
    return truth().node(name)->out_since <= seen;
  });
  if (ours + known > limits.unavailable) {
    accuse(fmt::format(
        "{} was begun with {} of {} nodes unavailable ({} by our doing, {} by "
        "others), and maxUnavailable is {}",
        step.name, ours + known, truth().total(node.pool), ours, known, limits.unavailable));
  }
}

void MaxParallel::on_node(const NodeStep& step) {
  if (!begins(step)) return;
  int64_t limit = truth().limits(step.after->pool).parallel;
  auto active = static_cast<int64_t>(truth().active(step.after->pool).size());
  if (limit > 0 && active > limit) {
    accuse(fmt::format("{} was begun as number {} at a time, and maxParallelUpgrades is {}",
                       step.name, active, limit));
  }
}

}  // namespace lockstep::sim
