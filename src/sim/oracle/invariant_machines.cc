#include "sim/oracle/invariant_machines.h"

#include <fmt/format.h>

namespace lockstep::sim {

void NoAccident::on_pod_end(const PodEnd& end) {
  if (!is_driver_pod(end.pod)) return;
  DriverEnd& last = ends_[end.node];
  last = {end.ours, truth().uptime()};
  const NodeTruth* node = truth().node(end.node);
  if (node != nullptr && node->unschedulable) last.cordoned = node->cordon_changed;
  last.cosmetic = truth().was_just_as_wanted(end.pod);
}

bool NoAccident::is_ours(const Accident& accident) const {
  // By the rules a DaemonSet's pod is left where it is.
  if (accident.of_daemon_set || !accident.by_new_pod) return false;
  auto end = ends_.find(accident.node);
  if (end == ends_.end() || !end->second.ours || end->second.cosmetic) return false;
  const auto& pods = truth().pods_on(accident.node);
  auto pod = pods.find(accident.pod);
  // The API has deleted it: the client that removed it declared that it has ended.
  if (pod == pods.end()) return false;
  Duration bound = pod->second.bound;
  if (bound >= end->second.at) return false;
  // A scheduler that does not know of a cordon yet sends one more pod.
  bool could_not_be_seen =
      bound > end->second.cordoned && end->second.at - bound <= Truth::time_to_look;
  return !could_not_be_seen;
}

void NoAccident::look_at_machines() {
  const auto& accidents = truth().cluster().kubelets().accidents();
  for (; judged_ < accidents.size(); ++judged_) {
    const Accident& accident = accidents[judged_];
    if (!is_ours(accident)) continue;
    accuse(fmt::format("{}: {} ({})", accident.node, accident.what, accident.pod.text()));
  }
}

}  // namespace lockstep::sim
