#include "upgrade/evicting.h"

#include <algorithm>
#include <array>
#include <functional>

#include <fmt/format.h>

#include "base/strings.h"
#include "upgrade/deciding.h"
#include "upgrade/pod_names.h"

namespace lockstep::upgrade {

namespace {

bool is_gpu_pod(const fleet::PodOnNode& entry, const EvictionPolicy& policy) {
  return entry.uses_gpu || policy.pods.matches(entry.pod->meta.labels);
}

Verdict judge_by_rules(const Pod& pod, const EvictionPolicy& policy, std::string_view setting) {
  std::vector<std::string> objections;
  // One that is already on its way out is lost whatever we think of it.
  if (pod.meta.is_deleting()) return {Fate::leaves, ""};
  if (pod.meta.controller() == nullptr && !policy.force) {
    objections.push_back(
        fmt::format("has no controller that would create it again (allow with {}.force)", setting));
  }
  if (pod.spec.has_empty_dir && !policy.delete_empty_dir) {
    objections.push_back(
        fmt::format("keeps data in an emptyDir (allow with {}.deleteEmptyDir)", setting));
  }
  if (objections.empty()) return {Fate::leaves, ""};
  return {Fate::protected_, name_pod(pod) + " " + join(objections, " and ")};
}

using Judge = std::function<Verdict(const fleet::PodOnNode&)>;

struct Sorted {
  std::vector<const fleet::PodOnNode*> leaving;
  std::vector<std::string> protected_pods;
};

Sorted sort_pods(const fleet::NodeView& view, const Judge& judge) {
  Sorted sorted;
  for (const auto& entry : view.pods) {
    Verdict verdict = judge(entry);
    if (verdict.fate == Fate::leaves) sorted.leaving.push_back(&entry);
    if (verdict.fate == Fate::protected_) sorted.protected_pods.push_back(verdict.because);
  }
  return sorted;
}

struct Progress {
  PodRemovals to_evict;
  PodRemovals to_force;
  std::vector<fleet::PodPtr> ending;
  std::vector<std::string> by_budget;
  bool budgets_gave_way = true;  // none of those that refused is in the way any more
  std::vector<std::string> by_error;
  std::optional<Duration> next_try;
};

std::string blocked_by(const fleet::PodOnNode& entry) {
  if (!entry.blocking_budgets.empty()) {
    return fmt::format("{} (PodDisruptionBudget {})", name_pod(*entry.pod),
                       join(entry.blocking_budgets, ", "));
  }
  return fmt::format("{} ({})", name_pod(*entry.pod),
                     entry.tries ? entry.tries->message : std::string("no disruption allowed"));
}

Progress see_progress(const Sorted& sorted) {
  Progress progress;
  auto wait = [&](Duration pause) {
    progress.next_try = std::min(progress.next_try.value_or(pause), pause);
  };
  for (const auto* entry : sorted.leaving) {
    if (entry->pod->meta.is_deleting()) {
      progress.ending.push_back(entry->pod);
      if (entry->pause > Duration::zero()) {
        wait(entry->pause);
      } else if (!entry->tries || !entry->tries->forced) {
        progress.to_force.push_back({entry->pod, Removal::force_remove});
      }
      continue;
    }
    if (entry->tries && entry->tries->refusals > 0) {
      (entry->tries->by_budget ? progress.by_budget : progress.by_error)
          .push_back(blocked_by(*entry));
      if (!entry->blocking_budgets.empty()) progress.budgets_gave_way = false;
      if (entry->pause > Duration::zero()) {
        wait(entry->pause);
        continue;
      }
    }
    progress.to_evict.push_back({entry->pod, Removal::evict});
  }
  return progress;
}

Reason describe(const Progress& progress, Duration timeout, Duration left) {
  std::string until =
      timeout == Duration::zero() ? std::string("without a time limit (timeoutSeconds is 0)")
      : left == Duration::zero()  ? fmt::format("for at most {}", format_duration(timeout))
                                  : fmt::format("for {} more", human_duration(left));
  if (!progress.by_budget.empty()) {
    return {Reason::blocked_by_disruption_budget,
            fmt::format("{} blocked by disruption budgets: {}; retried with growing pauses {}",
                        counted(progress.by_budget.size(), "pod"), name_some(progress.by_budget),
                        until),
            "scale the application up, or allow more disruptions in its PodDisruptionBudget"};
  }
  if (!progress.by_error.empty()) {
    return {Reason::eviction_refused,
            fmt::format("{} failed: {}; retried {}", counted(progress.by_error.size(), "eviction"),
                        name_some(progress.by_error), until),
            ""};
  }
  if (!progress.ending.empty()) {
    return {
        Reason::pods_terminating,
        fmt::format("waits for {} to terminate: {}; {}", counted(progress.ending.size(), "pod"),
                    name_pods(progress.ending),
                    timeout == Duration::zero() ? std::string("no time limit (timeoutSeconds is 0)")
                                                : "times out in " + human_duration(left)),
        ""};
  }
  std::vector<fleet::PodPtr> pods;
  for (const auto& removal : progress.to_evict) pods.push_back(removal.pod);
  return {Reason::evicts_pods,
          fmt::format("evicts {}: {}", counted(pods.size(), "pod"), name_pods(pods)), ""};
}

// Long enough for one more try, whatever the pause before it.
constexpr Duration patience_with_budgets = seconds(90);
// How long a pod may stay that was deleted without grace.
constexpr Duration force_patience = seconds(60);

// Pods that came after the timeout: more of them will come indefinitely, because they tolerate the
// cordon or name the node.
std::optional<Reason> find_latecomers(const Progress& progress, const Situation& situation,
                                      Duration timeout) {
  Time end = fleet::state_since(situation.node()) + timeout;
  std::vector<fleet::PodPtr> late;
  for (const auto& removal : progress.to_evict) {
    if (removal.pod->meta.created > end) late.push_back(removal.pod);
  }
  if (late.empty()) return std::nullopt;
  return Reason{Reason::pods_keep_coming,
                fmt::format("{} started on the node after {} of evictions: {}",
                            counted(late.size(), "pod"), format_duration(timeout), name_pods(late)),
                "remove their toleration of node.kubernetes.io/unschedulable, or scale their "
                "application down"};
}

// Its kubelet cannot say that these pods have ended, and they may still run: deleted by force,
// those of a StatefulSet would run twice.
Reason node_lost(const Situation& situation, const std::vector<fleet::PodPtr>& ending) {
  return {Reason::node_lost,
          fmt::format("the node is not Ready, and {} may still run on it: {}; they are never "
                      "deleted by force there",
                      counted(ending.size(), "pod"), name_pods(ending)),
          fmt::format("repair the node; if its machine is gone permanently: kubectl delete node "
                      "{}",
                      situation.view.name())};
}

// After an absence of the API server, Kubernetes' scheduler may not have seen the cordon yet: it
// would send evicted pods back to this node, to be evicted again. Not where the wait would use up
// the time for evictions: the restart of the driver waits too.
std::optional<Decision> await_scheduler(const Situation& situation, Duration timeout) {
  const Duration wait = situation.view.known.scheduler_sees_from - situation.now;
  if (wait <= Duration::zero()) return std::nullopt;
  if (timeout > Duration::zero() && situation.left_of(timeout) < 2 * wait) return std::nullopt;
  return hold(
      {Reason::scheduler_catches_up,
       "the API server was away, and the scheduler may not have seen the cordon yet: evicted "
       "pods could return to this node",
       ""},
      wait);
}

// The steps of eviction, which pod-deletion and drain share. `give_up` says what comes when some
// pods cannot be moved.
Decision evict(const Situation& situation, const Judge& judge, Duration timeout,
               const std::function<Decision()>& on_empty,
               const std::function<Decision(Reason)>& give_up) {
  Sorted sorted = sort_pods(situation.view, judge);
  // All or none: half an eviction would cost work and gain nothing.
  if (!sorted.protected_pods.empty()) {
    return give_up(
        {Reason::protected_pods,
         fmt::format("{} must not be evicted: {}", counted(sorted.protected_pods.size(), "pod"),
                     name_some(sorted.protected_pods, 20)),
         "delete these pods, or allow their eviction with the setting named"});
  }
  if (sorted.leaving.empty()) {
    if (auto wait = await_scheduler(situation, timeout)) return *wait;
    return on_empty();
  }
  Progress progress = see_progress(sorted);
  if (!progress.to_evict.empty()) {
    if (auto wait = await_scheduler(situation, timeout)) return *wait;
  }
  Duration left = situation.left_of(timeout);
  bool timed_out = timeout > Duration::zero() && left == Duration::zero();
  Reason reason = describe(progress, timeout, left);
  if (timed_out) {
    bool one_more_try = progress.budgets_gave_way &&
                        situation.left_of(timeout + patience_with_budgets) > Duration::zero();
    if (!progress.by_budget.empty() && !one_more_try) return give_up(std::move(reason));
    if (!progress.by_error.empty()) {
      reason.name = Reason::eviction_failed;
      return give_up(std::move(reason));
    }
    if (!progress.by_budget.empty()) {
      reason = {Reason::evicts_pods,
                fmt::format("retries {} once: the budget that refused no longer blocks",
                            counted(progress.by_budget.size(), "eviction")),
                ""};
    }
    if (auto late = find_latecomers(progress, situation, timeout)) return give_up(*late);
    if (progress.to_evict.empty() && !progress.ending.empty() && !situation.node().ready()) {
      return hold(node_lost(situation, progress.ending), minutes(1));
    }
    if (!progress.to_force.empty() && progress.to_evict.empty()) {
      Decision decision =
          hold({Reason::force_deletes,
                fmt::format("{} did not terminate within {}; deleted without a grace period: {}",
                            counted(progress.to_force.size(), "pod"), format_duration(timeout),
                            name_pods(progress.ending)),
                ""},
               seconds(30));
      decision.events = {{true, decision.reason.text}};
      decision.write = std::move(progress.to_force);
      // The node may have been lost since its last report.
      decision.freshness = Freshness::driver;
      return decision;
    }
    if (progress.to_evict.empty() && !progress.next_try) {
      // Deleted without grace and still there: nothing more can be done, and nothing will happen.
      Duration patience = situation.left_of(timeout + force_patience);
      if (patience > Duration::zero()) return hold(std::move(reason), patience);
      return give_up(
          {Reason::pods_stuck_terminating,
           fmt::format("{} deleted without a grace period and still present: {}",
                       counted(progress.ending.size(), "pod"), name_pods(progress.ending)),
           "check the finalizers of these pods"});
    }
  }
  std::optional<Duration> look_again = progress.next_try;
  if (timeout > Duration::zero() && !timed_out) {
    look_again = std::min(look_again.value_or(left), left);
  }
  Decision decision = hold(std::move(reason), look_again);
  if (!progress.by_budget.empty()) decision.events = {{true, decision.reason.text}};
  if (!progress.to_evict.empty()) decision.write = std::move(progress.to_evict);
  return decision;
}

}  // namespace

Verdict judge_gpu_pod(const fleet::PodOnNode& entry, const EvictionPolicy& policy) {
  const Pod& pod = *entry.pod;
  if (pod.is_finished() || pod.is_mirror() || pod.is_owned_by_daemon_set()) return {};
  if (!is_gpu_pod(entry, policy)) return {};
  return judge_by_rules(pod, policy, "podDeletion");
}

Verdict judge_for_drain(const fleet::PodOnNode& entry, const DrainPolicy& policy,
                        const Rules& rules) {
  const Pod& pod = *entry.pod;
  if (pod.is_finished() || pod.is_mirror() || pod.is_owned_by_daemon_set()) return {};
  if (fleet::is_left_by_drains(pod, rules.keys)) return {};
  if (!policy.eviction.pods.matches(pod.meta.labels)) return {};
  return judge_by_rules(pod, policy.eviction, "drain");
}

std::vector<fleet::PodPtr> daemon_pods_to_restart(const fleet::NodeView& view,
                                                  const EvictionPolicy& policy) {
  std::vector<fleet::PodPtr> pods;
  for (const auto& entry : view.pods) {
    const Pod& pod = *entry.pod;
    if (!pod.is_owned_by_daemon_set() || pod.is_finished() || pod.meta.is_deleting()) continue;
    if (policy.pods.matches(pod.meta.labels)) pods.push_back(entry.pod);
  }
  return pods;
}

bool has_gpu_pods_to_move(const fleet::NodeView& view, const EvictionPolicy& policy) {
  return std::any_of(view.pods.begin(), view.pods.end(), [&](const fleet::PodOnNode& entry) {
    return judge_gpu_pod(entry, policy).fate != Fate::stays;
  });
}

bool is_eviction_failure(const fleet::ReasonName& failure) {
  static constexpr std::array reasons = {Reason::blocked_by_disruption_budget,
                                         Reason::protected_pods,
                                         Reason::eviction_failed,
                                         Reason::pods_keep_coming,
                                         Reason::pods_stuck_terminating,
                                         Reason::gpu_pods_remain};
  return std::any_of(reasons.begin(), reasons.end(),
                     [&](fleet::KnownReason each) { return failure == each; });
}

Decision decide_pod_deletion(const Situation& situation) {
  const Policy& policy = situation.policy();
  return evict(
      situation,
      [&](const fleet::PodOnNode& entry) { return judge_gpu_pod(entry, policy.pod_deletion); },
      policy.pod_deletion.timeout,
      [&] {
        Decision decision = enter(situation, State::pod_restart,
                                  {Reason::no_gpu_pods_left, "no GPU pod is left on the node", ""});
        // Another replica, which sees pods that we do not see, may have sent the node back.
        if (fleet::is_requested(situation.node(), situation.rules.keys)) {
          decision.freshness = Freshness::driver;
        }
        return decision;
      },
      [&](Reason reason) {
        if (!policy.drain.enable) return fail_node(situation, std::move(reason));
        std::string text = reason.text;
        Decision decision = enter(situation, State::drain, std::move(reason));
        decision.events.push_back({true, "GPU pods could not be evicted: " + text});
        // A drain moves more than GPU pods: not for those that have left already.
        decision.freshness = Freshness::driver;
        return decision;
      });
}

Decision decide_drain(const Situation& situation) {
  const Policy& policy = situation.policy();
  auto finish = [&] {
    // What the drain leaves alone may still hold a GPU.
    std::vector<fleet::PodPtr> left;
    bool all_end = true;
    for (const auto& entry : situation.view.pods) {
      if (judge_gpu_pod(entry, policy.pod_deletion).fate == Fate::stays) continue;
      left.push_back(entry.pod);
      all_end = all_end && entry.pod->meta.is_deleting();
    }
    Duration limit = policy.drain.eviction.timeout;
    Duration rest = situation.left_of(limit);
    if (!left.empty() && all_end && (limit == Duration::zero() || rest > Duration::zero())) {
      return hold({Reason::pods_terminating,
                   fmt::format("waits for {} to terminate: {}", counted(left.size(), "GPU pod"),
                               name_pods(left)),
                   ""},
                  limit > Duration::zero() ? std::optional(rest) : std::nullopt);
    }
    if (!left.empty() && all_end && !situation.node().ready()) {
      return hold(node_lost(situation, left), minutes(1));
    }
    if (!left.empty()) {
      return fail_node(situation,
                       {Reason::gpu_pods_remain,
                        fmt::format("{} not covered by the drain and still running: {}",
                                    counted(left.size(), "GPU pod"), name_pods(left)),
                        "delete these pods, or change the drain's podSelector to cover them"});
    }
    return enter(situation, State::pod_restart, {Reason::drained, "the node is drained", ""});
  };
  if (!policy.drain.enable) return finish();
  return evict(
      situation,
      [&](const fleet::PodOnNode& entry) {
        return judge_for_drain(entry, policy.drain, situation.rules);
      },
      policy.drain.eviction.timeout, finish,
      [&](Reason reason) { return fail_node(situation, std::move(reason)); });
}

}  // namespace lockstep::upgrade
