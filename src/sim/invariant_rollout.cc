#include "sim/invariant_rollout.h"

#include <fmt/format.h>

#include "base/strings.h"
#include "controller/rollout_watch.h"
#include "rollout/rollout_spec.h"
#include "sim/rollout_part.h"

namespace lockstep::sim {

namespace {

using fleet::State;

bool is_rollout(const std::string& storage) {
  return storage == fleet::driver_rollouts.full_name();
}

// As the store has it at this moment.
rollout::RolloutGate gate_of(const apiserver::StoredPtr& object, const apiserver::Store& store,
                             Time now) {
  rollout::RolloutSpec spec = rollout::read_rollout_spec(object->json());
  rollout::RolloutGate gate;
  gate.rollout = object->key().name;
  gate.status = rollout::read_rollout_status(object->json());
  gate.paused = spec.paused;
  gate.window = rollout::look_at_windows(spec.windows, rollout_time_zones(), now);
  for (size_t i = 0; i < spec.waves.size(); ++i) {
    gate.wave_names.push_back(spec.waves[i].name);
    auto map =
        store.shelf("configmaps").find({"lockstep-system", controller::wave_name(gate.rollout, i)});
    if (!map) continue;
    for (std::string_view node : split(text_at(map->json(), "data", "nodes"), '\n')) {
      if (!node.empty()) gate.wave_of.try_emplace(std::string(node), i);
    }
  }
  return gate;
}

}  // namespace

void OpenWavesOnly::on_change(const std::string& storage, const apiserver::Change& change,
                              bool /*ours*/) {
  if (!is_rollout(storage)) return;
  auto what = [](const apiserver::StoredPtr& object) {
    rollout::RolloutStatus status = rollout::read_rollout_status(object->json());
    return fmt::format("{} {} {} {} {}", print_json(object->json().at("spec")), status.closed,
                       status.open_waves, rollout::revision_id(status.open_for),
                       rollout::revision_id(status.stable));
  };
  if (!change.before || what(change.before) != what(change.object)) changed_ = truth().uptime();
}

void OpenWavesOnly::on_node(const NodeStep& step) {
  bool begins = step.ours && step.from() == State::required && step.changes_state() &&
                fleet::is_active(step.to()) && step.to() != State::uncordon;
  if (!begins || truth().may_be_unknown(changed_)) return;
  const PodTruth* pod = truth().driver_pod(step.name);
  const DriverTruth* driver = pod == nullptr ? nullptr : truth().driver_of(*pod->object);
  if (driver == nullptr) return;
  const Json* owner = controller_of(*pod->object);
  std::string set = fmt::format("{}/{}", text_at(*pod->object, "metadata", "namespace"),
                                owner == nullptr ? "" : text_at(*owner, "name"));
  apiserver::Store& store = truth().cluster().backend.store;
  for (const auto& [key, object] : store.shelf(fleet::driver_rollouts.full_name()).objects()) {
    // Of a window's edge a moment is nobody's fault.
    std::optional<fleet::RolloutHold> held;
    for (Duration ago : {Duration::zero(), truth().blindness}) {
      rollout::RolloutGate gate = gate_of(object, store, truth().cluster().loop.now() - ago);
      held = rollout::hold_of(gate, step.name, set, driver->newest);
      // It may not have heard of the newest revision: then its wave was open for the one before.
      if (held && truth().may_be_unknown(driver->changed)) {
        held = rollout::hold_of(gate, step.name, set, gate.status.open_for.revisions[set]);
      }
      if (!held) break;
    }
    if (held) accuse(fmt::format("{} was begun, and {}: {}", step.name, held->name, held->text));
  }
}

void NoWaveWithoutPass::on_change(const std::string& storage, const apiserver::Change& change,
                                  bool ours) {
  if (!ours || !is_rollout(storage) || !change.before) return;
  rollout::RolloutStatus before = rollout::read_rollout_status(change.before->json());
  rollout::RolloutStatus after = rollout::read_rollout_status(change.object->json());
  bool forwards = after.phase == rollout::Phase::upgrading;
  bool opens = after.open_waves > before.open_waves || !after.open_for.same_as(before.open_for);
  if (!forwards || !opens) return;
  // The first wave of a version.
  if (after.open_waves == 1) return;
  if (!after.open_for.same_as(before.open_for) || after.open_waves != before.open_waves + 1) {
    return accuse(fmt::format("rollout {} opened wave {} after wave {}", change.object->key().name,
                              after.open_waves, before.open_waves));
  }
  const rollout::WaveStatus& passed = before.waves[static_cast<size_t>(before.open_waves) - 1];
  if (passed.verdict != rollout::Outcome::passed) {
    accuse(fmt::format("rollout {} opened wave {} although wave {} is {}",
                       change.object->key().name,
                       after.waves[static_cast<size_t>(after.open_waves) - 1].name, passed.name,
                       to_string(passed.verdict)));
  }
}

void RollbackEndsBack::on_change(const std::string& storage, const apiserver::Change& change,
                                 bool ours) {
  if (!ours || !is_rollout(storage) || !change.before) return;
  rollout::RolloutStatus before = rollout::read_rollout_status(change.before->json());
  rollout::RolloutStatus after = rollout::read_rollout_status(change.object->json());
  if (after.phase == before.phase) return;
  if (after.phase == rollout::Phase::held && (after.reason.empty() || after.message.empty())) {
    accuse(fmt::format("rollout {} is held and does not say why", change.object->key().name));
  }
  if (after.phase == rollout::Phase::rolled_back) look_at_nodes(change.object, after);
}

void RollbackEndsBack::look_at_nodes(const apiserver::StoredPtr& object,
                                     const rollout::RolloutStatus& status) {
  Cluster& cluster = truth().cluster();
  rollout::RolloutGate gate = gate_of(object, cluster.backend.store, cluster.loop.now());
  const fleet::Keys keys;
  for (const std::string& name : cluster.kubelets().node_names()) {
    auto wave = gate.wave_of.find(name);
    bool was_open = wave != gate.wave_of.end() && wave->second < status.waves.size() &&
                    status.waves[wave->second].opened.is_set();
    if (!was_open || !cluster.kubelets().is_there(name)) continue;
    Document node = cluster.get(resource::nodes, {"", name});
    // Whom a person leaves out stays as they are.
    if (!node || text_at(*node, "metadata", "labels", keys.skip) == "true") continue;
    const Machine& machine = cluster.kubelets().machine(name);
    if (machine.loaded() && machine.version() == status.from.version) continue;
    accuse(fmt::format("rollout {} is rolled back to {}, and {} runs {}", object->key().name,
                       status.from.version, name,
                       machine.loaded() ? machine.version() : "nothing"));
  }
}

}  // namespace lockstep::sim
