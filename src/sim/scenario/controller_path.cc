#include "sim/scenario/controller_path.h"

#include <utility>

namespace lockstep::sim {

ControllerPath::ControllerPath(Cluster& cluster, EventLog& events, const RunOptions& options,
                               StaleApi::OnFreeze on_freeze, ObservedApi::OnCall on_call,
                               CrashApi::OnCrash on_crash)
    : random_(options.seed * 11 + 3),
      faults_({}, random_),
      logged_faults_(faults_, events, "lockstep"),
      fault_api_(cluster.api("lockstep"), cluster.loop, logged_faults_),
      stale_(fault_api_, cluster.loop, options.disturbances.freezes, std::move(on_freeze)),
      counting_(stale_, cluster.loop),
      observed_(counting_, std::move(on_call)),
      crash_(observed_, options.disturbances.crashes, std::move(on_crash)),
      wrapped_(options.wrap ? options.wrap(crash_) : nullptr) {}

void ControllerPath::count_afresh() {
  counting_.reset();
  crash_.count_afresh();
  stale_.count_afresh();
}

void ControllerPath::calm() {
  faults_.weights = {};
  crash_.call_off();
}

void ControllerPath::count(RunSummary& summary) const {
  summary.api_calls.clear();
  summary.node_writes = 0;
  summary.evictions = 0;
  for (const auto& [labels, counts] : counting_.counts()) {
    summary.api_calls[labels.verb] += counts.calls;
    bool writes = labels.verb != "get" && labels.verb != "list" && labels.verb != "watch";
    if (labels.subresource == "eviction") {
      if (labels.code == 201 || labels.code == 200) summary.evictions += counts.calls;
    } else if (writes && labels.resource != "events" &&
               labels.resource != resource::leases.full_name()) {
      summary.node_writes += counts.calls;
    }
  }
  for (const auto& [fault, count] : fault_api_.injected()) {
    summary.faults[std::string(to_string(fault))] = count;
  }
}

}  // namespace lockstep::sim
