// What the controller will do from here on if nothing else changes: the decisions about nodes,
// slots and rollouts (decide, choose_starts, decide_rollout), run forward in virtual time over
// values. `lockstep plan` and the dashboard show it, and the simulator compares it with what then
// happens.
//
// What the decisions cannot know is assumed: a driver restart succeeds, gates pass, GPUs are as
// busy as now, and an approval is given as soon as it is asked for.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "fleet/node_view.h"
#include "objects/pod_disruption_budget.h"
#include "rollout/bake.h"
#include "rollout/rollout_gate.h"
#include "rollout/rollout_view.h"
#include "rollout/window.h"
#include "upgrade/decision.h"

namespace lockstep::rollout {

// How long things take.
struct Pace {
  Duration node = minutes(5);   // one node, but for its jobs and for refused evictions
  Duration gates = minutes(5);  // all gates of a wave
  Duration pod = minutes(1);    // until a pod that was evicted runs elsewhere
};

struct ForwardNode {
  fleet::NodeView view;
  std::string rollout;  // by whose waves it goes; empty: none
  int64_t gpus = 0;
  bool busy = false;            // a GPU pod runs there
  bool reports_health = false;  // of its GPUs, for bakes
};

struct ForwardPool {
  upgrade::Policy policy;  // before what a wave adds
  std::optional<Reason> frozen;
  std::string rollout;  // whose open wave limits it; empty: none
};

struct ForwardRollout {
  RolloutView view;                 // its nodes are filled in by the run
  RolloutGate gate;                 // its status is filled in by the run
  std::optional<BakeVerdict> bake;  // of the bake in progress, so far
  std::string matrix_obstacle;      // what the version matrix says against a rollback
  std::string matrix_unread;        // why it could not be read; the controller reads it itself
};

// Where a forward run begins. All of it is values: the same snapshot gives the same plan.
struct Snapshot {
  Time now;
  upgrade::Rules rules;
  TimeZones zones;
  std::vector<ForwardNode> nodes;  // in natural order
  std::map<std::string, ForwardPool> pools;
  std::map<std::string, ForwardRollout> rollouts;
  std::vector<std::shared_ptr<const PodDisruptionBudget>> budgets;
};

// A new driver version for every node, as it would be if it were set now. The rollouts note first
// which version ran until then, as they do before any change.
void assume_change(Snapshot& snapshot);

enum class PlannedEnd { done, failed, stuck, not_started };
std::string_view to_string(PlannedEnd end);

struct PlannedNode {
  std::string name;
  std::string pool;
  std::string rollout;
  std::string wave;                            // empty: in none that opens
  fleet::State state = fleet::State::unknown;  // now
  std::optional<Duration> start;               // from now; nothing: it does not start
  std::optional<Duration> end;                 // when it is done or fails
  PlannedEnd outcome = PlannedEnd::not_started;
  Reason reason;  // why it does not start, or fails, or does not end
  int64_t gpus = 0;
  int64_t jobs = 0;  // Jobs among the owners of the pods that are moved
  bool restart_only = false;
  bool stays_cordoned = false;
  std::vector<std::string> moved;    // pods that are evicted
  std::vector<std::string> waited;   // pods that are waited for first
  bool waits_unlimited = false;      // for these, and how long is not known
  std::vector<std::string> blocked;  // pods that may not be evicted, and what would help
};

// One line on the time axis.
struct PlannedEvent {
  Duration at{0};  // from now
  std::string rollout;
  std::string wave;
  std::string text;
};

struct PlannedWave {
  std::string name;
  std::string selection;           // "10% of all"
  std::vector<std::string> nodes;  // empty: it does not open
  std::vector<std::string> gates;
  int64_t gpus = 0;
  int64_t moved_pods = 0;
  int64_t jobs = 0;
  int64_t blocked_nodes = 0;
  double gpu_hours_lost = 0;
  bool needs_approval = false;
  std::optional<Duration> opens;     // from now
  std::optional<Duration> upgraded;  // its last node
  std::optional<Duration> passes;
};

struct PlannedRollout {
  std::string name;
  std::string phase;  // now
  std::string from;
  std::string to;
  std::string rollback;         // how it is rolled back if a wave fails
  std::vector<Reason> refused;  // why it would not start
  std::vector<PlannedWave> waves;
  std::vector<std::string> excluded;  // nodes that it leaves out, each with why
  Phase end_phase = Phase::pending;
  Reason end;  // what it comes to
};

struct Plan {
  Time now;
  std::vector<Reason> refused;      // why no node of a pool would start
  std::vector<PlannedNode> nodes;   // in the order in which they start, then those that do not
  std::vector<std::string> failed;  // nodes that have failed and wait for a retry
  std::vector<PlannedRollout> rollouts;
  std::vector<PlannedEvent> events;
  int64_t most_at_once = 0;
  Duration duration{0};  // until the last node and the last rollout come to their end
  bool is_cut = false;   // it goes on beyond the horizon of the plan
};

// Whatever refuses a start as a whole (a switch, another controller, no rollback) is named, and the
// run goes on as if it were solved: the plan says both.
Plan run_forward(Snapshot snapshot, const Pace& pace);

}  // namespace lockstep::rollout
