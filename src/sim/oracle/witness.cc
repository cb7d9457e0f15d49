#include "sim/oracle/witness.h"

#include <optional>

#include <fmt/format.h>

#include "sim/oracle/end_state.h"
#include "sim/oracle/invariant_answers.h"
#include "sim/oracle/invariant_bake.h"
#include "sim/oracle/invariant_limits.h"
#include "sim/oracle/invariant_machines.h"
#include "sim/oracle/invariant_pods.h"
#include "sim/oracle/invariant_reasons.h"
#include "sim/oracle/invariant_restore.h"
#include "sim/oracle/invariant_rollout.h"
#include "sim/oracle/invariant_service.h"
#include "sim/oracle/invariant_tenants.h"
#include "sim/oracle/invariant_writes.h"

namespace lockstep::sim {

namespace {

using fleet::State;

}  // namespace

template <typename Kind, typename... More>
Kind& Witness::add(std::string_view name, More... more) {
  auto made = std::make_unique<Kind>(
      truth_, [this, name](const std::string& what) { accuse(name, what); }, more...);
  Kind& kind = *made;
  invariants_.push_back(std::move(made));
  return kind;
}

Witness::Witness(Cluster& cluster, WitnessOptions options)
    : cluster_(cluster),
      truth_(cluster, fleet::Keys(options.key_domain)),
      listener_(cluster.backend.store.add_listener(
          [this](const std::string& storage, const apiserver::Change& change) {
            on_change(storage, change);
          })) {
  truth_.blindness = options.blindness;
  truth_.lateness = options.lateness;
  if (options.blindness >= long_blindness) truth_.sight = &sight_.emplace(cluster.loop);
  truth_.coordinates = !options.outsiders_contained;
  for (const auto& [name, node] : truth_.nodes()) ++by_state_[node.state];
  last_node_change_ = cluster_.loop.uptime();
  add<MaxUnavailable>("MaxUnavailable");
  add<MaxParallel>("MaxParallel");
  add<SlotsFit>("SlotsFit");
  add<NoSkippedState>("NoSkippedState");
  add<WholeSteps>("WholeSteps");
  add<OneUpgradePerCause>("OneUpgradePerCause");
  add<OneRestartPerCause>("OneRestartPerCause");
  add<OnDeleteOnly>("OnDeleteOnly");
  add<NoRepeatedState>("NoRepeatedState");
  add<SafeRestart>("SafeRestart");
  add<ProtectedPods>("ProtectedPods");
  add<NoNeedlessEviction>("NoNeedlessEviction");
  add<OnlyTheDriverCounts>("OnlyTheDriverCounts");
  add<AdminCordon>("AdminCordon");
  add<FitForService>("FitForService", options.clients_renewed);
  add<BoundedWrites>("BoundedWrites");
  add<NamedByUid>("NamedByUid");
  add<OwnWritesFirst>("OwnWritesFirst");
  add<OpenWavesOnly>("OpenWavesOnly");
  add<NoWaveWithoutPass>("NoWaveWithoutPass");
  add<NoPassWithoutUpgradedNode>("NoPassWithoutUpgradedNode");
  add<RollbackNeedsEvidence>("RollbackNeedsEvidence");
  add<RollbackEndsBack>("RollbackEndsBack");
  add<ObjectRestored>("ObjectRestored");
  add<NoRejectedVersion>("NoRejectedVersion");
  if (options.outsiders_contained) add<NoUnapprovedDriver>("NoUnapprovedDriver");
  add<EventsCount>("EventsCount");
  add<BakeTakesItsTime>("BakeTakesItsTime");
  accidents_ = &add<NoAccident>("NoAccident");
  reasons_ = &add<TrueReasons>("TrueReasons");
  answers_ = &add<OneAnswer>("OneAnswer");
}

Witness::~Witness() { cluster_.backend.store.remove_listener(listener_); }

void Witness::on_change(const std::string& storage, const apiserver::Change& change) {
  last_change_ = cluster_.loop.uptime();
  // Those came before it, and were of the world as it was then.
  look_at_machines();
  if (sight_) sight_->take(storage, change);
  take(storage, change);
}

void Witness::take(const std::string& storage, const apiserver::Change& change) {
  const apiserver::Origin origin = cluster_.backend.store.origin();
  bool ours = is_controller(origin.who);
  if (storage == "nodes") return on_node(change, ours);
  if (storage == "pods") return on_pod(change, origin, ours);
  truth_.take(storage, change, ours);
  for (const auto& invariant : invariants_) invariant->on_change(storage, change, ours);
}

void Witness::on_node(const apiserver::Change& change, bool ours) {
  const std::string& name = change.object->key().name;
  last_node_change_ = cluster_.loop.uptime();
  std::optional<NodeTruth> before;
  if (const NodeTruth* held = truth_.node(name)) before = *held;
  truth_.take("nodes", change, ours);
  NodeStep step{name, ours, before ? &*before : nullptr, truth_.node(name)};
  note(step);
  for (const auto& invariant : invariants_) invariant->on_node(step);
}

void Witness::note(const NodeStep& step) {
  if (step.before != nullptr) --by_state_[step.from()];
  if (step.after != nullptr) ++by_state_[step.to()];
  if (!step.changes_state()) return;
  State to = step.to();
  reached_[to].insert(step.name);
  if (step.from() == State::required && fleet::is_active(to) && to != State::uncordon) {
    began_[step.name] = cluster_.loop.now();
  }
  if (to == State::done && step.from() != State::unknown) {
    returned_[step.name] = cluster_.loop.now();
    auto began = began_.find(step.name);
    if (began != began_.end()) durations_.push_back(cluster_.loop.now() - began->second);
  }
}

void Witness::on_pod(const apiserver::Change& change, const apiserver::Origin& origin, bool ours) {
  if (change.before != nullptr && !is_terminating(change.before->json())) {
    const Json& pod = change.before->json();
    bool ends =
        change.type == kube::WatchEventType::deleted || is_terminating(change.object->json());
    if (ends) {
      std::string node(text_at(pod, "spec", "nodeName"));
      PodEnd end{node, change.object->key(), pod, ours, origin.subresource == "eviction"};
      for (const auto& invariant : invariants_) invariant->on_pod_end(end);
    }
  }
  truth_.take("pods", change, ours);
  const std::string node(text_at(change.object->json(), "spec", "nodeName"));
  for (const auto& invariant : invariants_) invariant->on_pod(node);
}

void Witness::see_request(const kube::Request& request) {
  for (const auto& invariant : invariants_) invariant->on_request(request);
}

void Witness::see_call(int life, const kube::Request& request) {
  if (sight_) sight_->see_call(life, request);
  for (const auto& invariant : invariants_) invariant->on_call(life, request);
}

void Witness::see_reply(int life, const kube::Request& request, const kube::Reply& reply) {
  if (sight_) sight_->see_reply(life, request, reply);
  if (!reply) return;
  for (const auto& invariant : invariants_) invariant->on_reply(life, request, *reply);
}

void Witness::check_reasons(const std::map<std::string, fleet::Reason>& reasons) {
  reasons_->check_shown(reasons);
}

void Witness::compare_answers(const Answers& controller, const Answers& observer) {
  answers_->compare(controller, observer);
}

void Witness::look_at_machines() { accidents_->look_at_machines(); }

std::map<State, int> Witness::nodes_by_state() const {
  std::map<State, int> counts;
  for (const auto& [state, count] : by_state_) {
    if (count > 0) counts[state] = count;
  }
  return counts;
}

int Witness::reached(State state) const {
  auto at = reached_.find(state);
  return at == reached_.end() ? 0 : static_cast<int>(at->second.size());
}

void Witness::accuse(std::string_view invariant, const std::string& what) {
  if (violations_.size() >= most_violations) return;
  violations_.push_back(
      fmt::format("at {}: {} ({})", format_duration(cluster_.loop.uptime()), what, invariant));
  if (violations_.size() == 1 && on_first_) on_first_();
}

}  // namespace lockstep::sim
