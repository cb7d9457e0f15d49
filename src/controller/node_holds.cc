#include "controller/node_holds.h"

#include <algorithm>

#include "kube/backoff.h"
#include "kube/typed.h"

namespace lockstep::controller {

namespace {

constexpr size_t most_at_a_time = 100;
constexpr kube::BackoffPolicy between_releases{seconds(2), minutes(2), 2.0, 0};

}  // namespace

std::string version_of_node(const view::FleetWatch& watch, const std::string& name) {
  auto node = watch.node(name);
  return node ? node->meta.resource_version.str() : std::string();
}

NodeHolds::NodeHolds(kube::Api& api, Loop& loop, view::FleetWatch& watch, Done done)
    : api_(api), loop_(loop), watch_(watch), done_(std::move(done)) {}

// Two replicas with different views would undo each other's writes every second. The one that
// releases waits; the one that holds never does.
std::optional<Duration> NodeHolds::wait_of(const rollout::SkipChange& change) const {
  auto last = releases_.find(change.node);
  if (change.skip || last == releases_.end()) return std::nullopt;
  const Duration left =
      last->second.at + kube::backoff_delay(between_releases, last->second.times) - loop_.uptime();
  if (left <= Duration::zero()) return std::nullopt;
  return left;
}

void NodeHolds::note(const rollout::SkipChange& change) {
  if (change.skip) {
    releases_.erase(change.node);
    return;
  }
  Release& release = releases_[change.node];
  ++release.times;
  release.at = loop_.uptime();
}

NodeHolds::Due NodeHolds::due(const view::KnownRollout& known,
                              const rollout::RolloutView& view) const {
  Due due;
  // A rollout whose nodes another one governs holds none.
  if (!view.other.empty()) return due;
  due.changes = rollout::skips_due(view, known.gate, watch_.rules().keys);
  std::erase_if(due.changes, [&](const rollout::SkipChange& change) {
    if (!watch_.is_node_current(change.node)) return true;
    const std::optional<Duration> wait = wait_of(change);
    if (!wait) return false;
    due.requeue_after = std::min(due.requeue_after.value_or(*wait), *wait);
    return true;
  });
  return due;
}

std::vector<rollout::SkipChange> NodeHolds::orphans() const {
  std::vector<rollout::SkipChange> changes;
  watch_.caches().nodes().for_each([&](const std::shared_ptr<const Node>& node) {
    if (!rollout::is_kept_back(*node)) return;
    std::string name = node->meta.name.str();
    auto keeper = watch_.rollouts().all().find(
        std::string(node->meta.annotations.get(rollout::kept_back_annotation)));
    auto facts = watch_.driver_facts().find(name);
    const std::string pool(node->meta.labels.get(fleet::driver_owner_label));
    const std::string set = facts == watch_.driver_facts().end() ? "" : facts->second.set;
    bool is_there = keeper != watch_.rollouts().all().end();
    bool governed = watch_.rollouts().governing(pool, set) != nullptr;
    if (!rollout::is_left_behind(*node, is_there ? &keeper->second.spec : nullptr, governed)) {
      return;
    }
    if (!watch_.is_node_current(node->meta.name.str())) return;
    changes.push_back({name, false, false});
  });
  return changes;
}

void NodeHolds::write(const std::string& rollout, std::vector<rollout::SkipChange> changes) {
  if (changes.size() > most_at_a_time) changes.resize(most_at_a_time);
  auto left = std::make_shared<size_t>(changes.size());
  auto failed = std::make_shared<bool>(false);
  for (const rollout::SkipChange& change : changes) {
    Json patch = rollout::skip_patch(change, rollout, watch_.rules().keys,
                                     version_of_node(watch_, change.node));
    api_.call(
        kube::patch(resource::nodes, {"", change.node}, kube::PatchType::merge, std::move(patch)),
        scope_.bind([this, rollout, change, left, failed](kube::Reply reply) {
          if (reply && reply->ok()) {
            note(change);
            watch_.expect_node(change.node, kube::peek_body_version(reply->body));
          } else {
            *failed = true;
          }
          if (--*left == 0) done_(rollout, *failed);
        }));
  }
}

}  // namespace lockstep::controller
