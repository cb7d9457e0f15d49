#include "controller/plan_snapshot.h"

#include <set>
#include <utility>

#include "controller/bake_keeper.h"
#include "controller/object_reverter.h"
#include "controller/rollout_nodes.h"
#include "rollout/conduct.h"
#include "rollout/rollout_matrix.h"

namespace lockstep::controller {

namespace {

// Beside NVIDIA's controller: who is held by our label is not skipped, and waits for its wave.
void release(fleet::NodeView& view, const fleet::Keys& keys) {
  auto node = std::make_shared<Node>(*view.node);
  node->meta.labels.erase(keys.skip);
  node->meta.annotations.erase(fleet::kept_back_annotation);
  view.node = std::move(node);
}

std::optional<rollout::BakeVerdict> bake_so_far(const FleetWatch& watch,
                                                const KnownRollout& known) {
  const auto wave = static_cast<size_t>(known.status.current_wave());
  if (known.status.phase != rollout::Phase::baking || wave >= known.status.waves.size()) {
    return std::nullopt;
  }
  const ObjectKey key{watch.rollouts.options().ns, bake_name(known.name(), wave)};
  auto map = watch.rollouts.waves.cache.find(key);
  auto kept = map ? KeptBake::from_map(*map) : std::nullopt;
  if (!kept || kept->record.began != known.status.waves[wave].bake_began) return std::nullopt;
  return kept->record.judge();
}

// As the canary would be rolled back: whether a step of it leads only forward.
void look_at_matrix(const ReadMatrix& read, rollout::ForwardRollout& rollout) {
  if (!read || !rollout.view.spec.matrix) return;
  auto matrix = read(*rollout.view.spec.matrix);
  if (!matrix) {
    rollout.matrix_unread = matrix.error().text();
    return;
  }
  std::string_view canary = matrix->value(rollout::Slot::canary, "driver");
  if (!canary.empty()) rollout.matrix_obstacle = rollout::one_way_step(*matrix, canary);
}

rollout::ForwardRollout forward_rollout(const FleetWatch& watch, const KnownRollout& known,
                                        const std::set<std::string>& sets,
                                        const ReadMatrix& matrix) {
  rollout::ForwardRollout rollout;
  rollout::RolloutView& view = rollout.view;
  view.name = known.name();
  view.generation = known.object->meta.generation;
  view.spec = known.spec;
  view.status = known.status;
  view.recorded = known.recorded;
  view.command = rollout::Command::of(*known.object->document);
  DriverOfRollout driver;
  add_driver(watch, known.spec, sets, driver);
  view.target = std::move(driver.target);
  view.target_image = std::move(driver.target_image);
  view.previous = std::move(driver.previous);
  view.object = std::move(driver.object);
  const std::string pool =
      known.spec.driver.kind == rollout::DriverKind::nvidia_driver ? known.spec.driver.name : "";
  const KnownRollout* governing = watch.rollouts.governing(pool, sets.empty() ? "" : *sets.begin());
  if (governing != nullptr && governing->name() != view.name) view.other = governing->name();
  if (!known.spec.matrix) view.no_rollback = ObjectReverter::obstacle(known.spec);
  view.baselines.resize(view.spec.waves.size());
  rollout.gate = known.gate;
  rollout.bake = bake_so_far(watch, known);
  look_at_matrix(matrix, rollout);
  return rollout;
}

}  // namespace

rollout::Snapshot plan_snapshot(const FleetWatch& watch, Time now, const ReadMatrix& matrix) {
  rollout::Snapshot snapshot{now, watch.rules(), watch.rollouts.options().time_zones, {}, {}, {},
                             {}};
  std::map<std::string, std::set<std::string>> sets;
  std::set<std::string> conducted;
  for (const std::string& name : watch.nodes()) {
    auto view = watch.view(name);
    if (!view) continue;
    rollout::ForwardNode node;
    const KnownRollout* rollout = watch.rollouts.rollout_of(*view);
    if (rollout != nullptr) node.rollout = rollout->name();
    if (rollout != nullptr && view->driver.set) {
      sets[node.rollout].insert(view->driver.set->meta.key().text());
    }
    if (rollout::is_kept_back(*view->node)) {
      conducted.insert(view->pool);
      release(*view, watch.rules().keys);
    }
    const ReadHealth health = read_health(view->node);
    node.gpus = health.gpus;
    node.reports_health = health.counts.has_value();
    node.busy = watch.runs_gpu_pods(name);
    snapshot.pools[view->pool];
    node.view = std::move(*view);
    snapshot.nodes.push_back(std::move(node));
  }
  for (auto& [name, pool] : snapshot.pools) {
    pool.policy = watch.policy_before_waves(name);
    const KnownRollout* rollout = watch.rollouts.governing(name, "");
    if (rollout != nullptr) pool.rollout = rollout->name();
    // NVIDIA's controller takes the steps of nodes that we hold: it is no conflict.
    if (!conducted.contains(name)) pool.frozen = watch.rival();
  }
  for (const auto& [name, known] : watch.rollouts.all()) {
    snapshot.rollouts[name] = forward_rollout(watch, known, sets[name], matrix);
  }
  watch.budgets.cache.for_each([&](const auto& budget) { snapshot.budgets.push_back(budget); });
  return snapshot;
}

}  // namespace lockstep::controller
