#include "sim/oracle/invariant_tenants.h"

#include <algorithm>

#include <fmt/format.h>

namespace lockstep::sim {

using fleet::State;

void OnlyTheDriverCounts::on_pod_end(const PodEnd& end) {
  if (!end.ours || !is_lookalike(end.pod)) return;
  const NodeTruth* node = truth().node(end.node);
  if (node == nullptr || truth().may_be_unknown(node->state_changed)) return;
  const bool is_evicting = node->state == State::pod_deletion || node->state == State::drain;
  bool is_work = is_evicting && !is_of_daemon_set(end.pod);
  // Pods of DaemonSets that the policy names are deleted before the driver's restart.
  if (node->state == State::pod_restart) {
    auto policies = truth().policies(node->pool);
    is_work = std::any_of(policies.begin(), policies.end(), [&](const upgrade::Policy* policy) {
      return policy->pod_deletion.pods.matches_object(end.pod);
    });
  }
  if (is_work) return;
  accuse(fmt::format("{} was removed from {} in {} as if it belonged to the driver", end.key.text(),
                     end.node, fleet::display_name(node->state)));
}

bool OnlyTheDriverCounts::has_lookalike(const std::string& node) const {
  const auto& pods = truth().pods_on(node);
  return std::any_of(pods.begin(), pods.end(),
                     [](const auto& entry) { return is_lookalike(*entry.second.object); });
}

void OnlyTheDriverCounts::on_node(const NodeStep& step) {
  const bool is_idle = step.from() == State::unknown || step.from() == State::done;
  if (!step.ours || !step.changes_state() || !is_idle) return;
  if (truth().driver_pod(step.name) != nullptr || !has_lookalike(step.name)) return;
  // Its own may have gone a moment ago.
  if (truth().may_be_unknown(truth().pod_gone(step.name))) return;
  accuse(fmt::format("{} went to {} by a pod that only looks like a driver", step.name,
                     fleet::display_name(step.to())));
}

}  // namespace lockstep::sim
