// The fleet's upgrade at a moment, as values: what `status`, `why` and the demo show.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "data/json.h"
#include "fleet/reason.h"
#include "fleet/state.h"
#include "upgrade/decision.h"
#include "upgrade/slots.h"
#include "view/fleet_watch.h"

namespace lockstep::operate {

struct NodeStatus {
  std::string name;
  fleet::State state = fleet::State::unknown;
  Duration in_state{0};
  bool cordoned = false;
  bool ready = true;
  bool in_sync = false;
  bool driver_ready = false;
  std::string version;  // of the driver that runs
  int64_t gpu_pods = 0;
  fleet::Reason reason;
};

struct PoolStatus {
  std::string name;  // empty: the ClusterPolicy's
  std::string source;
  std::string target;  // the driver version that the DaemonSet would bring
  fleet::PoolCounts counts;
  upgrade::Limits limits;
  int64_t upgraded = 0;               // done and of the newest revision
  int64_t running = 0;                // have the newest driver ready, whatever their state
  std::string paused;                 // who paused it and why; empty: not paused
  std::optional<fleet::Reason> held;  // why no further node starts now
  std::vector<std::string> warnings;  // of the policy
  std::optional<Duration> time_left;  // by the pace of the last nodes
  std::vector<NodeStatus> nodes;      // in natural order
};

struct FleetStatus {
  Time at;
  std::optional<fleet::Reason> frozen;
  std::vector<PoolStatus> pools;
  std::string incomplete;  // why something only the controller knows is not in it; empty: it is
  std::vector<std::string> driver_namespaces = {};  // where drivers are searched for

  // No node waits and no upgrade is in progress.
  bool at_rest() const;
};

// What is counted of a pool's nodes one by one.
struct PoolSums {
  std::string target;
  int64_t upgraded = 0;
  int64_t running = 0;
  std::vector<Duration> finished;  // how long ago nodes came to their end, of the last hours

  // `in_state`: how long the node has been in its state.
  void add(bool runs_newest, bool is_upgraded, Duration in_state);
};
// All of a pool but its nodes.
PoolStatus look_at_pool(const view::FleetWatch& watch, const std::string& name, PoolSums sums);

FleetStatus look_at_fleet(view::FleetWatch& watch, Time now);
Json to_json(const FleetStatus& status);

}  // namespace lockstep::operate
