#include "controller/rollout_nodes.h"

#include "rollout/conduct.h"
#include "rollout/wave_evidence.h"

namespace lockstep::controller {

namespace {

// Why nodes wait is not said by any change of theirs: after this long it is asked again.
constexpr Duration reasons_keep = minutes(10);

// Nodes do not move then; in every other phase their reasons matter at once.
bool is_quiet(rollout::Phase phase) {
  return phase == rollout::Phase::baking || phase == rollout::Phase::awaiting_approval;
}

}  // namespace

RolloutNodes::RolloutNodes(view::FleetWatch& watch, Loop& loop, bool conduct, ReasonOf reason_of)
    : watch_(watch), loop_(loop), conduct_(conduct), reason_of_(std::move(reason_of)) {
  watch_.on_node(scope_.bind([this](const std::string& node) {
    ++changes_;
    running_.erase(node);
  }));
}

void RolloutNodes::add_to(const view::KnownRollout& known, rollout::RolloutView& view) {
  Memory& memory = memories_[known.name()];
  const int64_t generation = known.object->meta.generation;
  const bool keeps = is_quiet(known.status.phase) && memory.changes == changes_ &&
                     memory.generation == generation && loop_.uptime() - memory.at < reasons_keep;
  if (!keeps) {
    memory = {};
    memory.generation = generation;
    memory.changes = changes_;
    memory.at = loop_.uptime();
    put_together(known, memory);
  }
  view.nodes = memory.nodes;
  view.target = memory.target;
  view.target_image = memory.target_image;
  view.previous = memory.previous;
  view.object = memory.object;
}

bool RolloutNodes::is_object_current(const rollout::RolloutSpec& spec) const {
  return spec.driver.kind == rollout::DriverKind::daemon_set ||
         watch_.driver_objects(spec.driver.kind).is_current(ObjectKey{"", spec.driver.name});
}

void RolloutNodes::expect_object(const rollout::RolloutSpec& spec, const std::string& version) {
  watch_.expect_driver_object(spec.driver, version);
}

// NVIDIA's controller began with it although no wave was open for it.
bool RolloutNodes::is_outside(const view::KnownRollout& known, const std::string& node,
                              const view::DriverFacts& facts) const {
  auto revisions = watch_.revisions_of(facts.set);
  if (!revisions) return false;
  const rollout::NodeDriver driver{facts.set, revisions->newest, facts.revision, facts.image,
                                   facts.pod_created};
  return rollout::containment_of(known.gate, node, driver).has_value();
}

void RolloutNodes::put_together(const view::KnownRollout& known, Memory& memory) const {
  std::set<std::string> sets;
  const fleet::Keys& keys = watch_.rules().keys;
  watch_.caches().nodes().for_each([&](const std::shared_ptr<const Node>& node) {
    std::string name = node->meta.name.str();
    auto facts = watch_.driver_facts().find(name);
    if (facts == watch_.driver_facts().end()) return;
    std::string pool(node->meta.labels.get(fleet::driver_owner_label));
    if (!known.covers(pool, facts->second.set)) return;
    sets.insert(facts->second.set);
    rollout::RolloutNode entry;
    entry.node = node;
    entry.state = fleet::state_of(*node, keys);
    entry.in_sync = facts->second.in_sync;
    entry.out_of_sync = facts->second.out_of_sync;
    entry.set = facts->second.set;
    entry.revision = facts->second.revision;
    entry.image = facts->second.image;
    entry.skipped =
        conduct_ ? rollout::is_skipped_by_person(*node, keys) : fleet::is_skipped(*node, keys);
    entry.excluded = rollout::excluded_because(*node, entry.skipped, keys, watch_.policy(pool));
    bool waits = entry.state == fleet::State::required || entry.state == fleet::State::failed;
    if (waits && reason_of_) entry.reason = reason_of_(name);
    if (conduct_ && is_outside(known, name, facts->second)) {
      entry.reason = fleet::Reason::upgraded_outside_wave;
    }
    if (entry.state == fleet::State::failed) {
      const Text* failed = node->meta.annotations.find(fleet::failed_revision_annotation);
      auto revisions = watch_.revisions_of(facts->second.set);
      entry.old_failure = failed != nullptr && revisions && *failed != revisions->newest;
    }
    memory.nodes.push_back(std::move(entry));
  });
  view::add_driver(watch_, known.spec, sets, memory);
}

const RolloutNodes::Running& RolloutNodes::running_on(const std::string& node) {
  auto [at, is_new] = running_.try_emplace(node);
  if (is_new) at->second = {watch_.runs_gpu_pods(node), watch_.published_versions(node)};
  return at->second;
}

std::vector<BakeNode> RolloutNodes::bake_nodes(const rollout::RolloutView& view) {
  std::vector<BakeNode> nodes;
  nodes.reserve(view.nodes.size());
  for (const rollout::RolloutNode& node : view.nodes) {
    // Also while its driver is not ready: what the driver breaks is not to leave the comparison.
    const bool upgraded = node.state == fleet::State::done && !node.out_of_sync;
    const bool waits = node.state == fleet::State::required && node.out_of_sync;
    if (!upgraded && !waits) continue;
    BakeNode entry;
    entry.node = node.node;
    entry.upgraded = upgraded;
    const Running& running = running_on(node.name());
    entry.busy = running.busy;
    entry.published = running.published;
    if (upgraded) entry.version = fleet::loaded_version(view.status.to.version);
    nodes.push_back(std::move(entry));
  }
  return nodes;
}

}  // namespace lockstep::controller
