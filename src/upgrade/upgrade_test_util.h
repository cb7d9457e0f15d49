// One node with its driver and its pods, in memory: what tests of the state machine read and
// write.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "fleet/reason_test_util.h"
#include "upgrade/decide.h"
#include "upgrade/transition.h"

namespace lockstep::upgrade {

inline constexpr Time test_time = Time::from_unix(1'800'000'000);

// In service, with a controller that would make it again.
inline Pod make_pod(std::string_view name, Time created = test_time - hours(1)) {
  Pod pod;
  pod.meta.name = Text(name);
  pod.meta.ns = "ml";
  pod.meta.uid = Text("uid-" + std::string(name));
  pod.meta.created = created;
  pod.meta.owners = {{"apps/v1", "ReplicaSet", "job", "uid-job", true}};
  pod.phase = PodPhase::running;
  pod.ready = true;
  pod.ready_since = created;
  ContainerStatus status;
  status.name = "main";
  status.ready = true;
  status.started = created;
  pod.container_statuses = {status};
  return pod;
}

inline Pod make_daemon_pod(std::string_view name, Time created = test_time - hours(1)) {
  Pod pod = make_pod(name, created);
  pod.meta.ns = "gpu-operator";
  pod.meta.owners = {{"apps/v1", "DaemonSet", "some-daemon", "uid-some-daemon", true}};
  return pod;
}

inline Pod make_driver_pod(std::string_view revision, Time created = test_time - hours(1)) {
  Pod pod = make_daemon_pod("driver-" + std::string(revision), created);
  pod.meta.labels = {{"app", "nvidia-driver-daemonset"},
                     {"controller-revision-hash", Text(revision)}};
  pod.meta.owners = {{"apps/v1", "DaemonSet", "nvidia-driver", "uid-driver-set", true}};
  Container container;
  container.name = "nvidia-driver-ctr";
  container.image = "nvcr.io/nvidia/driver:580.126.20-ubuntu24.04";
  pod.spec.containers = {container};
  return pod;
}

inline Pod not_ready(Pod pod) {
  pod.ready = false;
  for (ContainerStatus& status : pod.container_statuses) status.ready = false;
  return pod;
}

// One of its containers cannot start, and says why.
inline Pod waiting_in(Pod pod, std::string_view reason) {
  pod = not_ready(std::move(pod));
  pod.phase = PodPhase::pending;
  pod.container_statuses[0].started = Time{};
  pod.container_statuses[0].waiting_reason = Text(reason);
  return pod;
}

inline Pod crashing(Pod pod, int32_t restarts) {
  pod = waiting_in(std::move(pod), "CrashLoopBackOff");
  pod.phase = PodPhase::running;
  pod.container_statuses[0].restarts = restarts;
  return pod;
}

inline Pod terminating(Pod pod) {
  pod.meta.deleted = test_time;
  return pod;
}

inline Pod without_controller(Pod pod) {
  pod.meta.owners.clear();
  return pod;
}

inline Pod with_digest(Pod pod, std::string_view digest) {
  pod.spec.containers[0].environment = {{"DRIVER_CONFIG_DIGEST", Text(digest)}};
  return pod;
}

inline fleet::PodPtr share(Pod pod) { return std::make_shared<const Pod>(std::move(pod)); }

inline fleet::PodOnNode gpu_pod(Pod pod) { return {share(std::move(pod)), true, {}, {}, {}}; }
inline fleet::PodOnNode other_pod(Pod pod) { return {share(std::move(pod)), false, {}, {}, {}}; }

inline fleet::PodOnNode refused_by_budget(Pod pod, Duration pause) {
  fleet::PodOnNode entry = gpu_pod(std::move(pod));
  entry.blocking_budgets = {"web-budget"};
  entry.tries = fleet::EvictionTries{1, {}, true, "Cannot evict pod", false};
  entry.pause = pause;
  return entry;
}

inline LabelSelector selector(std::string_view text) { return *LabelSelector::parse(text); }

struct Scene {
  Time now = test_time;
  Rules rules;
  Policy policy = read_policy(nullptr, "ClusterPolicy test");
  fleet::PoolCounts counts;
  Node node;
  // Null: it is gone.
  std::shared_ptr<DaemonSet> set = std::make_shared<DaemonSet>();
  Text newest = "new";
  std::optional<Pod> driver = make_driver_pod("new");
  std::vector<fleet::PodOnNode> pods;
  std::vector<fleet::ClientView> clients;
  std::vector<Pod> validators;
  std::vector<Text> renewed;
  std::vector<std::string> slice_versions;
  bool granted = false;
  Time seen_since;
  bool blind = false;
  Duration clock_gained{0};
  Time scheduler_sees_from;

  Scene() {
    counts.total = 4;
    node.meta.name = "gpu-1";
    node.meta.uid = "uid-gpu-1";
    node.meta.resource_version = "1";
    node.conditions = {{"Ready", "True", "KubeletReady", "", test_time - hours(9)}};
    set->meta.name = "nvidia-driver";
    set->meta.uid = "uid-driver-set";
    set->pod_template.spec = make_driver_pod("new").spec;
  }

  // As the state machine leaves a node that entered the state some time ago.
  Scene& in(State state, Duration ago = seconds(10)) {
    node.meta.labels.set(Text(rules.keys.state), Text(to_string(state)));
    annotate(fleet::since_annotation, format_rfc3339(now - ago));
    std::string unix_time = std::to_string((now - ago).unix_seconds());
    if (state == State::wait_for_jobs) annotate(rules.keys.wait_start, unix_time);
    if (state == State::validation) annotate(rules.keys.validation_start, unix_time);
    node.unschedulable =
        (fleet::is_active(state) && state != State::cordon) || state == State::failed;
    note(fleet::cordon_annotation, node.unschedulable ? fleet::our_cordon : "");
    note(fleet::unvalidated_annotation,
         state == State::pod_restart || state == State::validation ? "true" : "");
    return *this;
  }

  // Nothing: removed.
  void note(std::string_view key, std::string_view value) {
    if (value.empty()) {
      node.meta.annotations.erase(key);
    } else {
      annotate(key, value);
    }
  }
  void annotate(std::string_view key, std::string_view value) {
    node.meta.annotations.set(Text(key), Text(value));
  }
  void label(std::string_view key, std::string_view value) {
    node.meta.labels.set(Text(key), Text(value));
  }
  bool has(std::string_view key) const { return node.meta.annotations.contains(key); }
  std::string annotation(std::string_view key) const {
    return std::string(node.meta.annotations.get(key));
  }
  State state() const { return fleet::state_of(node, rules.keys); }

  void fail_with(std::string_view failure, std::string_view revision = "new") {
    in(State::failed);
    annotate(fleet::failure_annotation, failure);
    if (!revision.empty()) annotate(fleet::failed_revision_annotation, revision);
  }

  void add_client(std::string_view name, Pod pod) {
    clients.push_back({std::string(name), true, share(std::move(pod))});
  }

  fleet::NodeView view() const {
    fleet::NodeView view;
    view.node = std::make_shared<const Node>(node);
    view.driver.set = set;
    view.driver.newest_revision = set ? newest : Text();
    if (driver) view.driver.pod = share(*driver);
    view.pods = pods;
    view.clients = clients;
    for (const Pod& pod : validators) view.validators.push_back(share(pod));
    view.slice_versions = slice_versions;
    view.known.granted = granted;
    view.known.seen_since = seen_since;
    view.known.blind = blind;
    view.known.clock_gained = clock_gained;
    view.known.scheduler_sees_from = scheduler_sees_from;
    view.known.renewed = renewed;
    return view;
  }

  PoolView pool() const { return {"", std::make_shared<const Policy>(policy), counts, {}}; }

  Decision decide() const { return upgrade::decide(view(), pool(), rules, now); }

  // Writes a patch as the server would: as JSON, and only to the version that it was made for.
  void apply(const NodePatch& patch) {
    Json body = patch.body();
    ASSERT_EQ(text_at(body, "metadata", "resourceVersion"), node.meta.resource_version.view());
    auto merge = [](const Json* from, StringMap& into) {
      if (from == nullptr) return;
      for (const auto& [key, value] : from->get_object()) {
        if (value.is_null()) {
          into.erase(key);
        } else {
          into.set(Text(std::string_view(key)), Text(as_text(&value)));
        }
      }
    };
    merge(find(body, "metadata", "labels"), node.meta.labels);
    merge(find(body, "metadata", "annotations"), node.meta.annotations);
    if (const Json* spec = find(body, "spec", "unschedulable")) {
      node.unschedulable = as_bool(spec);
    }
    node.meta.resource_version =
        Text(std::to_string(std::stoll(node.meta.resource_version.str()) + 1));
  }
};

// The state that a decision enters; nothing when it enters none.
inline std::optional<State> entered(const Decision& decision) {
  return decision.patch() == nullptr ? std::nullopt : decision.patch()->to;
}

inline std::vector<std::string> removed(const Decision& decision) {
  std::vector<std::string> names;
  if (decision.removals() == nullptr) return names;
  for (const PodRemoval& removal : *decision.removals()) {
    names.push_back(std::string(to_string(removal.how)) + " " + removal.pod->meta.name.str());
  }
  return names;
}

inline bool warns(const Decision& decision) {
  for (const Announcement& event : decision.events) {
    if (event.warning) return true;
  }
  return false;
}

using Names = std::vector<std::string>;

}  // namespace lockstep::upgrade
