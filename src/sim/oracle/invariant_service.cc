#include "sim/oracle/invariant_service.h"

#include <fmt/format.h>

#include "sim/actors/pod_run.h"

namespace lockstep::sim {

namespace {

using fleet::State;

bool is_plugin_pod(const ObjectKey& key, const Json& pod) {
  return key.ns == dra_namespace && is_of_daemon_set(pod);
}

}  // namespace

void AdminCordon::on_node(const NodeStep& step) {
  if (!step.ours || step.before == nullptr || step.after == nullptr) return;
  bool is_theirs = step.before->cordon == Cordon::others && !step.before->cordoned_in_flight;
  // Others uncordoned it in the middle: that does not change whose cordon it was.
  bool ends = step.changes_state() && step.to() == State::done;
  if (!is_theirs && !(ends && step.before->cordoned_before)) return;
  if (step.after->unschedulable) return;
  accuse(fmt::format("{} was uncordoned in {}, and another actor had cordoned it", step.name,
                     fleet::display_name(step.to())));
}

void FitForService::on_node(const NodeStep& step) {
  note_beginning(step);
  if (!step.ours || !step.changes_state()) return;
  if (step.to() == State::validation) {
    generations_[step.name] = truth().cluster().kubelets().machine(step.name).generation();
  }
  bool leaves = step.to() == State::uncordon || step.to() == State::done;
  // A node in uncordon-required was checked when it left the previous state.
  if (!leaves || step.from() == State::uncordon) return;
  if (step.from() != State::validation) {
    check_same_pod(step.name);
    if (clients_) check_renewal(step.name);
    return;
  }
  began_with_.erase(step.name);
  check_driver(step.name);
  // The slices of an unfit client are not correct either.
  if (clients_ && has_fit_clients(step.name)) check_slices(step.name);
  check_validators(step.name);
}

// With which driver pod its upgrade begins: until it is done.
void FitForService::note_beginning(const NodeStep& step) {
  // A node that is registered again has no history.
  if (step.after == nullptr) began_with_.erase(step.name);
  if (step.to() != State::required) return;
  const PodTruth* pod = truth().driver_pod(step.name);
  if (pod == nullptr || truth().may_be_unknown(pod->bound)) return;
  // Where Kubernetes restarts the drivers, a label that a user set begins nothing, and the node
  // never leaves service. Its driver pod is replaced as on every other node.
  const DriverTruth* driver = truth().driver_of(*pod->object);
  if (driver != nullptr && driver->is_rolled && !(step.ours && step.changes_state())) return;
  began_with_.try_emplace(step.name, text_at(*pod->object, "metadata", "uid"));
}

// The driver was reloaded, whatever client replaced the pod.
void FitForService::check_same_pod(const std::string& node) {
  auto began = began_with_.extract(node);
  const PodTruth* pod = truth().driver_pod(node);
  if (began.empty() || pod == nullptr || truth().coordinates) return;
  if (truth().may_be_unknown(pod->bound)) return;
  if (text_at(*pod->object, "metadata", "uid") == began.mapped()) return;
  accuse(
      fmt::format("{} is to return to service without a validation, and its driver pod is another "
                  "than the one with which its upgrade began",
                  node));
}

void FitForService::on_pod_end(const PodEnd& end) {
  if (!end.ours && is_validator_pod(end.pod)) validator_ended_[end.node] = truth().uptime();
  if (!is_driver_pod(end.pod) || end.node.empty()) return;
  restarts_[end.node] = {end.ours, truth().cluster().kubelets().machine(end.node).generation(),
                         truth().cluster().loop.uptime()};
}

void FitForService::on_change(const std::string& storage, const apiserver::Change& change, bool) {
  if (storage != resource::resource_slices.full_name()) return;
  published_[change.object->key().name] = truth().uptime();
}

void FitForService::check_renewal(const std::string& node) const {
  auto restart = restarts_.find(node);
  if (restart == restarts_.end() || !restart->second.ours) return;
  const Kubelets& kubelets = truth().cluster().kubelets();
  const Machine& machine = kubelets.machine(node);
  for (const auto& [key, pod] : truth().pods_on(node)) {
    if (!is_plugin_pod(key, *pod.object) || is_terminating(*pod.object)) continue;
    const PodRun* run = kubelets.find_run(node, key);
    // Not yet, where the module is on its way out or in: but it will be.
    bool is_stale =
        run != nullptr && (run->nvml.generation < machine.generation() || !machine.loaded());
    // One that came later is stale by a driver that crashed since: a restart that finds its module
    // loaded already keeps it, and so that client opened the same load.
    bool is_from_before = is_stale && run->nvml.generation <= restart->second.generation &&
                          pod.bound <= restart->second.at;
    if (!is_from_before) continue;
    accuse(
        fmt::format("{} is to return to service without a validation, and its client {} is from "
                    "before we restarted its driver",
                    node, key.text()));
  }
}

void FitForService::check_driver(const std::string& node) const {
  const Machine& machine = truth().cluster().kubelets().machine(node);
  const PodTruth* pod = truth().driver_pod(node);
  if (machine.loaded() && pod != nullptr && is_ready_pod(*pod->object)) return;
  // It may have broken down a moment ago.
  if (pod == nullptr || truth().may_be_unknown(pod->changed)) return;
  accuse(fmt::format("{} is to return to service, and its driver is not ready", node));
}

bool FitForService::has_fit_clients(const std::string& node) const {
  const Kubelets& kubelets = truth().cluster().kubelets();
  const apiserver::Store& store = truth().cluster().backend.store;
  auto [first, last] = store.shelf("daemonsets.apps").range(std::string(dra_namespace));
  if (first == last) return true;
  const Machine& machine = kubelets.machine(node);
  auto entry = generations_.find(node);
  // A driver that was loaded again since then, by itself, and only just.
  Duration loaded_for = truth().cluster().loop.now() - machine.loaded_since();
  bool surprise =
      entry == generations_.end() || (machine.generation() != entry->second &&
                                      truth().may_be_unknown(truth().uptime() - loaded_for));
  uint64_t wanted = surprise && entry != generations_.end() ? entry->second : machine.generation();
  bool found = false;
  bool fit = true;
  for (const auto& [key, pod] : truth().pods_on(node)) {
    if (!is_plugin_pod(key, *pod.object) || is_terminating(*pod.object)) continue;
    found = true;
    const PodRun* run = kubelets.find_run(node, key);
    if (never_ready(node, key, pod)) {
      fit = false;
      accuse(fmt::format("{} is to return to service, and its client {} is not ready", node,
                         key.text()));
    } else if (run != nullptr &&
               (run->nvml.generation < wanted || (run->nvml.opened_in_migration && !surprise))) {
      fit = false;
      accuse(fmt::format(
          "{} is to return to service, and its client {} is stale: it opened load "
          "{} of the driver ({}), and the machine is at load {} ({})",
          node, key.text(), run->nvml.generation, run->nvml.version, wanted, machine.version()));
    }
  }
  if (!found) accuse(fmt::format("{} is to return to service without its client", node));
  return found && fit;
}

// Otherwise a workload that selects devices by the driver's version would get another one.
void FitForService::check_slices(const std::string& node) const {
  const Machine& machine = truth().cluster().kubelets().machine(node);
  auto entry = generations_.find(node);
  if (entry == generations_.end() || machine.generation() != entry->second) return;
  const std::string name = slice_name(node);
  auto published = published_.find(name);
  if (published != published_.end() && truth().may_be_unknown(published->second)) return;
  const apiserver::StoredPtr slice =
      truth().cluster().backend.store.shelf(resource::resource_slices.full_name()).find({"", name});
  if (!slice) return;
  const std::string loaded = semantic_version(machine.version());
  for (const Json& device : find(slice->json(), "spec", "devices")->get_array()) {
    std::string_view told = text_at(device, "attributes", "driverVersion", "version");
    if (told == loaded) continue;
    accuse(
        fmt::format("{} is to return to service, and its ResourceSlice says driver version {} "
                    "where {} is loaded",
                    node, told, loaded));
    return;
  }
}

void FitForService::check_validators(const std::string& node) const {
  bool found = false;
  for (const auto& [key, pod] : truth().pods_on(node)) {
    if (!is_validator_pod(*pod.object) || is_terminating(*pod.object)) continue;
    found = true;
    if (never_ready(node, key, pod)) {
      accuse(fmt::format("{} is to return to service, and its validator {} is not ready", node,
                         key.text()));
    } else if (validated_another_load(node, key)) {
      accuse(
          fmt::format("{} is to return to service, and its validator {} has validated the driver "
                      "that was there before",
                      node, key.text()));
    }
  }
  if (found) return;
  auto ended = validator_ended_.find(node);
  if (ended != validator_ended_.end() && truth().came_meanwhile(ended->second)) return;
  accuse(fmt::format("{} is to return to service without a validator", node));
}

bool FitForService::validated_another_load(const std::string& node, const ObjectKey& key) const {
  const Kubelets& kubelets = truth().cluster().kubelets();
  const Machine& machine = kubelets.machine(node);
  auto entry = generations_.find(node);
  // Loaded again since its validation began, by itself: another matter.
  if (entry == generations_.end() || machine.generation() != entry->second) return false;
  const PodRun* run = kubelets.find_run(node, key);
  return run != nullptr && run->initialized.is_set() && run->initialized < machine.loaded_since();
}

bool FitForService::never_ready(const std::string& node, const ObjectKey& key,
                                const PodTruth& pod) const {
  if (is_ready_pod(*pod.object) || truth().came_meanwhile(pod.bound)) return false;
  const PodRun* run = truth().cluster().kubelets().find_run(node, key);
  return run == nullptr || !run->ready_since.is_set();
}

}  // namespace lockstep::sim
