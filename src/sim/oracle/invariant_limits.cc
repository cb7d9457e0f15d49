#include "sim/oracle/invariant_limits.h"

#include <algorithm>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "base/strings.h"

namespace lockstep::sim {

namespace {

using fleet::State;

bool begins(const NodeStep& step) {
  bool waited = step.from() == State::required || step.from() == State::failed;
  return step.ours && waited && step.after != nullptr && step.after->begun;
}

bool is_ledger(const std::string& storage, const apiserver::Change& change) {
  return storage == "configmaps" && change.object->key().name == "lockstep-slots";
}

// By this change.
std::vector<std::string> given_slots(const controller::Ledger& ledger,
                                     const apiserver::Change& change) {
  std::map<std::string, std::string> before;
  if (change.before) before = controller::Ledger::from_json(change.before->json()).slots;
  std::vector<std::string> given;
  for (const auto& [node, slot] : ledger.slots) {
    auto at = before.find(node);
    if (at == before.end() || at->second != slot) given.push_back(node);
  }
  return given;
}

}  // namespace

void MaxUnavailable::on_change(const std::string& storage, const apiserver::Change& change,
                               bool ours) {
  if (!ours || !is_ledger(storage, change)) return;
  controller::Ledger ledger = controller::Ledger::from_json(change.object->json());
  auto version = parse_integer(ledger.seen);
  uint64_t seen =
      version ? static_cast<uint64_t>(*version) : truth().cluster().backend.store.version();
  for (const std::string& node : given_slots(ledger, change)) seen_[node] = seen;
}

void MaxUnavailable::on_node(const NodeStep& step) {
  if (!step.ours || step.after == nullptr) return;
  const NodeTruth& node = *step.after;
  bool was_out =
      step.before != nullptr &&
      (step.before->out_by_us() || step.before->cordon == Cordon::others || step.before->contained);
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

void SlotsFit::on_change(const std::string& storage, const apiserver::Change& change, bool ours) {
  if (!ours || !is_ledger(storage, change)) return;
  const controller::Ledger ledger = controller::Ledger::from_json(change.object->json());
  std::map<std::string, std::set<std::string>> given;  // by pool
  for (const std::string& name : given_slots(ledger, change)) {
    if (const NodeTruth* node = truth().node(name)) given[node->pool].insert(name);
  }
  for (const auto& [pool, names] : given) check(pool, ledger, names);
}

void SlotsFit::check(const std::string& pool, const controller::Ledger& ledger,
                     const std::set<std::string>& given) const {
  auto active = static_cast<int64_t>(truth().active(pool).size());
  auto out = static_cast<int64_t>(truth().out_by_us(pool).size());
  bool takes_out = false;
  for (const auto& [name, version] : ledger.slots) {
    const NodeTruth* node = truth().node(name);
    // Used already, or of no use any more.
    if (node == nullptr || node->pool != pool || fleet::is_active(node->state)) continue;
    if (text_at(*node->object, "metadata", "resourceVersion") != version) continue;
    ++active;
    if (node->unschedulable || !node->ready || node->out_by_us()) continue;
    ++out;
    takes_out = takes_out || given.contains(name);
  }
  const Truth::Limits limits = truth().limits(pool);
  if (limits.parallel > 0 && active > limits.parallel) {
    accuse(fmt::format("slots for {} nodes at a time are given, and maxParallelUpgrades is {}",
                       active, limits.parallel));
  }
  // One that is out of service already costs nothing.
  if (takes_out && out > limits.unavailable) {
    accuse(fmt::format(
        "slots to take {} nodes out of service are given, and maxUnavailable is {} of {} nodes",
        out, limits.unavailable, truth().total(pool)));
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
