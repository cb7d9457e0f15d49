#include "sim/oracle/invariant_pods.h"

#include <algorithm>

#include <fmt/format.h>

#include "sim/actors/pod_run.h"
#include "sim/oracle/pod_fate.h"

namespace lockstep::sim {

namespace {

using fleet::State;

// The node asks for more than what the driver's digest says.
bool asks_for_restart(const NodeTruth& node, const fleet::Keys& keys) {
  const Json& object = *node.object;
  return has_annotation(object, fleet::failed_revision_annotation) ||
         has_annotation(object, fleet::failure_annotation) ||
         annotation_of(object, keys.requested) == "true" ||
         !annotation_of(object, keys.safe_load).empty();
}

}  // namespace

void SafeRestart::on_pod_end(const PodEnd& end) {
  if (!end.ours || !is_driver_pod(end.pod)) return;
  const NodeTruth* node = truth().node(end.node);
  if (node == nullptr) return;
  if (!node->unschedulable && !truth().may_be_unknown(node->meddled)) {
    accuse(fmt::format("the driver of {} was restarted while the node was schedulable", end.node));
  }
  if (truth().was_just_as_wanted(end.pod)) return;
  for (const auto& [key, pod] : truth().pods_on(end.node)) {
    const Json& object = *pod.object;
    if (is_driver_pod(object) || is_of_daemon_set(object) || is_mirror_pod(object)) continue;
    if (has_ended(object) || !asks_for_gpu(object) || truth().may_be_unknown(pod.bound)) continue;
    accuse(
        fmt::format("the driver of {} was restarted under the GPU pod {}", end.node, key.text()));
  }
}

void ProtectedPods::on_pod_end(const PodEnd& end) {
  if (!end.ours) return;
  const NodeTruth* node = truth().node(end.node);
  if (node == nullptr) {
    return accuse(
        fmt::format("the pod {} was removed, and it is on no node that is there", end.key.text()));
  }
  if (is_mirror_pod(end.pod)) {
    return accuse(fmt::format("the mirror pod {} was removed from {}", end.key.text(), end.node));
  }
  if (is_of_daemon_set(end.pod) || is_driver_pod(end.pod)) return check_daemon_pod(end, *node);
  check_work(end, *node);
}

void ProtectedPods::on_request(const kube::Request& request) {
  if (request.verb != kube::Verb::remove || request.type != resource::pods) return;
  const Json* grace = request.body ? find(*request.body, "gracePeriodSeconds") : nullptr;
  if (grace == nullptr || as_integer(grace) != 0) return;
  const auto pod = truth().cluster().backend.store.shelf("pods").find({request.ns, request.name});
  const std::string name(pod ? text_at(pod->json(), "spec", "nodeName") : std::string_view());
  const NodeTruth* node = truth().node(name);
  if (node == nullptr || node->ready || truth().may_be_unknown(node->ready_changed)) return;
  accuse(fmt::format("{}/{} was deleted by force from {}, which is not Ready: it may still run",
                     request.ns, request.name, name));
}

bool ProtectedPods::is_stale_client(const PodEnd& end) const {
  const Kubelets& kubelets = truth().cluster().kubelets();
  const PodRun* run = kubelets.find_run(end.node, end.key);
  if (run == nullptr) return false;
  // In whichever state NVIDIA's controller has the node.
  for (const auto& [key, pod] : truth().pods_on(end.node)) {
    if (!truth().coordinates || !is_driver_pod(*pod.object)) continue;
    const PodRun* driver = kubelets.find_run(end.node, key);
    if (driver == nullptr || !driver->ready) continue;
    const int64_t ready = driver->ready_since.unix_seconds();
    if (std::any_of(run->containers.begin(), run->containers.end(), [&](const ContainerRun& each) {
          return each.started.unix_seconds() <= ready;
        })) {
      return true;
    }
  }
  return run->nvml.generation < kubelets.machine(end.node).generation() ||
         run->nvml.opened_in_migration;
}

void ProtectedPods::check_daemon_pod(const PodEnd& end, const NodeTruth& node) const {
  // Another replica or a user has moved it on meanwhile.
  if (truth().may_be_unknown(node.state_changed) && node.state != State::pod_restart &&
      node.state != State::validation) {
    return;
  }
  bool is_client = end.key.ns == dra_namespace;
  bool allowed = is_driver_pod(end.pod)                   ? node.state == State::pod_restart
                 : is_client || is_validator_pod(end.pod) ? node.state == State::validation
                                                          : false;
  bool is_contained = node.state == State::required && node.unschedulable &&
                      has_annotation(*node.object, fleet::unvalidated_annotation);
  if (!allowed && is_client) allowed = is_contained || is_stale_client(end);
  if (node.state == State::pod_restart && !allowed) {
    auto policies = truth().policies(node.pool);
    allowed = std::any_of(policies.begin(), policies.end(), [&](const upgrade::Policy* policy) {
      return policy->pod_deletion.pods.matches_object(end.pod);
    });
  }
  if (!allowed && !truth().may_be_unknown(node.state_changed)) {
    accuse(fmt::format("{} of a DaemonSet was removed from {} in {}", end.key.text(), end.node,
                       fleet::display_name(node.state)));
  }
}

void ProtectedPods::check_work(const PodEnd& end, const NodeTruth& node) const {
  bool evicting = node.state == State::pod_deletion || node.state == State::drain;
  bool moved_on = !evicting && truth().may_be_unknown(node.state_changed);
  if (!evicting && !moved_on) {
    return accuse(fmt::format("{} was removed from {} in {}", end.key.text(), end.node,
                              fleet::display_name(node.state)));
  }
  if (!end.by_eviction) {
    return accuse(
        fmt::format("{} was deleted from {} without asking its budgets", end.key.text(), end.node));
  }
  // It ended by itself while the eviction was on its way: nothing is lost.
  std::string_view phase = text_at(end.pod, "status", "phase");
  if (phase == "Succeeded" || phase == "Failed") return;
  auto policies = truth().policies(node.pool);
  auto judged = [&](const Json& pod, Fate fate) {
    return std::any_of(policies.begin(), policies.end(), [&](const upgrade::Policy* policy) {
      auto in = [&](State state) { return fate_of(pod, state, *policy, keys()) == fate; };
      if (node.state == State::drain) {
        return in(State::drain) ||
               (truth().may_be_unknown(node.state_changed) && in(State::pod_deletion));
      }
      return in(State::pod_deletion) || (moved_on && in(State::drain));
    });
  };
  if (!judged(end.pod, Fate::leaves)) {
    return accuse(fmt::format("{} was evicted from {} in {}, and the policy protects it",
                              end.key.text(), end.node, fleet::display_name(node.state)));
  }
  for (const auto& [key, pod] : truth().pods_on(end.node)) {
    if (key == end.key || truth().may_be_unknown(pod.bound)) continue;
    if (judged(*pod.object, Fate::leaves) || judged(*pod.object, Fate::stays)) continue;
    accuse(
        fmt::format("{} was evicted from {} for nothing: {} is there too, and the policy "
                    "protects it",
                    end.key.text(), end.node, key.text()));
    return;
  }
}

void NoNeedlessEviction::on_pod_end(const PodEnd& end) {
  if (!end.ours || is_of_daemon_set(end.pod) || is_driver_pod(end.pod)) return;
  const NodeTruth* node = truth().node(end.node);
  const PodTruth* driver_pod = truth().driver_pod(end.node);
  if (node == nullptr || driver_pod == nullptr || is_terminating(*driver_pod->object)) return;
  // A driver that does not run is not a reason to leave its users where they are.
  if (!is_ready_pod(*driver_pod->object) || truth().may_be_unknown(driver_pod->changed)) return;
  if (asks_for_restart(*node, keys()) || !truth().is_configured_as_wanted(*driver_pod->object))
    return;
  const DriverTruth* driver = truth().driver_of(*driver_pod->object);
  if (truth().may_be_unknown(driver->changed) || truth().may_be_unknown(node->meddled)) return;
  accuse(fmt::format(
      "{} was evicted from {} although the driver there has the wanted configuration ({})",
      end.key.text(), end.node, driver->digest));
}

}  // namespace lockstep::sim
