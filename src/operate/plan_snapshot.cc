#include "operate/plan_snapshot.h"

#include <set>
#include <utility>

#include "rollout/conduct.h"
#include "rollout/restoring.h"
#include "rollout/rollout_matrix.h"
#include "view/kept_bake.h"
#include "view/rollout_driver.h"

namespace lockstep::operate {

namespace {

// Beside NVIDIA's controller: a node with our label is not skipped, but waits for its wave.
void release(fleet::NodeView& view, const fleet::Keys& keys) {
  auto node = std::make_shared<Node>(*view.node);
  node->meta.labels.erase(keys.skip);
  node->meta.annotations.erase(fleet::kept_back_annotation);
  view.node = std::move(node);
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

rollout::ForwardRollout forward_rollout(const view::FleetWatch& watch,
                                        const view::KnownRollout& known,
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
  view::DriverOfRollout driver;
  view::add_driver(watch, known.spec, sets, driver);
  view.target = std::move(driver.target);
  view.target_image = std::move(driver.target_image);
  view.previous = std::move(driver.previous);
  view.object = std::move(driver.object);
  const std::string pool =
      known.spec.driver.kind == rollout::DriverKind::nvidia_driver ? known.spec.driver.name : "";
  const view::KnownRollout* governing =
      watch.rollouts().governing(pool, sets.empty() ? "" : *sets.begin());
  if (governing != nullptr && governing->name() != view.name) view.other = governing->name();
  if (!known.spec.matrix) view.no_rollback = rollout::obstacle_to_restore(known.spec);
  view.baselines.resize(view.spec.waves.size());
  rollout.gate = known.gate;
  if (known.status.phase == rollout::Phase::baking) {
    const auto wave = static_cast<size_t>(known.status.current_wave());
    rollout.bake = view::bake_so_far(watch.rollouts(), known, wave);
  }
  look_at_matrix(matrix, rollout);
  return rollout;
}

}  // namespace

rollout::Snapshot plan_snapshot(const view::FleetWatch& watch, Time now, const ReadMatrix& matrix) {
  rollout::Snapshot snapshot{now, watch.rules(), watch.rollouts().options().time_zones, {}, {}, {},
                             {}};
  std::map<std::string, std::set<std::string>> sets;
  std::set<std::string> conducted;
  for (const std::string& name : watch.nodes()) {
    auto view = watch.view(name);
    if (!view) continue;
    rollout::ForwardNode node;
    const view::KnownRollout* rollout = watch.rollouts().rollout_of(*view);
    if (rollout != nullptr) node.rollout = rollout->name();
    if (rollout != nullptr && view->driver.set) {
      sets[node.rollout].insert(view->driver.set->meta.key().text());
    }
    if (rollout::is_kept_back(*view->node)) {
      conducted.insert(view->pool);
      release(*view, watch.rules().keys);
    }
    const view::ReadHealth health = view::read_health(view->node);
    node.gpus = health.gpus;
    node.reports_health = health.counts.has_value();
    node.busy = watch.runs_gpu_pods(name);
    snapshot.pools[view->pool];
    node.view = std::move(*view);
    snapshot.nodes.push_back(std::move(node));
  }
  for (auto& [name, pool] : snapshot.pools) {
    pool.policy = watch.policy_before_waves(name);
    const view::KnownRollout* rollout = watch.rollouts().governing(name, "");
    if (rollout != nullptr) pool.rollout = rollout->name();
    // NVIDIA's controller takes the steps of nodes that we hold: that is not a conflict.
    if (!conducted.contains(name)) pool.frozen = watch.conflicting_controller();
  }
  for (const auto& [name, known] : watch.rollouts().all()) {
    snapshot.rollouts[name] = forward_rollout(watch, known, sets[name], matrix);
  }
  watch.caches().budgets().for_each(
      [&](const auto& budget) { snapshot.budgets.push_back(budget); });
  return snapshot;
}

}  // namespace lockstep::operate
