// Runs one scenario in virtual time, with the very controller that runs in clusters, and says
// whether what it expects came true.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/oracle/end_state.h"
#include "sim/scenario/crash_api.h"
#include "sim/scenario/scenario.h"
#include "sim/scenario/stale_api.h"

namespace lockstep::sim {

// What is done to the controller at exactly one place of its run, counted from the beginning of the
// upgrade: an exhaustive search goes through all of them.
struct Disturbances {
  std::vector<Crash> crashes;
  std::vector<Freeze> freezes;

  bool operator==(const Disturbances&) const = default;
};

struct RunOptions {
  uint64_t seed = 1;
  int nodes = 0;  // 0: as many as the scenario says
  Disturbances disturbances = {};
  // Puts an Api of the caller's between the controllers and theirs: to see every call and watch.
  std::function<std::unique_ptr<kube::Api>(kube::Api&)> wrap = {};
  size_t events = 50;  // how many are kept for RunSummary::last_events
  bool takes_digest = true;
};

struct RunSummary {
  std::string scenario;
  uint64_t seed = 0;
  int64_t nodes = 0;
  int64_t done = 0;
  int64_t failed = 0;
  double virtual_seconds = 0;  // from the change to the last change of a node
  double ideal_seconds = 0;    // ceil(nodes / parallel) times the mean of the nodes' own times
  std::map<std::string, uint64_t> api_calls;  // the controller's, by verb
  uint64_t node_writes = 0;                   // its writes besides evictions, events and leases
  uint64_t evictions = 0;
  // What was done to the controller and to the world, by name: a run that found nothing wrong must
  // know what it tried.
  std::map<std::string, uint64_t> faults;
  std::map<std::string, int> states;
  std::map<std::string, int> reasons;  // why nodes that are not done are where they are
  std::string digest;
  uint64_t writes = 0;                        // of the controller, all of them
  std::map<std::string, uint64_t> sightings;  // events that the controller was shown, by resource
  bool rested = false;                        // it came to rest before the limit
  uint64_t late_writes = 0;                   // by the controller, after that
  EndFacts end;
  std::vector<std::string> commits;      // their messages, where the version comes from Git
  std::vector<std::string> last_events;  // before the first violation, or before the end
  std::vector<std::string> violations;
  std::vector<std::string> disappointments;  // expectations that did not come true

  bool ok() const { return violations.empty() && disappointments.empty(); }
};

// What went wrong, the first broken invariant first, and what had happened before it.
struct Findings {
  std::vector<std::string> wrong;  // empty: nothing
  std::vector<std::string> last_events;
};
Findings findings_of(const RunSummary& run);

// With too few nodes (see check_nodes) nothing is run, which is a failed expectation.
RunSummary run_scenario(const Scenario& scenario, const RunOptions& options);

}  // namespace lockstep::sim
