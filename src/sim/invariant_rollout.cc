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

// Which wave each node was written down for, read from the store itself.
std::map<std::string, size_t> recorded_waves(const std::string& rollout, size_t waves,
                                             const apiserver::Store& store) {
  std::map<std::string, size_t> recorded;
  for (size_t i = 0; i < waves; ++i) {
    auto map =
        store.shelf("configmaps").find({"lockstep-system", controller::wave_name(rollout, i)});
    if (!map) continue;
    for (std::string_view node : split(text_at(map->json(), "data", "nodes"), '\n')) {
      if (!node.empty()) recorded.try_emplace(std::string(node), i);
    }
  }
  return recorded;
}

bool speaks_of(const Json& status, std::string_view which, const std::string& set,
               const std::string& revision) {
  const Json* revisions = find(status, which, "revisions");
  return revisions != nullptr && !revision.empty() && text_at(*revisions, set) == revision;
}

// Why the rollout, as it stands in the store, does not let the node begin with this revision;
// empty: it does. Written from the specification (rollout.md, sections 2 and 3) and not by the
// functions that the controller uses: what they get wrong is to be found.
std::string why_not(const apiserver::StoredPtr& object, const apiserver::Store& store,
                    const std::string& node, const std::string& set, const std::string& revision,
                    Time now) {
  static const Json nothing = JsonObject{};
  const Json* found = find(object->json(), "status");
  const Json& status = found == nullptr ? nothing : *found;
  std::string_view phase = text_at(status, "phase");
  bool is_idle =
      phase.empty() || phase == "Pending" || phase == "Complete" || phase == "RolledBack";
  if (is_idle) {
    if (!speaks_of(status, "stable", set, revision)) return "nothing has begun with this version";
  } else {
    if (as_bool(find(status, "closed"))) return "the waves are closed";
    if (!speaks_of(status, "openFor", set, revision))
      return "the waves are open for another version";
    const rollout::RolloutSpec spec = rollout::read_rollout_spec(object->json());
    const auto waves = recorded_waves(object->key().name, spec.waves.size(), store);
    auto at = waves.find(node);
    // Whoever was written down for none is in the last.
    auto wave = static_cast<int64_t>(at == waves.end() ? spec.waves.size() - 1 : at->second);
    if (wave >= as_integer(find(status, "openWaves"))) {
      return fmt::format("its wave ({}) is not open", wave + 1);
    }
  }
  if (as_bool(find(object->json(), "spec", "paused"))) return "the rollout is paused";
  const rollout::RolloutSpec spec = rollout::read_rollout_spec(object->json());
  if (!rollout::look_at_windows(spec.windows, rollout_time_zones(), now).open) {
    return "no window is open";
  }
  return {};
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
    std::string why;
    for (Duration ago : {Duration::zero(), truth().blindness}) {
      const Time then = truth().cluster().loop.now() - ago;
      why = why_not(object, store, step.name, set, driver->newest, then);
      // It may not have heard of the newest revision: then its wave was open for the one before.
      if (!why.empty() && truth().may_be_unknown(driver->changed)) {
        const Json* open_for = find(object->json(), "status", "openFor", "revisions");
        const std::string older(open_for == nullptr ? "" : text_at(*open_for, set));
        why = why_not(object, store, step.name, set, older, then);
      }
      if (why.empty()) break;
    }
    if (!why.empty()) accuse(fmt::format("{} was begun, and {}", step.name, why));
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

bool RollbackEndsBack::has_newest_driver(const std::string& node) const {
  const PodTruth* pod = truth().driver_pod(node);
  const DriverTruth* driver = pod == nullptr ? nullptr : truth().driver_of(*pod->object);
  return driver != nullptr && label_of(*pod->object, fleet::revision_label) == driver->newest;
}

void RollbackEndsBack::look_at_nodes(const apiserver::StoredPtr& object,
                                     const rollout::RolloutStatus& status) {
  Cluster& cluster = truth().cluster();
  const auto waves = recorded_waves(object->key().name, status.waves.size(), cluster.backend.store);
  const fleet::Keys keys;
  for (const std::string& name : cluster.kubelets().node_names()) {
    auto wave = waves.find(name);
    bool was_open = wave != waves.end() && wave->second < status.waves.size() &&
                    status.waves[wave->second].opened.is_set();
    if (!was_open || !cluster.kubelets().is_there(name)) continue;
    Document node = cluster.get(resource::nodes, {"", name});
    // Whom a person leaves out stays as they are.
    if (!node || text_at(*node, "metadata", "labels", keys.skip) == "true") continue;
    const Machine& machine = cluster.kubelets().machine(name);
    if (machine.loaded() && machine.version() == status.from.version) continue;
    // It was there, and the machine starts anew: what it will load is what it had.
    if (!machine.loaded() && has_newest_driver(name)) continue;
    accuse(fmt::format("rollout {} is rolled back to {}, and {} runs {}", object->key().name,
                       status.from.version, name,
                       machine.loaded() ? machine.version() : "nothing"));
  }
}

}  // namespace lockstep::sim
