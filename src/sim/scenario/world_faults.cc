#include "sim/scenario/world_faults.h"

#include <utility>

#include "fleet/keys.h"
#include "fleet/state.h"
#include "sim/actors/driver_image.h"
#include "sim/oracle/truth.h"
#include "sim/scenario/fault_reader.h"
#include "sim/scenario/tenants.h"

namespace lockstep::sim {

namespace {

// How long it takes until the others see that a kubelet is silent.
constexpr Duration grace_of_silence = seconds(40);

// An object as a user would write it to create it again.
Json as_new(const Json& object) {
  Json fresh = object;
  JsonObject& metadata = fresh.as_object()["metadata"].as_object();
  for (auto key : {"uid", "resourceVersion", "creationTimestamp", "generation", "deletionTimestamp",
                   "deletionGracePeriodSeconds"}) {
    metadata.erase(key);
  }
  fresh.as_object().erase("status");
  return fresh;
}

kube::Request remove_by_force(const ResourceType& type, const ObjectKey& key) {
  return kube::remove(type, key, JsonObject{{"gracePeriodSeconds", 0}});
}

Result<void> outcome_of(const Result<Document>& done) {
  if (!done) return fail(done.error());
  return {};
}

}  // namespace

WorldFaults::WorldFaults(Cluster& cluster, kube::FaultApi& network, kube::RandomFaults& weights,
                         ShiftedLoop& clock)
    : cluster_(cluster),
      network_(network),
      weights_(weights),
      clock_(clock),
      history_(cluster.backend.store, cluster.loop) {
  network_.set_history([this](Duration age) { return history_.version_before(age); });
}

WorldFaults::~WorldFaults() { network_.set_history({}); }

const std::map<std::string, WorldFaults::Action, std::less<>>& WorldFaults::actions() {
  static const std::map<std::string, Action, std::less<>> known = {
      {"heal", &WorldFaults::heal},
      {"outage", &WorldFaults::outage},
      {"partition", &WorldFaults::partition},
      {"silenceWatches", &WorldFaults::silence_watches},
      {"dropWatches", &WorldFaults::drop_watches},
      {"olderReplica", &WorldFaults::older_replica},
      {"clockStep", &WorldFaults::clock_step},
      {"recreateDaemonSet", &WorldFaults::recreate_daemon_set},
      {"setDriverStrategy", &WorldFaults::set_driver_strategy},
      {"giveWay", &WorldFaults::give_way},
      {"imitate", &WorldFaults::imitate_driver},
  };
  return known;
}

const std::map<std::string, WorldFaults::NodeAction, std::less<>>& WorldFaults::node_actions() {
  static const std::map<std::string, NodeAction, std::less<>> known = {
      {"notReadyFor", &WorldFaults::not_ready_for},
      {"rebootNodes", &WorldFaults::reboot},
      {"hangKubelets", &WorldFaults::hang},
      {"deleteNodes", &WorldFaults::delete_node},
      {"recreateNodes", &WorldFaults::recreate_node},
      {"recreateDriverPods", &WorldFaults::recreate_driver_pod},
      {"deleteDriverPods", &WorldFaults::delete_driver_pod},
      {"crashDriver", &WorldFaults::crash_driver},
      {"relabel", &WorldFaults::relabel},
      {"setMachine", &WorldFaults::set_machine},
  };
  return known;
}

std::optional<Result<void>> WorldFaults::take(const Interference& step, int nodes) {
  if (auto at = actions().find(step.action); at != actions().end()) {
    ++taken_[step.action];
    return (this->*at->second)(step);
  }
  auto at = node_actions().find(step.action);
  if (at == node_actions().end()) return std::nullopt;
  for (const std::string& node : step.nodes.names(nodes)) {
    // It went before: nothing is left to be done to it.
    if (!cluster_.kubelets().is_there(node)) continue;
    ++taken_[step.action];
    if (auto done = (this->*at->second)(step, node); !done) return done;
  }
  return Result<void>();
}

void WorldFaults::later(Duration delay, std::function<void()> end) {
  uint64_t id = next_end_++;
  ends_.emplace(id, std::move(end));
  cluster_.loop.after(delay, scope_.bind([this, id] {
    auto at = ends_.find(id);
    if (at == ends_.end()) return;
    auto run = std::move(at->second);
    ends_.erase(at);
    run();
  }));
}

Result<void> WorldFaults::heal(const Interference&) {
  calm();
  return {};
}

Result<void> WorldFaults::outage(const Interference& step) {
  network_.begin_outage();
  cluster_.fleet_api().begin_outage();
  later(length_of(step), [this] {
    network_.end_outage();
    cluster_.fleet_api().end_outage();
  });
  return {};
}

Result<void> WorldFaults::partition(const Interference& step) {
  network_.begin_outage();
  later(length_of(step), [this] { network_.end_outage(); });
  return {};
}

Result<void> WorldFaults::silence_watches(const Interference&) {
  network_.silence_watches();
  return {};
}

Result<void> WorldFaults::drop_watches(const Interference&) {
  network_.drop_watches();
  return {};
}

Result<void> WorldFaults::older_replica(const Interference& step) {
  OlderReplica replica = read_again(step.value, read_replica);
  network_.use_replica(replica.age, replica.period, replica.all_reads);
  return {};
}

Result<void> WorldFaults::clock_step(const Interference& step) {
  clock_.step_clock(length_of(step));
  return {};
}

// All of its pods go with it, at once, and the operator next sees one of the same name.
Result<void> WorldFaults::recreate_daemon_set(const Interference&) {
  ObjectKey key{std::string(operator_namespace), std::string(driver_daemon_set_name)};
  Document daemon_set = cluster_.get(resource::daemon_sets, key);
  if (!daemon_set) return fail(ErrorKind::not_found, "there is no " + key.text());
  LOCKSTEP_TRY(Document removed, cluster_.call(remove_by_force(resource::daemon_sets, key)));
  (void)removed;
  for (const std::string& node : cluster_.kubelets().node_names()) {
    reloaded_.insert(node);
    for (const Document& pod : cluster_.pods_of(key.name, node)) {
      ObjectKey pod_key{key.ns, std::string(text_at(*pod, "metadata", "name"))};
      (void)cluster_.call(remove_by_force(resource::pods, pod_key));
    }
  }
  return outcome_of(
      cluster_.call(kube::create(resource::daemon_sets, key.ns, as_new(*daemon_set))));
}

// Until now, or from now on, Kubernetes itself reloads drivers, even while they are in use.
Result<void> WorldFaults::set_driver_strategy(const Interference& step) {
  for (const std::string& node : cluster_.kubelets().node_names()) reloaded_.insert(node);
  JsonObject strategy{{"type", step.value}, {"rollingUpdate", nullptr}};
  return outcome_of(cluster_.call(merge_patch(
      resource::daemon_sets, {std::string(operator_namespace), std::string(driver_daemon_set_name)},
      JsonObject{{"spec", JsonObject{{"updateStrategy", std::move(strategy)}}}})));
}

// Users remove work that cannot be moved: the budgets, and what the policy may protect because it
// has no controller or because it keeps data on its node.
Result<void> WorldFaults::give_way(const Interference&) {
  auto remove_all = [this](const ResourceType& type, const auto& concerned) {
    for (const Document& object : cluster_.list(type)) {
      if (!concerned(*object)) continue;
      (void)cluster_.call(
          kube::remove(type, {std::string(text_at(*object, "metadata", "namespace")),
                              std::string(text_at(*object, "metadata", "name"))}));
    }
  };
  remove_all(resource::pod_disruption_budgets, [](const Json&) { return true; });
  remove_all(resource::deployments, [](const Json& deployment) {
    const Json* pod = find(deployment, "spec", "template");
    return pod != nullptr && has_empty_dir(*pod);
  });
  remove_all(resource::pods,
             [](const Json& pod) { return controller_of(pod) == nullptr && !is_mirror_pod(pod); });
  return {};
}

Result<void> WorldFaults::imitate_driver(const Interference& step) {
  return imitate(cluster_, as_text(&step.value));
}

Result<void> WorldFaults::not_ready_for(const Interference& step, const std::string& node) {
  cluster_.kubelets().set_ready(node, false);
  later(length_of(step), [this, node] { cluster_.kubelets().set_ready(node, true); });
  return {};
}

Result<void> WorldFaults::reboot(const Interference& step, const std::string& node) {
  cluster_.kubelets().switch_off(node);
  later(length_of(step), [this, node] { cluster_.kubelets().switch_on(node); });
  return {};
}

Result<void> WorldFaults::hang(const Interference& step, const std::string& node) {
  Kubelets& kubelets = cluster_.kubelets();
  kubelets.set_hung(node, true);
  Duration length = length_of(step);
  if (length > grace_of_silence) {
    later(grace_of_silence, [this, node] { cluster_.kubelets().set_ready(node, false); });
  }
  later(length, [this, node] {
    cluster_.kubelets().set_hung(node, false);
    cluster_.kubelets().set_ready(node, true);
  });
  return {};
}

// As the controller that collects the pods of deleted nodes.
void WorldFaults::remove_pods_of(const std::string& node) {
  for (const Document& pod : cluster_.list(resource::pods)) {
    if (text_at(*pod, "spec", "nodeName") != node) continue;
    (void)cluster_.call(
        remove_by_force(resource::pods, {std::string(text_at(*pod, "metadata", "namespace")),
                                         std::string(text_at(*pod, "metadata", "name"))}));
  }
}

Result<void> WorldFaults::delete_node(const Interference&, const std::string& node) {
  cluster_.kubelets().take_away(node);
  LOCKSTEP_TRY(Document removed, cluster_.call(kube::remove(resource::nodes, {"", node})));
  (void)removed;
  remove_pods_of(node);
  // A scheduler that did not know of it yet may have sent one more.
  later(grace_of_silence, [this, node] {
    if (!cluster_.kubelets().is_there(node)) remove_pods_of(node);
  });
  return {};
}

Result<void> WorldFaults::recreate_node(const Interference& step, const std::string& node) {
  if (auto deleted = delete_node(step, node); !deleted) return deleted;
  later(length_of(step), [this, node] {
    remove_pods_of(node);
    cluster_.kubelets().bring_back(node);
  });
  return {};
}

Result<void> WorldFaults::recreate_driver_pod(const Interference&, const std::string& node) {
  // One of an old revision brings its old driver back.
  reloaded_.insert(node);
  for (const Document& pod : cluster_.pods_of(driver_daemon_set_name, node)) {
    ObjectKey key{std::string(text_at(*pod, "metadata", "namespace")),
                  std::string(text_at(*pod, "metadata", "name"))};
    LOCKSTEP_TRY(Document removed, cluster_.call(remove_by_force(resource::pods, key)));
    (void)removed;
    LOCKSTEP_TRY(Document created,
                 cluster_.call(kube::create(resource::pods, key.ns, as_new(*pod))));
    (void)created;
  }
  return {};
}

// As by kubectl delete: its DaemonSet makes the next one, from the template as it is now.
Result<void> WorldFaults::delete_driver_pod(const Interference&, const std::string& node) {
  reloaded_.insert(node);
  for (const Document& pod : cluster_.pods_of(driver_daemon_set_name, node)) {
    ObjectKey key{std::string(text_at(*pod, "metadata", "namespace")),
                  std::string(text_at(*pod, "metadata", "name"))};
    LOCKSTEP_TRY(Document removed, cluster_.call(kube::remove(resource::pods, key)));
    (void)removed;
  }
  return {};
}

Result<void> WorldFaults::crash_driver(const Interference&, const std::string& node) {
  reloaded_.insert(node);
  cluster_.kubelets().crash_driver(node);
  return {};
}

Result<void> WorldFaults::relabel(const Interference& step, const std::string& node) {
  return outcome_of(cluster_.call(merge_patch(
      resource::nodes, {"", node}, JsonObject{{"metadata", JsonObject{{"labels", step.value}}}})));
}

Result<void> WorldFaults::set_machine(const Interference& step, const std::string& node) {
  cluster_.kubelets().set_behaviour(node, step.machine);
  return {};
}

void WorldFaults::calm() {
  weights_.weights = {};
  cluster_.fleet_faults().weights = {};
  network_.leave_replica();
  auto ends = std::exchange(ends_, {});
  for (auto& [id, end] : ends) end();
  Kubelets& kubelets = cluster_.kubelets();
  for (const std::string& node : kubelets.node_names()) {
    if (!kubelets.is_there(node)) continue;
    kubelets.set_hung(node, false);
    kubelets.set_ready(node, true);
    kubelets.set_behaviour(node, {});
    // A driver that loads indefinitely would go on doing so: a user restarts it.
    if (kubelets.has_hung_driver(node)) kubelets.crash_driver(node);
    if (reloaded_.contains(node)) renew_clients(node);
    if (has_wrong_driver(node)) {
      kubelets.switch_off(node);
      later(minutes(1), [this, node] { cluster_.kubelets().switch_on(node); });
    }
  }
  undo_what_people_did();
}

void WorldFaults::renew_clients(const std::string& node) {
  const Machine& machine = cluster_.kubelets().machine(node);
  std::vector<Document> pods = cluster_.pods_of(dra_daemon_set_name, node);
  for (Document& pod : cluster_.pods_of(renamed_dra_daemon_set_name, node)) {
    pods.push_back(std::move(pod));
  }
  for (const Document& pod : pods) {
    ObjectKey key{std::string(text_at(*pod, "metadata", "namespace")),
                  std::string(text_at(*pod, "metadata", "name"))};
    const PodRun* run = cluster_.kubelets().find_run(node, key);
    if (run == nullptr || is_terminating(*pod)) continue;
    bool fits = run->nvml.generation == machine.generation() && !run->nvml.opened_in_migration;
    if (!fits) (void)cluster_.call(kube::remove(resource::pods, key));
  }
}

bool WorldFaults::has_wrong_driver(const std::string& node) {
  const Machine& machine = cluster_.kubelets().machine(node);
  if (!machine.loaded()) return false;
  for (const Document& pod : cluster_.pods_of(driver_daemon_set_name, node)) {
    const Json* containers = find(*pod, "spec", "containers");
    if (!is_ready_pod(*pod) || is_terminating(*pod) || containers == nullptr) continue;
    std::string wanted = driver_version_of_image(text_at(containers->at(0), "image"));
    if (wanted != machine.version()) return true;
  }
  return false;
}

void WorldFaults::undo_what_people_did() {
  const fleet::Keys keys;
  for (const ResourceType& type : {fleet::cluster_policies, fleet::nvidia_drivers}) {
    for (const Document& object : cluster_.list(type)) {
      const Json* annotations = find(*object, "metadata", "annotations");
      if (annotations == nullptr || find(*annotations, fleet::paused_annotation) == nullptr)
        continue;
      JsonObject none{{fleet::paused_annotation, nullptr}};
      (void)cluster_.call(
          merge_patch(type, {"", std::string(text_at(*object, "metadata", "name"))},
                      JsonObject{{"metadata", JsonObject{{"annotations", std::move(none)}}}}));
    }
  }
  for (const Document& node : cluster_.list(resource::nodes)) {
    ObjectKey key{"", std::string(text_at(*node, "metadata", "name"))};
    const Json* labels = find(*node, "metadata", "labels");
    auto label = [&](const std::string& name) {
      return labels == nullptr ? std::string_view() : as_text(find(*labels, name));
    };
    if (!label(keys.skip).empty()) {
      JsonObject none{{keys.skip, nullptr}};
      (void)cluster_.call(merge_patch(
          resource::nodes, key, JsonObject{{"metadata", JsonObject{{"labels", std::move(none)}}}}));
    }
    // On a node that is being upgraded, or has failed, the cordon is the upgrade's own.
    fleet::State state = fleet::state_of(label(keys.state));
    bool is_peoples = !fleet::is_active(state) && state != fleet::State::failed;
    if (is_peoples && as_bool(find(*node, "spec", "unschedulable"))) {
      (void)cluster_.call(merge_patch(
          resource::nodes, key, JsonObject{{"spec", JsonObject{{"unschedulable", nullptr}}}}));
    }
  }
}

}  // namespace lockstep::sim
