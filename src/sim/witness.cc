#include "sim/witness.h"

#include <algorithm>

#include <fmt/format.h>

#include "upgrade/policy.h"
#include "upgrade/slots.h"

namespace lockstep::sim {

namespace {

using fleet::State;

constexpr size_t most_violations = 100;

State state_in(const Json& node, const fleet::Keys& keys) {
  const Json* labels = find(node, "metadata", "labels");
  return fleet::state_of(labels == nullptr ? "" : as_text(find(*labels, keys.state)));
}

bool has_annotation(const Json& node, std::string_view key) {
  const Json* annotations = find(node, "metadata", "annotations");
  return annotations != nullptr && find(*annotations, key) != nullptr;
}

bool is_unschedulable(const Json& node) { return as_bool(find(node, "spec", "unschedulable")); }

bool is_ready(const Json& node) {
  const Json* conditions = find(node, "status", "conditions");
  if (conditions == nullptr || !conditions->is_array()) return false;
  for (const auto& condition : conditions->get_array()) {
    if (text_at(condition, "type") == "Ready") return text_at(condition, "status") == "True";
  }
  return false;
}

bool is_driver(const Json& pod) {
  return text_at(pod, "metadata", "labels", "app") == "nvidia-driver-daemonset" ||
         text_at(pod, "metadata", "labels", "app.kubernetes.io/component") == "nvidia-driver";
}

}  // namespace

bool is_allowed_transition(State from, State to) {
  // Before the driver is restarted a change that was taken back ends the upgrade.
  bool ends = to == State::uncordon || to == State::done;
  switch (from) {
    case State::unknown:
      return to == State::required || to == State::done;
    case State::done:
      return to == State::required;
    case State::required:
      return to == State::cordon || to == State::pod_restart || ends;
    case State::cordon:
      return to == State::wait_for_jobs || ends;
    case State::wait_for_jobs:
      return to == State::pod_deletion || ends;
    case State::pod_deletion:
      return to == State::pod_restart || to == State::drain || to == State::failed || ends;
    case State::drain:
      return to == State::pod_restart || to == State::failed || ends;
    case State::pod_restart:
      // GPU pods came to the node after all: they are waited for and moved first.
      return to == State::validation || to == State::failed || to == State::wait_for_jobs;
    case State::validation:
      return to == State::pod_restart || to == State::failed || ends;
    case State::uncordon:
      return to == State::done;
    case State::failed:
      return to == State::required || to == State::validation;
  }
  return false;
}

Witness::Witness(Cluster& cluster, std::string key_domain)
    : cluster_(cluster),
      keys_(key_domain),
      listener_(cluster.backend.store.add_listener(
          [this](const std::string& storage, const apiserver::Change& change) {
            on_change(storage, change);
          })) {
  for (const Document& node : cluster.list(resource::nodes)) {
    std::string name(text_at(*node, "metadata", "name"));
    states_[name] = state_in(*node, keys_);
    if (is_unschedulable(*node) || !is_ready(*node)) unavailable_.insert(name);
  }
  last_node_change_ = cluster_.loop.uptime();
}

Witness::~Witness() { cluster_.backend.store.remove_listener(listener_); }

void Witness::on_change(const std::string& storage, const apiserver::Change& change) {
  if (storage == "nodes") {
    on_node(change);
  } else if (storage == "pods") {
    on_pod(change);
  }
}

void Witness::on_node(const apiserver::Change& change) {
  const Json& node = change.object->json();
  std::string name(text_at(node, "metadata", "name"));
  last_node_change_ = cluster_.loop.uptime();
  if (change.type == kube::WatchEventType::deleted) {
    states_.erase(name);
    unavailable_.erase(name);
    active_.erase(name);
    return;
  }
  State from = states_[name];
  State to = state_in(node, keys_);
  states_[name] = to;
  bool was_unavailable = unavailable_.contains(name);
  bool now_unavailable = is_unschedulable(node) || !is_ready(node) || to == State::cordon;
  if (now_unavailable) {
    unavailable_.insert(name);
  } else {
    unavailable_.erase(name);
  }
  // A change that was taken back while the node waited: it ends without ever having had a slot.
  bool never_begun = to == State::uncordon && !active_.contains(name);
  if (fleet::is_active(to) && !never_begun) {
    active_.insert(name);
  } else {
    active_.erase(name);
  }
  if (change.before != nullptr) {
    const Json& before = change.before->json();
    if (is_unschedulable(before) && !is_unschedulable(node) && to == State::done &&
        from != State::done && has_annotation(before, keys_.initially_unschedulable)) {
      accuse(fmt::format("{} was uncordoned, and somebody else had cordoned it", name));
    }
  }
  if (from == to) return;
  reached_[to].insert(name);
  check_transition(name, from, to);
  if (from == State::required && fleet::is_active(to) && to != State::uncordon) {
    began_[name] = cluster_.loop.now();
    check_limits(name, was_unavailable);
  }
  if (to == State::done && from != State::unknown) {
    returned_[name] = cluster_.loop.now();
    auto began = began_.find(name);
    if (began != began_.end()) durations_.push_back(cluster_.loop.now() - began->second);
  }
}

void Witness::check_transition(const std::string& node, State from, State to) {
  // A person may set upgrade-required at any time.
  if (to == State::required || is_allowed_transition(from, to)) return;
  accuse(fmt::format("{} went from {} to {}, which is no step of the upgrade", node,
                     fleet::display_name(from), fleet::display_name(to)));
}

void Witness::check_limits(const std::string& node, bool was_unavailable) {
  Document object = cluster_.get(cluster_policies, {"", "cluster-policy"});
  if (!object) return;
  upgrade::Policy policy = upgrade::policy_of_cluster_policy(*object);
  upgrade::Limits limits = upgrade::limits_of(policy, static_cast<int64_t>(states_.size()));
  auto unavailable = static_cast<int64_t>(unavailable_.size());
  auto active = static_cast<int64_t>(active_.size());
  if (!was_unavailable && unavailable > limits.unavailable) {
    accuse(fmt::format("{} was begun with {} of {} nodes unavailable, and maxUnavailable is {}",
                       node, unavailable, states_.size(), limits.unavailable));
  }
  if (limits.parallel > 0 && active > limits.parallel) {
    accuse(fmt::format("{} was begun as number {} at a time, and maxParallelUpgrades is {}", node,
                       active, limits.parallel));
  }
}

void Witness::on_pod(const apiserver::Change& change) {
  const Json& pod = change.object->json();
  if (!is_driver(pod) || change.before == nullptr) return;
  bool ends_now = find(pod, "metadata", "deletionTimestamp") != nullptr &&
                  find(change.before->json(), "metadata", "deletionTimestamp") == nullptr;
  if (!ends_now) return;
  std::string name(text_at(pod, "spec", "nodeName"));
  Document node = cluster_.get(resource::nodes, {"", name});
  if (node && !is_unschedulable(*node)) {
    accuse(fmt::format("the driver of {} was restarted while the node was schedulable", name));
  }
}

void Witness::look_at_machines() {
  for (const Accident& accident : cluster_.kubelets().accidents()) {
    if (accident.of_daemon_set) continue;
    accuse(fmt::format("{}: {} ({})", accident.node, accident.what, accident.pod.text()));
  }
}

std::map<State, int> Witness::nodes_by_state() const {
  std::map<State, int> counts;
  for (const auto& [node, state] : states_) ++counts[state];
  return counts;
}

int Witness::reached(State state) const {
  auto at = reached_.find(state);
  return at == reached_.end() ? 0 : static_cast<int>(at->second.size());
}

void Witness::accuse(std::string what) {
  if (violations_.size() < most_violations) {
    violations_.push_back(
        fmt::format("at {}: {}", format_duration(cluster_.loop.uptime()), std::move(what)));
  }
}

}  // namespace lockstep::sim
