// A simulation as data: a fleet, what is wrong with its machines, what users do, and what must hold
// at the end. scenarios/*.yaml are read into this; `lockstep simulate` and the tests run them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "data/json.h"
#include "data/strict_reader.h"
#include "fleet/reason.h"
#include "fleet/state.h"
#include "kube/fault_api.h"
#include "objects/int_or_percent.h"
#include "sim/actors/fleet_objects.h"
#include "sim/actors/machine.h"
#include "sim/actors/operator.h"

namespace lockstep::sim {

// Which machines: by number (1 is gpu-1), the first N, or every Nth.
struct NodeChoice {
  std::vector<int> numbers;
  int first = 0;
  int every = 0;

  bool includes(int number) const;
  // Names, in order, of a fleet of `nodes` nodes.
  std::vector<std::string> names(int nodes) const;
  // The highest number that it names.
  int highest() const;
};

// What must hold at the end, or at a check in between. What is not set is not asked.
struct Expectations {
  std::optional<std::string> done;  // "all", "none", "rest" (all that neither failed nor wait)
  std::optional<int64_t> done_count;
  std::optional<int64_t> failed;
  std::optional<NodeChoice> failed_nodes;        // these and no others
  std::optional<fleet::ReasonName> failed_with;  // the reason of every failed node
  std::optional<std::string> failure_says;       // part of the sentence of every failed node
  std::optional<bool> failures_told;             // of every failed node a Warning names its reason
  std::optional<NodeChoice> cordoned;            // these and no others are unschedulable
  std::optional<std::string> version;            // of the module of every node that is done
  // How many nodes have each version loaded; these versions and no others.
  std::optional<std::map<std::string, int64_t>> versions;
  std::optional<fleet::ReasonName> waiting_for;  // the reason of every node that waits
  std::optional<NodeChoice> waiting_nodes;       // these and no others are neither done nor failed
  std::vector<fleet::State> entered;             // some node was in each of these
  std::vector<fleet::State> never_entered;       // and none in any of these
  std::optional<int64_t> evictions;              // exact number
  std::optional<int64_t> evictions_at_least;
  std::optional<int64_t> driver_restarts;       // loads of the module, of all nodes together
  std::optional<std::string> claims_fail_with;  // preparations fail now, with this text
  std::optional<NodeChoice> claims_fail_on;     // on these nodes and no others
  // At some time one failed on a node that had come back from its upgrade.
  std::optional<std::string> claims_failed_with;
  std::optional<bool> claims_healthy;  // no preparation failed after its node came back
  std::optional<bool> claims_healed;   // none fails any more
  std::optional<std::vector<std::string>> work_failed;  // pods: these and no others
  std::optional<bool> work_runs;  // every pod of the work runs, or has finished
  // The controller wrote nothing: since the beginning, or in a check since the step before it.
  std::optional<bool> unchanged;
  // Of the rollout.
  std::optional<std::string> rollout_phase;
  std::optional<fleet::ReasonName> rollout_reason;
  std::optional<std::string> rollout_says;  // part of its message or of a wave's verdict
  std::optional<int64_t> waves_opened;
  // It has come to an end, all nodes are as that end says, or it is held and says why.
  std::optional<bool> rollout_settled;
  // Each is part of the message of a commit to the matrix: these, in order, and no others.
  std::optional<std::vector<std::string>> commits;
  // At the end: it went as `lockstep plan --assume-change` had said before the version changed.
  std::optional<bool> as_planned;
  // Of the post-install hook: how it ended ("rerolled", "running"), and part of what it said.
  std::optional<std::string> hook_ends;
  std::optional<std::string> hook_says;
  std::optional<double> makespan_at_most;         // as a multiple of the ideal
  std::optional<double> writes_per_node_at_most;  // besides evictions, events and leases
};

struct Interference {
  // When: a time after the begin of the upgrade; a time after the previous step; once a number of
  // nodes have been in a state. Whatever is set must hold.
  Duration at{0};
  std::optional<Duration> after;
  std::optional<fleet::State> state;
  IntOrPercent reached = IntOrPercent::count(1);
  bool promptly = false;  // at the very event that brings the state, not within a second
  std::string phase;      // once the rollout is in it
  bool rest = false;      // once nothing is in progress and nothing has changed for five minutes
  // What.
  std::string action;  // "setVersion", "setPolicy", "cordon", …
  Json value;
  NodeChoice nodes;
  IntOrPercent share;     // of the action "addClaims"
  NodeBehaviour machine;  // of the action "setMachine"
  Expectations check;     // of the action "check"
};

// How long a step stays in force, as an outage does; zero for a step without a duration.
Duration length_of(const Interference& step);

// What happens to the fleet and what users do, by weights (world_weights.h).
struct WorldWeights {
  std::map<std::string, double> weights;  // by kind: how many an hour, of each node or of the fleet
  Duration until = hours(1);              // then everything is repaired

  bool operator==(const WorldWeights&) const = default;
};

struct Scenario {
  std::string name;
  std::string about;
  FleetOptions fleet;
  int min_nodes = 1;  // with fewer it would not show what it is about
  int seeds = 0;      // how many its test tries at most; 0: as many as it likes
  // Numbers of the work that depend on how many nodes there are.
  std::vector<std::pair<int WorkloadOptions::*, IntOrPercent>> shares;
  OperatorOptions gpu_operator;
  Latencies latencies;
  std::vector<std::pair<NodeChoice, NodeBehaviour>> machines;
  std::string to_version;  // empty: the version does not change at the beginning
  // Comes with the version, and with it the annotation of the DRA plugin; empty: it does not.
  std::string to_chart = "v26.3.1";
  std::string key_domain = "nvidia.com";  // in which the controller keeps its memory
  bool reroll_clients = true;
  // The post-install hook (`lockstep reroll`) runs from the change of the version on, with so long
  // for the driver's migration; 0: no hook.
  Duration reroll_timeout{0};
  // The failure controller runs too, and does this with pods whose request is wrong.
  bool heal_plugins = false;
  bool fail_bad_configs = false;
  // Kubelets of KEP-5322: a pod whose claim can never be prepared has failed.
  bool permanent_failures = false;
  // The spec of a DriverRollout that is there before the version changes; null: none.
  Json rollout;
  // A GitOps tool applies the driver's object as users commit it, and restores after so long what
  // other clients change of it; 0: no tool (with a matrix there always is one).
  Duration self_heal{0};
  // Another controller, which knows nothing of waves, takes the nodes' steps: Lockstep holds nodes
  // by the label for which that controller skips them.
  bool conduct = false;
  // Labels of nodes, besides the usual ones.
  std::vector<std::pair<NodeChoice, JsonObject>> labels;
  // Nodes report their GPUs' health, and how often fatal XIDs happen on a busy node, per GPU-hour,
  // by driver version ("*": any other).
  bool health = false;
  std::map<std::string, double> xid_rates;
  int controllers = 1;           // all believe that they lead
  double controller_faults = 0;  // how badly the API treats the controller; 1 is a very bad day
  double fleet_faults = 0;       // and the fleet itself
  // The same fault by fault, instead of the strengths.
  std::optional<kube::FaultWeights> controller_weights;
  std::optional<kube::FaultWeights> fleet_weights;
  std::optional<WorldWeights> world;
  Duration limit = hours(24);
  // After everything has come to rest, or the limit: time for what is broken to show.
  Duration aftermath = minutes(10);
  std::vector<Interference> steps;
  Expectations expect;
};

// An error names the file, the key that is wrong and the nearest known one.
Result<Scenario> read_scenario(std::string_view text, std::string_view file);

// By driver version, each a number of events per GPU-hour.
std::map<std::string, double> read_rates(StrictReader& reader);

// The work of a fleet of `nodes` nodes.
WorkloadOptions workloads_of(const Scenario& scenario, int nodes);
// Whether it can be run with `nodes` nodes (0: as many as it says), and why not.
Result<void> check_nodes(const Scenario& scenario, int nodes);

}  // namespace lockstep::sim
