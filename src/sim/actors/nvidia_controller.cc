#include "sim/actors/nvidia_controller.h"

#include <algorithm>
#include <utility>

#include "base/strings.h"
#include "sim/actors/fleet_objects.h"
#include "sim/actors/object_facts.h"

namespace lockstep::sim {

namespace {

using fleet::State;

constexpr Duration reaction = milliseconds(300);
// What it waits for is not always an event.
constexpr Duration resync = seconds(30);
constexpr int64_t most_restarts = 10;

bool has_crashed(const GenericObject& pod) {
  const Json* statuses = find(*pod.document, "status", "containerStatuses");
  if (statuses == nullptr || !statuses->is_array()) return false;
  const auto& all = statuses->get_array();
  return std::any_of(all.begin(), all.end(), [](const Json& status) {
    return !as_bool(find(status, "ready")) &&
           as_integer(find(status, "restartCount")) > most_restarts;
  });
}

}  // namespace

bool NvidiaController::DriverNode::unschedulable() const {
  return as_bool(find(*node->document, "spec", "unschedulable"));
}

bool NvidiaController::DriverNode::is_ready() const {
  return is_true_condition(*node->document, "Ready");
}

bool NvidiaController::DriverNode::is_driver_ready() const {
  return in_sync && !pod->meta.is_deleting() && phase_of(*pod) == PodPhase::running &&
         sim::is_ready(*pod);
}

NvidiaController::NvidiaController(Parts parts) : parts_(parts), view_(parts), writer_(parts) {
  for (const ResourceType* type : {&resource::nodes, &resource::pods, &resource::daemon_sets,
                                   &resource::controller_revisions, &fleet::cluster_policies}) {
    view_.of(*type).on_change(
        scope_.bind([this](const ObjectCache::Change&) { reconcile_soon(reaction); }));
  }
  view_.start();
  reconcile_soon(reaction);
}

void NvidiaController::reconcile_soon(Duration delay) {
  if (timer_ != 0 && delay >= resync) return;
  parts_.loop.cancel(timer_);
  timer_ = parts_.loop.after(delay, scope_.bind([this] {
    timer_ = 0;
    reconcile();
    reconcile_soon(resync);
  }));
}

std::string NvidiaController::newest_revision(const Object& daemon_set) {
  int64_t newest = -1;
  std::string hash;
  view_.of(resource::controller_revisions)
      .for_each("owner", daemon_set->meta.uid, [&](const Object& revision) {
        const int64_t number = as_integer(find(*revision->document, "revision"));
        if (number <= newest) return;
        newest = number;
        hash = std::string(revision->meta.labels.get(fleet::revision_label));
      });
  return hash;
}

std::vector<NvidiaController::DriverNode> NvidiaController::build_state() {
  std::vector<DriverNode> nodes;
  view_.nodes().for_each([&](const Object& node) {
    DriverNode entry;
    entry.node = node;
    entry.state = fleet::state_of(node->meta.labels.get(keys_.state));
    view_.pods().for_each("node", node->meta.name, [&](const Object& pod) {
      if (is_driver_pod(*pod->document) && (!entry.pod || entry.pod->meta.is_deleting())) {
        entry.pod = pod;
      }
    });
    if (!entry.pod || !view_.nodes().is_current(node->meta.key())) return;
    const OwnerReference* owner = entry.pod->meta.controller();
    Object set;
    view_.of(resource::daemon_sets).for_each([&](const Object& each) {
      if (owner != nullptr && each->meta.uid == owner->uid) set = each;
    });
    entry.orphaned = !set;
    entry.in_sync =
        set && entry.pod->meta.labels.get(fleet::revision_label) == newest_revision(set);
    nodes.push_back(std::move(entry));
  });
  return nodes;
}

void NvidiaController::reconcile() {
  if (!view_.synced()) return;
  Object policy = view_.of(fleet::cluster_policies).find(kube::KeyView("", "cluster-policy"));
  if (!policy) return;
  policy_ = upgrade::policy_of_cluster_policy(*policy->document);
  if (!policy_.auto_upgrade) return remove_labels();
  const std::vector<DriverNode> nodes = build_state();
  process_upgrade_required(nodes);
  for (const DriverNode& node : nodes) process(node);
}

void NvidiaController::remove_labels() {
  view_.nodes().for_each([&](const Object& node) {
    if (node->meta.labels.get(keys_.state).empty()) return;
    writer_.send(merge_patch(
        resource::nodes, node->meta.key(),
        JsonObject{{"metadata", JsonObject{{"labels", JsonObject{{keys_.state, nullptr}}}}}}));
  });
}

void NvidiaController::change(const DriverNode& node, State to, JsonObject annotations,
                              Json unschedulable) {
  Json patch =
      JsonObject{{"metadata", JsonObject{{"labels", JsonObject{{keys_.state, to_string(to)}}},
                                         {"annotations", std::move(annotations)}}}};
  if (unschedulable.is_bool()) {
    patch.as_object()["spec"] = JsonObject{
        {"unschedulable", unschedulable.get_bool() ? std::move(unschedulable) : Json(nullptr)}};
  }
  const ObjectKey key = node.node->meta.key();
  writer_.send(merge_patch(resource::nodes, key, std::move(patch)),
               scope_.bind([this, key](const Result<Document>& written) {
                 if (!written) return;
                 view_.nodes().expect(key, text_at(**written, "metadata", "resourceVersion"));
               }));
}

void NvidiaController::process(const DriverNode& node) {
  switch (node.state) {
    case State::unknown:
    case State::done:
      return process_done_or_unknown(node);
    case State::required:
      return;
    case State::cordon:
      return change(node, State::wait_for_jobs, {}, Json(true));
    case State::wait_for_jobs:
      return process_wait_for_jobs(node);
    case State::pod_deletion:
      return process_pod_deletion(node);
    case State::drain:
      // It is not asked for in simulations.
      return change(node, State::pod_restart);
    case State::pod_restart:
      return process_pod_restart(node);
    case State::validation:
      return process_validation(node);
    case State::uncordon:
      return change(node, State::done, {}, Json(false));
    case State::failed:
      if (node.is_driver_ready()) finish(node);
      return;
  }
}

void NvidiaController::process_done_or_unknown(const DriverNode& node) {
  const bool asked =
      node.node->meta.annotations.get(keys_.requested) == "true" || node.has(keys_.safe_load);
  if (asked || (!node.in_sync && !node.orphaned)) {
    JsonObject annotations;
    if (node.unschedulable()) annotations[keys_.initially_unschedulable] = "true";
    return change(node, State::required, std::move(annotations));
  }
  if (node.state == State::unknown) change(node, State::done);
}

// Slots by states: cordoned nodes and those that are not Ready are unavailable.
void NvidiaController::process_upgrade_required(const std::vector<DriverNode>& nodes) {
  const auto total = static_cast<int64_t>(nodes.size());
  int64_t in_progress = 0;
  int64_t unavailable = 0;
  for (const DriverNode& node : nodes) {
    const bool waits =
        node.state == State::unknown || node.state == State::done || node.state == State::required;
    if (!waits) ++in_progress;
    if (node.state == State::cordon || node.unschedulable() || !node.is_ready()) ++unavailable;
  }
  const int64_t most = policy_.max_unavailable.of(total, Rounding::up);
  int64_t slots = policy_.max_parallel == 0 ? total : policy_.max_parallel - in_progress;
  slots = std::min(slots, std::max<int64_t>(0, most - unavailable));
  for (const DriverNode& node : nodes) {
    if (node.state != State::required) continue;
    // Nowhere else.
    if (node.node->meta.labels.get(keys_.skip) == "true") continue;
    // One that is out of service already needs no slot.
    if (slots <= 0 && !node.unschedulable()) continue;
    --slots;
    change(node, State::cordon, JsonObject{{keys_.requested, nullptr}});
  }
}

void NvidiaController::process_wait_for_jobs(const DriverNode& node) {
  bool runs = false;
  view_.pods().for_each("node", node.node->meta.name, [&](const Object& pod) {
    runs = runs || (!is_finished(*pod) && policy_.wait.pods.matches(pod->meta.labels));
  });
  if (!runs) change(node, State::pod_deletion);
}

std::vector<Object> NvidiaController::gpu_pods_on(const std::string& node) {
  std::vector<Object> pods;
  view_.pods().for_each("node", node, [&](const Object& pod) {
    const Json& document = *pod->document;
    if (is_finished(*pod) || is_of_daemon_set(document) || !asks_for_gpu(document)) return;
    pods.push_back(pod);
  });
  return pods;
}

void NvidiaController::process_pod_deletion(const DriverNode& node) {
  const std::vector<Object> pods = gpu_pods_on(node.name());
  if (pods.empty()) return change(node, State::pod_restart);
  const bool is_refused = std::any_of(pods.begin(), pods.end(), [&](const Object& pod) {
    return (pod->meta.controller() == nullptr && !policy_.pod_deletion.force) ||
           (has_empty_dir(*pod->document) && !policy_.pod_deletion.delete_empty_dir);
  });
  if (is_refused) return change(node, policy_.drain.enable ? State::drain : State::failed);
  for (const Object& pod : pods) {
    if (pod->meta.is_deleting()) continue;
    kube::Request request =
        kube::create(resource::pods, pod->meta.ns.str(),
                     JsonObject{{"apiVersion", "policy/v1"},
                                {"kind", "Eviction"},
                                {"metadata", JsonObject{{"name", pod->meta.name.view()},
                                                        {"namespace", pod->meta.ns.view()}}}});
    request.name = pod->meta.name.str();
    request.subresource = "eviction";
    parts_.api.call(std::move(request), [](const kube::Reply&) {});
  }
}

void NvidiaController::process_pod_restart(const DriverNode& node) {
  if (!node.in_sync) {
    if (!node.pod->meta.is_deleting()) {
      writer_.send(remove_exactly(resource::pods, node.pod->meta.key(), node.pod->meta.uid.view()));
    }
    return;
  }
  if (node.has(keys_.safe_load)) {
    return change(node, State::pod_restart, JsonObject{{keys_.safe_load, nullptr}});
  }
  if (node.is_driver_ready()) return change(node, State::validation);
  if (has_crashed(*node.pod)) change(node, State::failed);
}

void NvidiaController::process_validation(const DriverNode& node) {
  bool found = false;
  bool all_ready = true;
  view_.pods().for_each("node", node.node->meta.name, [&](const Object& pod) {
    if (!is_validator_pod(*pod->document)) return;
    found = true;
    all_ready = all_ready && phase_of(*pod) == PodPhase::running && sim::is_ready(*pod);
  });
  if (found && all_ready) return finish(node);
  auto began = parse_integer(node.node->meta.annotations.get(keys_.validation_start));
  const int64_t now = parts_.loop.now().unix_seconds();
  if (!began) {
    return change(node, State::validation,
                  JsonObject{{keys_.validation_start, std::to_string(now)}});
  }
  if (now - *began > in_seconds(policy_.deadlines.validation)) change(node, State::failed);
}

void NvidiaController::finish(const DriverNode& node) {
  JsonObject annotations{{keys_.validation_start, nullptr}};
  if (!node.has(keys_.initially_unschedulable)) {
    return change(node, State::uncordon, std::move(annotations));
  }
  annotations[keys_.initially_unschedulable] = nullptr;
  change(node, State::done, std::move(annotations));
}

}  // namespace lockstep::sim
