#include "sim/invariant_reasons.h"

#include <algorithm>

#include <fmt/format.h>

#include "objects/selector.h"

namespace lockstep::sim {

namespace {

using fleet::State;

constexpr std::string_view budget_storage = "poddisruptionbudgets.policy";

template <typename Visit>
bool any_status(const Json& pod, const Visit& visit) {
  for (const char* part : {"initContainerStatuses", "containerStatuses"}) {
    const Json* statuses = find(pod, "status", part);
    if (statuses == nullptr || !statuses->is_array()) continue;
    for (const Json& status : statuses->get_array()) {
      if (visit(status)) return true;
    }
  }
  return false;
}

// It waits, with a reason that is none of a usual start.
bool waits_in_vain(const Json& pod) {
  return any_status(pod, [](const Json& status) {
    std::string_view reason = text_at(status, "state", "waiting", "reason");
    return !reason.empty() && reason != "ContainerCreating" && reason != "PodInitializing";
  });
}

int64_t most_restarts(const Json& pod) {
  int64_t most = 0;
  any_status(pod, [&](const Json& status) {
    most = std::max(most, as_integer(find(status, "restartCount")));
    return false;
  });
  return most;
}

}  // namespace

void TrueReasons::on_change(const std::string& storage, const apiserver::Change& change, bool) {
  if (storage != budget_storage) return;
  auto blocks = [](const apiserver::StoredPtr& budget) {
    return budget && as_integer(find(budget->json(), "status", "disruptionsAllowed")) == 0;
  };
  if (blocks(change.object) || blocks(change.before)) {
    bool gone = change.type == kube::WatchEventType::deleted;
    blocked_[change.object->key()] = {truth().uptime(), gone, change.object->document()};
  }
}

bool TrueReasons::blocked_lately(const std::string& node) const {
  auto is_of_node = [&](const ObjectKey& budget, const Json& object) {
    auto selector = LabelSelector::from_json(find(object, "spec", "selector"));
    const auto& pods = truth().pods_on(node);
    return selector && std::any_of(pods.begin(), pods.end(), [&](const auto& pod) {
             return pod.first.ns == budget.ns && selector->matches_object(*pod.second.object);
           });
  };
  for (const auto& [name, budget] :
       truth().cluster().backend.store.shelf(budget_storage).objects()) {
    bool blocks = as_integer(find(budget->json(), "status", "disruptionsAllowed")) == 0;
    if (blocks && is_of_node(name, budget->json())) return true;
  }
  // Tries are half a minute apart: what the last one met may have passed. But one that is gone is
  // tried again at once, by who has heard of it.
  return std::any_of(blocked_.begin(), blocked_.end(), [&](const auto& entry) {
    const Blocked& blocked = entry.second;
    Duration long_ago = blocked.gone ? truth().blindness : std::max(truth().blindness, minutes(1));
    return truth().uptime() - blocked.last <= long_ago && is_of_node(entry.first, *blocked.budget);
  });
}

std::string TrueReasons::objection_to_driver(const NodeStep& step, std::string_view reason) const {
  const PodTruth* pod = truth().driver_pod(step.name);
  if (pod != nullptr && truth().may_be_unknown(pod->changed)) return {};
  if (reason == "DriverStartTimeout") {
    const DriverTruth* driver = pod == nullptr ? nullptr : truth().driver_of(*pod->object);
    // The old one stays, and says that it is ready, where nobody is there to end it.
    bool is_new = driver != nullptr && !is_terminating(*pod->object) &&
                  label_of(*pod->object, fleet::revision_label) == driver->newest;
    return is_new && is_ready_pod(*pod->object) ? "its driver pod is ready" : "";
  }
  if (pod == nullptr) return "it has no driver pod";
  if (reason == "DriverCrashLoop") {
    int64_t limit = 0;
    for (const upgrade::Policy* policy : truth().policies(step.after->pool)) {
      int64_t restarts = policy->deadlines.restarts;
      limit = limit == 0 ? restarts : std::min(limit, restarts);
    }
    int64_t restarts = most_restarts(*pod->object);
    if (restarts <= limit) return fmt::format("its driver pod restarted {} times", restarts);
  } else if (!waits_in_vain(*pod->object)) {
    return "its driver pod waits for nothing";
  }
  return {};
}

std::string TrueReasons::objection_to_failure(const NodeStep& step, std::string_view reason) const {
  const auto& pods = truth().pods_on(step.name);
  auto any = [&](const auto& holds) {
    return std::any_of(pods.begin(), pods.end(), [&](const auto& entry) {
      return truth().may_be_unknown(entry.second.changed) || holds(*entry.second.object);
    });
  };
  if (reason == "BlockedByDisruptionBudget") {
    return blocked_lately(step.name) ? "" : "no budget of its pods allows no disruption";
  }
  if (reason == "ProtectedPods") {
    bool found = any([](const Json& pod) {
      return !has_ended(pod) && !is_of_daemon_set(pod) &&
             (controller_of(pod) == nullptr || has_empty_dir(pod));
    });
    return found ? "" : "none of its pods is without a controller or has an emptyDir";
  }
  if (reason == "NoValidatorPod") {
    bool found = std::any_of(pods.begin(), pods.end(), [&](const auto& entry) {
      return is_validator_pod(*entry.second.object) && !is_terminating(*entry.second.object) &&
             !truth().may_be_unknown(entry.second.bound);
    });
    return found ? "it has a validator pod" : "";
  }
  if (reason == "ValidatorNotReady") {
    // One that nobody is there to end says for ever that it is ready.
    bool found = any([](const Json& pod) {
      return is_validator_pod(pod) && (!is_ready_pod(pod) || is_terminating(pod));
    });
    return found ? "" : "its validators are ready";
  }
  if (reason == "DriverCrashLoop" || reason == "DriverImageUnavailable" ||
      reason == "DriverContainerBroken" || reason == "DriverStartTimeout") {
    return objection_to_driver(step, reason);
  }
  return {};
}

void TrueReasons::on_node(const NodeStep& step) {
  if (!step.ours || !step.changes_state() || step.to() != State::failed) return;
  std::string_view failure = annotation_of(*step.after->object, fleet::failure_annotation);
  std::string_view reason = failure.substr(0, failure.find(':'));
  std::string objection = objection_to_failure(step, reason);
  if (objection.empty()) return;
  accuse(fmt::format("{} says that it failed with {}, and {}", step.name, reason, objection));
}

std::string TrueReasons::objection_to_wait(const NodeTruth& node, std::string_view reason) const {
  const upgrade::Policy& policy = *truth().policies(node.pool).back();
  Truth::Limits limits = truth().limits(node.pool);
  int64_t active = 0;
  int64_t unavailable = 0;
  int64_t failed = 0;
  for (const auto& [name, other] : truth().nodes()) {
    if (other.pool != node.pool) continue;
    active += fleet::is_active(other.state) ? 1 : 0;
    failed += other.state == State::failed ? 1 : 0;
    unavailable += other.unschedulable || !other.ready || other.state == State::cordon ? 1 : 0;
  }
  if (reason == "ParallelLimit" && (limits.parallel == 0 || active < limits.parallel)) {
    return fmt::format("{} are active and maxParallelUpgrades is {}", active, limits.parallel);
  }
  if (reason == "UnavailableLimit" && unavailable < limits.unavailable) {
    return fmt::format("{} are unavailable and maxUnavailable is {}", unavailable,
                       limits.unavailable);
  }
  if (reason == "FailureBudget" && failed < limits.failures) {
    return fmt::format("{} failed and maxFailures is {}", failed, limits.failures);
  }
  if (reason == "Skipped" && label_of(*node.object, keys().skip) != "true") {
    return "it has no label that says so";
  }
  if (reason == "NodeNotReady" && node.ready) return "it is Ready";
  if (reason == "Paused" && !policy.paused) return "nobody has paused the policy";
  if (reason == "AutoUpgradeOff" && policy.auto_upgrade) return "autoUpgrade is true";
  if (reason == "InvalidPolicy" && policy.problems.empty()) return "the policy is valid";
  if (reason == "CordonedIgnored" && !node.unschedulable) return "it is not cordoned";
  return {};
}

void TrueReasons::check_waiting(const std::map<std::string, upgrade::Reason>& reasons) const {
  // What each pool's nodes say is mostly the same, and counting takes a walk over all.
  std::map<std::pair<std::string, std::string>, std::string> known;
  for (const auto& [name, reason] : reasons) {
    const NodeTruth* node = truth().node(name);
    if (node == nullptr || node->state != State::required) continue;
    bool of_pool = reason.name.ends_with("Limit") || reason.name == "FailureBudget";
    auto [at, fresh] = known.try_emplace({node->pool, of_pool ? reason.name : name});
    if (fresh) at->second = objection_to_wait(*node, reason.name);
    if (at->second.empty()) continue;
    accuse(
        fmt::format("{} says that it waits because of {}, and {}", name, reason.name, at->second));
  }
}

}  // namespace lockstep::sim
