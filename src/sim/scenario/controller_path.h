// What a request of the controllers passes on its way to the API server, in this order: crashes, an
// observer, counters, a stale view, faults.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "kube/counting_api.h"
#include "kube/fault_api.h"
#include "sim/actors/cluster.h"
#include "sim/oracle/event_log.h"
#include "sim/scenario/crash_api.h"
#include "sim/scenario/observed_api.h"
#include "sim/scenario/scenario_run.h"
#include "sim/scenario/stale_api.h"

namespace lockstep::sim {

class ControllerPath {
 public:
  ControllerPath(Cluster& cluster, EventLog& events, const RunOptions& options,
                 StaleApi::OnFreeze on_freeze, ObservedApi::OnCall on_call,
                 CrashApi::OnCrash on_crash);

  // The controllers' end.
  kube::Api& api() { return wrapped_ ? *wrapped_ : crash_; }
  kube::RandomFaults& faults() { return faults_; }
  kube::FaultApi& fault_api() { return fault_api_; }
  CrashApi& crash() { return crash_; }

  // From now on calls, writes and events are counted, and what is planned comes.
  void count_afresh();
  // No faults and no crashes from now on.
  void calm();
  // What was called, and which faults there were.
  void count(RunSummary& summary) const;
  // Events that the controllers were shown, by resource.
  const std::map<std::string, uint64_t>& sightings() const { return stale_.events(); }

 private:
  SeededRandom random_;
  kube::RandomFaults faults_;
  LoggedFaults logged_faults_;
  kube::FaultApi fault_api_;
  StaleApi stale_;
  kube::CountingApi counting_;
  ObservedApi observed_;
  CrashApi crash_;
  std::unique_ptr<kube::Api> wrapped_;  // around crash_, if the run has an observer
};

}  // namespace lockstep::sim
