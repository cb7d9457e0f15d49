#include "sim/scenario/blindness.h"

#include <algorithm>
#include <set>
#include <string_view>

namespace lockstep::sim {

Duration blindness_of(const kube::FaultWeights& weights) {
  // A conflict hides nothing, nor does a list in small pages: they are left out.
  const double hiding[] = {weights.request_lost,  weights.request_late,  weights.reply_lost,
                           weights.expired,       weights.throttled,     weights.server_error,
                           weights.watch_refused, weights.watch_dropped, weights.watch_expired,
                           weights.watch_silent,  weights.stale_replica, weights.stale_reads,
                           weights.list_cut};
  if (std::any_of(std::begin(hiding), std::end(hiding), [](double each) { return each > 0; })) {
    return long_blindness;
  }
  Duration lag = weights.watch_lag;
  for (const auto& [resource, own] : weights.watch_lag_of) lag = std::max(lag, own);
  // Twice: a watch that ends in time, as all do, is late once more with what was on its way.
  return calm_blindness + 2 * weights.latency + 2 * lag;
}

bool blinds(const Interference& step) {
  static const std::set<std::string_view> names = {"outage", "partition", "silenceWatches",
                                                   "olderReplica"};
  return names.contains(step.action);
}

Duration blindness_of(const Scenario& scenario, const std::vector<Freeze>& freezes) {
  Duration longest = calm_blindness;
  const bool is_cut_off = scenario.controller_faults > 0 ||
                          std::any_of(scenario.steps.begin(), scenario.steps.end(), blinds);
  if (is_cut_off) longest = long_blindness;
  if (scenario.controller_weights) {
    longest = std::max(longest, blindness_of(*scenario.controller_weights));
  }
  for (const Freeze& freeze : freezes) {
    longest = std::max(longest, freeze.length + calm_blindness);
  }
  return longest;
}

}  // namespace lockstep::sim
