// Which pods have to leave a node before its driver is restarted, and what keeps them.
#include <algorithm>

#include "sim/oracle/pod_fate.h"
#include "sim/oracle/reason_truth.h"

namespace lockstep::sim {

namespace {

using fleet::Reason;
using fleet::State;

bool may_be(const Said& said, const Json& pod, State state, Fate fate) {
  return by_some_policy(said, [&](const upgrade::Policy& policy) {
    return fate_of(pod, state, policy, said.truth.keys()) == fate;
  });
}

const upgrade::EvictionPolicy& rules_of(const Said& said, const upgrade::Policy& policy) {
  return said.node.state == State::drain ? policy.drain.eviction : policy.pod_deletion;
}

std::string objection_to_timeout(const Said& said, Duration more = {}) {
  return objection_to_haste(
      said, [&](const upgrade::Policy& policy) { return rules_of(said, policy).timeout + more; });
}

bool is_job_to_wait_for(const Said& said, const Json& pod) {
  std::string_view phase = text_at(pod, "status", "phase");
  return (phase == "Running" || phase == "Pending") &&
         by_some_policy(said, [&](const upgrade::Policy& policy) {
           return policy.wait.pods.matches_object(pod);
         });
}

std::string waits_for_jobs(const Said& said) {
  bool found = may_have_pod(
      said, [&](const ObjectKey&, const Json& pod) { return is_job_to_wait_for(said, pod); });
  return found ? "" : "none of its pods has to be waited for";
}

std::string has_waited_for_jobs(const Said& said) {
  std::string objection = waits_for_jobs(said);
  // A user of another program does not know that the clock was set.
  if (!objection.empty() || said.truth.clock_set.is_set()) return objection;
  bool is_over = by_some_policy(said, [&](const upgrade::Policy& policy) {
    return said.truth.uptime() + seconds(1) >= said.node.state_changed + policy.wait.timeout;
  });
  return is_over ? "" : "its time was not up";
}

std::string has_no_jobs(const Said& said) {
  bool found = surely_has_pod(
      said, [&](const ObjectKey&, const Json& pod) { return is_job_to_wait_for(said, pod); });
  return found ? "one of its pods has to be waited for" : "";
}

std::string has_pods_to_evict(const Said& said) {
  bool found = may_have_pod(said, [&](const ObjectKey&, const Json& pod) {
    return !is_terminating(pod) && may_be(said, pod, said.node.state, Fate::leaves);
  });
  return found ? "" : "none of its pods has to leave";
}

std::string has_ending_pods(const Said& said) {
  bool found = may_have_pod(said, [](const ObjectKey&, const Json& pod) {
    return is_terminating(pod) && !is_of_daemon_set(pod);
  });
  return found ? "" : "none of its pods is ending";
}

std::string is_on_lost_node(const Said& said) {
  if (said.node.ready && !said.truth.may_be_unknown(said.node.ready_changed)) {
    return "the node is Ready";
  }
  std::string objection = has_ending_pods(said);
  return objection.empty() ? objection_to_timeout(said) : objection;
}

std::string has_stuck_pods(const Said& said) {
  bool found = may_have_pod(said, [](const ObjectKey&, const Json& pod) {
    const Json* grace = find(pod, "metadata", "deletionGracePeriodSeconds");
    return is_terminating(pod) && grace != nullptr && as_integer(grace) == 0;
  });
  return found ? objection_to_timeout(said, minutes(1)) : "none of its pods was deleted by force";
}

std::string has_protected_pods(const Said& said) {
  bool found = may_have_pod(said, [&](const ObjectKey&, const Json& pod) {
    return may_be(said, pod, said.node.state, Fate::protected_);
  });
  return found ? "" : "none of its pods is without a controller or has an emptyDir";
}

std::string is_blocked_by_budget(const Said& said) {
  if (!said.evidence.blocked_lately(said.name, said.fails)) {
    return "no budget of its pods allows no disruption";
  }
  return objection_to_timeout(said);
}

std::string has_refused_evictions(const Said& said) {
  bool found = said.evidence.eviction_went_wrong(said.name) ||
               said.truth.may_be_unknown(said.truth.pod_gone(said.name));
  return found ? objection_to_timeout(said) : "none of its evictions went wrong";
}

std::string has_latecomers(const Said& said) {
  const auto& pods = said.truth.pods_on(said.name);
  // By the controller's clock, which may have been set.
  bool found = said.truth.clock_set.is_set() ||
               said.truth.may_be_unknown(said.truth.pod_gone(said.name)) ||
               std::any_of(pods.begin(), pods.end(), [&](const auto& pod) {
                 return by_some_policy(said, [&](const upgrade::Policy& policy) {
                   Duration end = said.node.state_changed + rules_of(said, policy).timeout;
                   return pod.second.bound + seconds(1) >= end &&
                          fate_of(*pod.second.object, said.node.state, policy, said.truth.keys()) ==
                              Fate::leaves;
                 });
               });
  return found ? objection_to_timeout(said) : "no pod came after its time was up";
}

std::string has_gpu_pods(const Said& said) {
  bool found = may_have_pod(said, [&](const ObjectKey&, const Json& pod) {
    return may_be(said, pod, State::pod_deletion, Fate::leaves) ||
           may_be(said, pod, State::pod_deletion, Fate::protected_);
  });
  return found ? "" : "none of its pods uses a GPU";
}

std::string has_no_gpu_pods(const Said& said) {
  bool found = surely_has_pod(said, [&](const ObjectKey&, const Json& pod) {
    return !may_be(said, pod, State::pod_deletion, Fate::stays);
  });
  return found ? "one of its pods uses a GPU" : "";
}

}  // namespace

const Objections& objections_to_evicting() {
  static const Objections table = {
      {Reason::blocked_by_disruption_budget, is_blocked_by_budget},
      {Reason::drained, has_no_gpu_pods},
      {Reason::eviction_failed, has_refused_evictions},
      {Reason::eviction_refused, has_refused_evictions},
      {Reason::evicts_pods, has_pods_to_evict},
      {Reason::force_deletes, has_ending_pods},
      {Reason::node_lost, is_on_lost_node},
      {Reason::gpu_pods_came_back, has_gpu_pods},
      {Reason::gpu_pods_remain, has_gpu_pods},
      {Reason::no_gpu_pods_left, has_no_gpu_pods},
      {Reason::no_jobs_left, has_no_jobs},
      {Reason::pods_keep_coming, has_latecomers},
      {Reason::pods_stuck_terminating, has_stuck_pods},
      {Reason::pods_terminating, has_ending_pods},
      {Reason::protected_pods, has_protected_pods},
      {Reason::wait_timed_out, has_waited_for_jobs},
      {Reason::waits_for_jobs, waits_for_jobs},
  };
  return table;
}

}  // namespace lockstep::sim
