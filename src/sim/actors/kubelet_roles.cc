// What driver pods, DRA plugins and validators do to their machine.
#include <algorithm>

#include "sim/actors/kubelets.h"

namespace lockstep::sim {

namespace {

constexpr std::string_view version_label = "nvidia.com/cuda.driver-version.full";
// On a node: which plugin its DRA pods are. "lockstep" follows the driver (docs/DRA.md): it opens
// NVML for every use and publishes what it then sees. All others keep what they opened at their
// start.
constexpr std::string_view plugin_label = "sim.lockstep.dev/dra-plugin";
constexpr std::string_view own_plugin = "lockstep";

}  // namespace

// Pods that use the GPU at this moment lose it.
void Kubelets::unload_module(NodeState& node, bool by_new_pod) {
  const std::string why =
      by_new_pod ? "its driver pod was replaced" : "its driver container was restarted";
  for (const auto& [key, run] : node.runs) {
    if (run->role != Role::workload || !run->uses_gpu || !run->running()) continue;
    accidents_.push_back({node.machine.name(), key, parts_.loop.now(),
                          "driver was reloaded under a running GPU pod: " + why, by_new_pod,
                          run->pod.is_owned_by_daemon_set()});
  }
  node.machine.begin_unload();
  if (node.machine.behaviour.keeps_operands) return;
  // The operands are paused meanwhile; of those only the validator is simulated.
  for (const auto& [key, run] : node.runs) {
    if (run->role != Role::validator || run->deleting) continue;
    writer_.send(remove_exactly(resource::pods, key, run->uid()));
  }
}

// Takes the machine for this driver pod, unless another one that still exists has it.
bool Kubelets::holds_driver(NodeState& node, const Run& run) {
  if (node.driver_uid == run->uid()) return true;
  for (const auto& [key, other] : node.runs) {
    if (other->uid() == node.driver_uid) return false;
  }
  node.driver_uid = run->uid();
  return true;
}

// The driver pod is over; its module stays, unless it was not loaded yet.
void Kubelets::leave_driver(NodeState& node, const Run& run) {
  if (run->role != Role::driver || node.driver_uid != run->uid()) return;
  node.driver_uid.clear();
  if (node.machine.module() == Machine::Module::loading) node.machine.abort_load();
  if (node.machine.module() == Machine::Module::unloading) node.machine.finish_unload();
  wake(node);
}

// How long until `next`.
Duration Kubelets::start_driver(NodeState& node, const Run& run, Step& next) {
  const Latencies& latencies = options_.latencies;
  NodeBehaviour& behaviour = node.machine.behaviour;
  std::string version = run->driver_version();
  std::string digest = run->driver_digest();
  bool first_start = run->crashes == 0;
  if (first_start && node.machine.loaded() && !digest.empty() && digest == node.machine.digest())
    return draw(node, latencies.driver_attach);
  if (node.machine.loaded()) unload_module(node, false);
  node.machine.begin_load();
  Duration load = behaviour.driver_load > Duration(0) ? scaled(node, behaviour.driver_load)
                                                      : draw(node, latencies.driver_load);
  if (applies_to(behaviour.driver_never_ready, version)) {
    next = Step::running;
    return load;
  }
  int& crashes = node.crashes[version];
  if (applies_to(behaviour.driver_crashes, version) &&
      (behaviour.driver_crash_count < 0 || crashes < behaviour.driver_crash_count)) {
    ++crashes;
    next = Step::crash;
    return load / 4;
  }
  return load;
}

// GPU feature discovery reads the driver now and then: until it does, its label says what was there
// before.
void Kubelets::label_driver(NodeState& node) {
  const std::string name = node.machine.name();
  auto write = [this, name] {
    const Machine& machine = nodes_.at(name).machine;
    if (machine.loaded()) agent_.set_label(name, version_label, machine.version());
  };
  const Duration lag = draw(node, options_.latencies.gpu_labels);
  if (lag == Duration(0)) return write();
  parts_.loop.after(lag, scope_.bind(write));
}

void Kubelets::finish_driver(NodeState& node, const Run& run) {
  if (node.machine.module() != Machine::Module::loading) return;
  const std::string& instead = node.machine.behaviour.loads_instead;
  std::string version = instead.empty() ? run->driver_version() : instead;
  node.machine.finish_load(version, run->driver_digest(), parts_.loop.now());
  label_driver(node);
  Object object = view_.nodes().find({"", node.machine.name()});
  if (!object || object->meta.labels.get(plugin_label) != own_plugin) return;
  for (const auto& [key, plugin] : node.runs) {
    if (plugin->role != Role::dra_plugin || !plugin->running()) continue;
    plugin->nvml = node.machine.open_nvml();
    if (plugin->ready && !plugin->deleting) publish_slice(node, plugin);
  }
}

bool Kubelets::driver_ready(const NodeState& node) const {
  if (!node.machine.loaded()) return false;
  for (const auto& [key, run] : node.runs) {
    if (run->role == Role::driver && run->ready && !run->deleting) return true;
  }
  return false;
}

bool Kubelets::is_busy(const std::string& node) const {
  const NodeState* state = nodes_.find(node);
  if (state == nullptr) return false;
  return std::any_of(state->runs.begin(), state->runs.end(), [](const auto& entry) {
    const Run& run = entry.second;
    return run->role == Role::workload && run->uses_gpu && run->running();
  });
}

const NvmlHandle* Kubelets::plugin_of(const NodeState& node) const {
  for (const auto& [key, run] : node.runs) {
    if (run->role == Role::dra_plugin && run->ready && !run->deleting) return &run->nvml;
  }
  return nullptr;
}

void Kubelets::publish_slice(NodeState& node, const Run& plugin) {
  const Duration late = scaled(node, node.machine.behaviour.slices_late);
  if (late == Duration(0)) return write_slice(node, plugin->nvml);
  parts_.loop.after(late, scope_.bind([this, weak = std::weak_ptr(plugin)] {
    Run alive = weak.lock();
    if (!alive || !alive->ready || alive->deleting) return;
    write_slice(nodes_.at(alive->node()), alive->nvml);
  }));
}

void Kubelets::write_slice(NodeState& node, const NvmlHandle& handle) {
  Object object = view_.nodes().find({"", node.machine.name()});
  std::string_view uid = object ? object->meta.uid.view() : std::string_view();
  Json slice = slice_object(node.machine, handle, uid, ++node.slice_generation);
  ObjectKey key{"", slice_name(node.machine.name())};
  Json spec = slice.at("spec");
  writer_.send(
      kube::create(resource::resource_slices, "", std::move(slice)),
      scope_.bind([this, key, spec](const Result<Document>& created) {
        if (created || created.error().kind != ErrorKind::exists) return;
        writer_.send(merge_patch(resource::resource_slices, key, JsonObject{{"spec", spec}}));
      }));
}

// Something changed on the machine for which pods there may wait.
void Kubelets::wake(NodeState& node) {
  auto runs = node.runs;
  for (const auto& [key, run] : runs) {
    if (run->step == Step::init_wait || run->step == Step::start_wait) enter(run);
  }
}

}  // namespace lockstep::sim
