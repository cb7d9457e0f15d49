#include "sim/oracle/invariant_rollout.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "rollout/rollout_spec.h"
#include "rollout/rollout_view.h"
#include "sim/actors/driver_image.h"
#include "sim/actors/object_facts.h"
#include "sim/oracle/rollout_truth.h"

namespace lockstep::sim {

namespace {

using fleet::State;

}  // namespace

void OpenWavesOnly::on_change(const std::string& storage, const apiserver::Change& change,
                              bool /*ours*/) {
  if (!is_rollout(storage)) return;
  auto what = [this](const apiserver::StoredPtr& object) {
    const rollout::RolloutStatus& status = truth().rollout_status(object);
    return fmt::format("{} {} {} {}", status.closed, status.open_waves,
                       rollout::revision_id(status.open_for), rollout::revision_id(status.stable));
  };
  if (!change.before || what(change.before) != what(change.object) ||
      !json_equal(change.before->json().at("spec"), change.object->json().at("spec"))) {
    changed_ = truth().uptime();
  }
}

void OpenWavesOnly::on_node(const NodeStep& step) {
  bool begins = step.ours && step.from() == State::required && step.changes_state() &&
                fleet::is_active(step.to()) && step.to() != State::uncordon;
  if (!begins || truth().may_be_unknown(changed_)) return;
  const PodTruth* pod = truth().driver_pod(step.name);
  const DriverTruth* driver = pod == nullptr ? nullptr : truth().driver_of(*pod->object);
  if (driver == nullptr) return;
  const apiserver::Store& store = truth().cluster().backend.store;
  const std::vector<const Json*> pods = driver_pods(step.name);
  for (const auto& [key, object] : store.shelf(fleet::driver_rollouts.full_name()).objects()) {
    std::optional<TrueHold> hold = hold_of(object, step.name, *pod->object, *driver);
    for (const Json* other : pods) {
      if (hold) hold = hold_of(object, step.name, *other, *driver) ? hold : std::nullopt;
    }
    if (hold) accuse(fmt::format("{} was begun, and {}", step.name, hold->why));
  }
}

// Of two driver pods the controller may decide by either, and by one that was there until just now.
std::vector<const Json*> OpenWavesOnly::driver_pods(const std::string& node) const {
  std::vector<const Json*> pods;
  for (const auto& [key, pod] : truth().pods_on(node)) {
    if (is_driver_pod(*pod.object)) pods.push_back(&*pod.object);
  }
  auto ended = ended_.find(node);
  bool is_behind = ended != ended_.end() && truth().may_be_unknown(ended->second.at);
  if (is_behind) pods.push_back(&ended->second.pod);
  return pods;
}

std::optional<TrueHold> OpenWavesOnly::hold_of(const apiserver::StoredPtr& rollout,
                                               const std::string& node, const Json& pod,
                                               const DriverTruth& driver) const {
  const apiserver::Store& store = truth().cluster().backend.store;
  const std::string set = daemon_set_of(pod);
  std::optional<TrueHold> hold;
  // At the edge of a window, a moment earlier counts too.
  for (Duration ago : {Duration::zero(), truth().blindness}) {
    const Time then = truth().cluster().loop.now() - ago;
    hold = true_hold(rollout, store, node, set, driver.newest, then, &pod);
    // It may not know the newest revision: then its wave was open for the previous one.
    if (hold && truth().may_be_unknown(driver.changed)) {
      const Json* open_for = find(rollout->json(), "status", "openFor", "revisions");
      const std::string older(open_for == nullptr ? "" : text_at(*open_for, set));
      hold = true_hold(rollout, store, node, set, older, then, &pod);
    }
    if (!hold) break;
  }
  return hold;
}

void OpenWavesOnly::on_pod_end(const PodEnd& end) {
  if (is_driver_pod(end.pod)) ended_[end.node] = {truth().uptime(), end.pod};
}

namespace {

// It has this long besides what may be hidden from it: to read the node from the cluster, and to
// try again where a write was refused.
constexpr Duration time_to_contain = minutes(1);

bool is_active(std::string_view phase) {
  return !phase.empty() && phase != "Pending" && phase != "Complete" && phase != "RolledBack";
}

}  // namespace

bool NoUnapprovedDriver::is_allowed_now(const apiserver::StoredPtr& rollout,
                                        const std::string& node, const Driver& driver) const {
  const auto& [set, revision] = driver;
  const Json* status = find(rollout->json(), "status");
  // What the fleet ran before is not known.
  if (status == nullptr || stable_.empty()) return true;
  if (speaks_of(*status, "stable", set, revision)) return true;
  if (!is_active(text_at(*status, "phase")) || !speaks_of(*status, "openFor", set, revision)) {
    return false;
  }
  if (!speaks_of(*status, "to", set, revision)) return true;  // it is what a rollback restores
  // The status's waves: a user may have shortened those of the spec in mid-rollout.
  const Json* known_waves = find(*status, "waves");
  if (known_waves == nullptr || !known_waves->is_array()) return true;
  const size_t count = known_waves->get_array().size();
  const auto waves = recorded_waves(rollout, count, truth().cluster().backend.store);
  auto at = waves.find(node);
  const int64_t wave =
      at == waves.end() ? static_cast<int64_t>(count) - 1 : static_cast<int64_t>(at->second);
  return wave < as_integer(find(*status, "openWaves"));
}

bool NoUnapprovedDriver::was_allowed(const apiserver::StoredPtr& rollout, const std::string& node,
                                     const Driver& driver) {
  if (stable_.contains(driver)) return true;
  std::set<std::string>& allowed = allowed_[driver];
  if (allowed.contains(node)) return true;
  if (!is_allowed_now(rollout, node, driver)) return false;
  allowed.insert(node);
  return true;
}

bool NoUnapprovedDriver::is_suspect(const std::string& name) {
  const NodeTruth* node = truth().node(name);
  if (node == nullptr || !truth().controllers_since) return false;
  const PodTruth* pod = truth().driver_pod(name);
  if (pod == nullptr || !is_ready_pod(*pod->object)) return false;
  const DriverTruth* driver = truth().driver_of(*pod->object);
  const Driver runs{daemon_set_of(*pod->object), label_of(*pod->object, fleet::revision_label)};
  // One of an older revision is replaced when its wave opens.
  if (driver == nullptr || runs.second != driver->newest) return false;
  for (const upgrade::Policy* policy : truth().policies(node->pool)) {
    if (!policy->auto_upgrade) return false;
  }
  const apiserver::Store& store = truth().cluster().backend.store;
  for (const auto& [key, rollout] : store.shelf(fleet::driver_rollouts.full_name()).objects()) {
    if (accepts_outsiders(rollout->json())) continue;
    // What ran before there was a rollout is not its business.
    if (text_at(*pod->object, "metadata", "creationTimestamp") <
        text_at(rollout->json(), "metadata", "creationTimestamp")) {
      continue;
    }
    // Whether it is allowed is noted also while the node is cordoned, as it is during its upgrade.
    if (!was_allowed(rollout, name, runs) && !node->unschedulable) return true;
  }
  return false;
}

void NoUnapprovedDriver::look_at(const std::string& name) {
  if (!is_suspect(name)) {
    suspects_.erase(name);
    return;
  }
  auto [since, is_new] = suspects_.try_emplace(name, truth().uptime());
  const Duration from = std::max(since->second, *truth().controllers_since);
  if (from >= truth().known_until(truth().lateness + time_to_contain)) return;
  since->second = truth().uptime();
  accuse(fmt::format("{} has been in service for {} with a driver that no open wave allows it",
                     name, format_duration(truth().uptime() - from)));
}

void NoUnapprovedDriver::look_at_all() {
  for (const auto& [name, node] : truth().nodes()) look_at(name);
}

void NoUnapprovedDriver::check_containment(const NodeStep& step) {
  const bool begins = step.ours && step.after != nullptr && step.after->contained &&
                      (step.before == nullptr || !step.before->contained);
  const PodTruth* pod = truth().driver_pod(step.name);
  if (!begins || pod == nullptr) return;
  const Driver runs{daemon_set_of(*pod->object), label_of(*pod->object, fleet::revision_label)};
  if (truth().may_be_unknown(changed_) || truth().may_be_unknown(pod->bound)) return;
  const apiserver::Store& store = truth().cluster().backend.store;
  for (const auto& [key, rollout] : store.shelf(fleet::driver_rollouts.full_name()).objects()) {
    if (!is_allowed_now(rollout, step.name, runs)) return;
  }
  accuse(fmt::format("{} was taken out of service for its driver, which its rollout allows",
                     step.name));
}

void NoUnapprovedDriver::on_node(const NodeStep& step) {
  check_containment(step);
  look_at(step.name);
  std::vector<std::string> names;
  for (const auto& [name, since] : suspects_) names.push_back(name);
  for (const std::string& name : names) look_at(name);
}

void NoUnapprovedDriver::on_pod(const std::string& node) {
  if (!node.empty()) look_at(node);
}

void NoUnapprovedDriver::on_change(const std::string& storage, const apiserver::Change& change,
                                   bool /*ours*/) {
  if (!is_rollout(storage)) return;
  const Json* stable = find(change.object->json(), "status", "stable", "revisions");
  if (stable != nullptr && stable->is_object()) {
    for (const auto& [set, revision] : stable->get_object()) {
      stable_.emplace(std::string(set), std::string(as_text(&revision)));
    }
  }
  auto open = [this](const apiserver::StoredPtr& object) {
    const rollout::RolloutStatus& status = truth().rollout_status(object);
    return fmt::format("{} {} {} {} {}", to_string(status.phase), status.open_waves,
                       rollout::revision_id(status.open_for), rollout::revision_id(status.stable),
                       text_at(object->json(), "spec", "outsideWave"));
  };
  if (!change.before || open(change.before) != open(change.object)) changed_ = truth().uptime();
  look_at_all();
}

void NoWaveWithoutPass::on_change(const std::string& storage, const apiserver::Change& change,
                                  bool ours) {
  if (!ours || !is_rollout(storage) || !change.before) return;
  const rollout::RolloutStatus& before = truth().rollout_status(change.before);
  const rollout::RolloutStatus& after = truth().rollout_status(change.object);
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

void NoPassWithoutUpgradedNode::on_pod_end(const PodEnd& end) {
  if (is_driver_pod(end.pod)) ended_[end.node] = {truth().uptime(), end.pod};
}

void NoPassWithoutUpgradedNode::on_change(const std::string& storage,
                                          const apiserver::Change& change, bool ours) {
  if (!ours || !is_rollout(storage) || !change.before) return;
  const rollout::RolloutStatus& before = truth().rollout_status(change.before);
  const rollout::RolloutStatus& after = truth().rollout_status(change.object);
  for (size_t i = 0; i < after.waves.size(); ++i) {
    bool was_passed =
        i < before.waves.size() && before.waves[i].verdict == rollout::Outcome::passed;
    bool is_passed = after.waves[i].verdict == rollout::Outcome::passed;
    if (is_passed && !was_passed && after.waves[i].approved_by.empty()) {
      check(change.object, after, i);
    }
  }
}

bool NoPassWithoutUpgradedNode::has_run(const std::string& node,
                                        const rollout::DriverRevision& revision) const {
  auto is_wanted = [&](const Json& pod) {
    return revision.is_of(daemon_set_of(pod), label_of(pod, fleet::revision_label));
  };
  const PodTruth* pod = truth().driver_pod(node);
  if (pod != nullptr && is_wanted(*pod->object)) return true;
  auto ended = ended_.find(node);
  return ended != ended_.end() && truth().may_be_unknown(ended->second.at) &&
         is_wanted(ended->second.pod);
}

void NoPassWithoutUpgradedNode::check(const apiserver::StoredPtr& object,
                                      const rollout::RolloutStatus& status, size_t wave) {
  const auto waves = recorded_waves(object, status.waves.size(), truth().cluster().backend.store);
  bool is_left_empty = wave > 0;
  for (const auto& [name, number] : waves) {
    if (number == wave && has_run(name, status.to)) return;
  }
  for (const auto& [name, node] : truth().nodes()) {
    auto at = waves.find(name);
    // Nodes in no record are in the last wave.
    const size_t of_node = at == waves.end() ? status.waves.size() - 1 : at->second;
    if (of_node == wave && has_run(name, status.to)) return;
    bool counts = of_node >= wave && truth().driver_pod(name) != nullptr &&
                  !is_skipped_node(*node.object) && !truth().may_be_unknown(node.changed);
    if (counts) is_left_empty = false;
  }
  if (is_left_empty) return;
  accuse(fmt::format("rollout {}: wave {} has passed, and none of its nodes has run {}",
                     object->key().name, status.waves[wave].name, status.to.version));
}

void RollbackNeedsEvidence::on_node(const NodeStep& step) {
  if (step.from() == State::failed && step.to() != State::failed) {
    auto failure = failures_.find(step.name);
    if (failure != failures_.end()) failure->second.ended = truth().uptime();
  }
  if (!step.changes_state() || step.to() != State::failed) return;
  Failure failure;
  failure.with_driver = step.from() == State::pod_restart || step.from() == State::validation;
  const PodTruth* pod = truth().driver_pod(step.name);
  const DriverTruth* driver = pod == nullptr ? nullptr : truth().driver_of(*pod->object);
  if (driver != nullptr) {
    failure.set = daemon_set_of(*pod->object);
    failure.revision = driver->newest;
  }
  failures_[step.name] = std::move(failure);
}

void RollbackNeedsEvidence::on_pod_end(const PodEnd& end) {
  if (!is_driver_pod(end.pod)) return;
  were_there_.emplace(daemon_set_of(end.pod), label_of(end.pod, fleet::revision_label));
}

bool RollbackNeedsEvidence::has_run(const rollout::DriverRevision& revision) const {
  for (const auto& [set, hash] : revision.revisions) {
    if (were_there_.contains({set, hash})) return true;
  }
  for (const auto& [name, node] : truth().nodes()) {
    const PodTruth* pod = truth().driver_pod(name);
    if (pod == nullptr) continue;
    const Json& object = *pod->object;
    if (revision.is_of(daemon_set_of(object), label_of(object, fleet::revision_label))) return true;
  }
  return false;
}

int64_t RollbackNeedsEvidence::failed_with(const apiserver::StoredPtr& object,
                                           const rollout::RolloutStatus& status,
                                           int64_t open_waves) const {
  const auto waves = recorded_waves(object, status.waves.size(), truth().cluster().backend.store);
  int64_t failed = 0;
  for (const auto& [name, failure] : failures_) {
    // What the controller counts may have ended since.
    const bool is_over = failure.ended != Duration::max() &&
                         !truth().may_be_unknown(failure.ended) &&
                         !truth().came_meanwhile(failure.ended);
    auto at = waves.find(name);
    // Nodes in no record are in the last wave.
    const size_t wave = at == waves.end() ? status.waves.size() - 1 : at->second;
    const bool is_its_driver =
        failure.set.empty() || status.to.is_of(failure.set, failure.revision);
    if (failure.with_driver && !is_over && is_its_driver &&
        static_cast<int64_t>(wave) < open_waves) {
      ++failed;
    }
  }
  return failed;
}

// In the first wave one is enough. Of a share of the nodes, half of it: some may have no driver.
int64_t RollbackNeedsEvidence::fewest_to_roll_back(const Json& rollout, int64_t open_waves) const {
  if (open_waves <= 1) return 1;
  const bool has_pool = text_at(rollout, "spec", "driver", "kind") == "NVIDIADriver";
  const std::string pool(has_pool ? text_at(rollout, "spec", "driver", "name") : "");
  int64_t fewest = std::numeric_limits<int64_t>::max();
  for (const upgrade::Policy* policy : truth().policies(pool)) {
    const IntOrPercent& limit = policy->max_failures;
    fewest = std::min(fewest, limit.of(limit.percent ? truth().total(pool) / 2 : 0, Rounding::up));
  }
  return std::max<int64_t>(fewest, 1);
}

void RollbackNeedsEvidence::on_change(const std::string& storage, const apiserver::Change& change,
                                      bool ours) {
  using fleet::Reason;
  using rollout::Phase;
  if (!ours || !is_rollout(storage) || !change.before) return;
  const rollout::RolloutStatus& before = truth().rollout_status(change.before);
  const rollout::RolloutStatus& after = truth().rollout_status(change.object);
  if (before.phase == Phase::rolling_back || after.phase != Phase::rolling_back) return;
  if (!after.history.empty() && !after.history.back().by.empty()) return;
  // Users, or a tool of theirs, set the version before themselves.
  if (after.reason == Reason::version_rolled_back || after.reason == Reason::reverted) return;
  const std::string name = change.object->key().name;
  if (after.reason == Reason::gate_failed || after.reason == Reason::bake_failed) {
    if (has_run(after.to)) return;
    return accuse(fmt::format("rollout {} rolls back by itself ({}), and no node has run {}", name,
                              after.reason.view(), after.to.version));
  }
  const int64_t failed = failed_with(change.object, after, before.open_waves);
  const int64_t needed = fewest_to_roll_back(change.object->json(), before.open_waves);
  if (after.reason == Reason::nodes_failed && failed >= needed) return;
  accuse(
      fmt::format("rollout {} rolls back by itself ({}), and {} of its nodes failed after their "
                  "driver was restarted (at least {} needed)",
                  name, after.reason.view(), failed, needed));
}

void RollbackEndsBack::on_change(const std::string& storage, const apiserver::Change& change,
                                 bool ours) {
  if (!ours || !is_rollout(storage) || !change.before) return;
  const rollout::RolloutStatus& before = truth().rollout_status(change.before);
  const rollout::RolloutStatus& after = truth().rollout_status(change.object);
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

bool RollbackEndsBack::changed_just_now(const std::string& node) const {
  const PodTruth* pod = truth().driver_pod(node);
  return pod == nullptr || truth().may_be_unknown(pod->changed);
}

void RollbackEndsBack::look_at_nodes(const apiserver::StoredPtr& object,
                                     const rollout::RolloutStatus& status) {
  Cluster& cluster = truth().cluster();
  const auto waves = recorded_waves(object, status.waves.size(), cluster.backend.store);
  for (const std::string& name : cluster.kubelets().node_names()) {
    auto wave = waves.find(name);
    bool was_open = wave != waves.end() && wave->second < status.waves.size() &&
                    status.waves[wave->second].opened.is_set();
    if (!cluster.kubelets().is_there(name)) continue;
    const PodTruth* pod = truth().driver_pod(name);
    if (pod != nullptr && !status.to.revisions.contains(daemon_set_of(*pod->object))) continue;
    Document node = cluster.get(resource::nodes, {"", name});
    // A node that a user skips stays as it is.
    if (!node || is_skipped_node(*node)) continue;
    const Machine& machine = cluster.kubelets().machine(name);
    if (machine.loaded() && machine.version() == loaded_version(status.from.version)) continue;
    // Outside the waves no driver is required, and none but the previous version is allowed.
    if (!machine.loaded() && !was_open) continue;
    // It was there, and the machine restarts: it will load what it had.
    if (!machine.loaded() && has_newest_driver(name)) continue;
    accuse(fmt::format("rollout {} is rolled back to {}, and {} runs {}", object->key().name,
                       status.from.version, name,
                       machine.loaded() ? machine.version() : "nothing"));
  }
}

}  // namespace lockstep::sim
