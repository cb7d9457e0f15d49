#include "sim/oracle/pod_fate.h"

#include "sim/oracle/truth.h"

namespace lockstep::sim {

namespace {

Fate by_rules(const Json& pod, const upgrade::EvictionPolicy& policy) {
  if (is_terminating(pod)) return Fate::leaves;
  bool allowed = (controller_of(pod) != nullptr || policy.force) &&
                 (!has_empty_dir(pod) || policy.delete_empty_dir);
  return allowed ? Fate::leaves : Fate::protected_;
}

}  // namespace

Fate fate_of(const Json& pod, fleet::State state, const upgrade::Policy& policy,
             const fleet::Keys& keys) {
  if (has_ended(pod) || is_mirror_pod(pod) || is_of_daemon_set(pod)) return Fate::stays;
  if (state == fleet::State::pod_deletion) {
    bool concerned = asks_for_gpu(pod) || policy.pod_deletion.pods.matches_object(pod);
    return concerned ? by_rules(pod, policy.pod_deletion) : Fate::stays;
  }
  bool concerned = policy.drain.enable && label_of(pod, keys.drain_skip) != "true" &&
                   label_of(pod, "nvidia.com/gpu-driver-upgrade-drain.skip") != "true" &&
                   policy.drain.eviction.pods.matches_object(pod);
  return concerned ? by_rules(pod, policy.drain.eviction) : Fate::stays;
}

}  // namespace lockstep::sim
