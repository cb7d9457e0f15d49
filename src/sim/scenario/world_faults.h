// The steps of a scenario that disturb the world around a controller: the API server goes away,
// watches fall silent, the clock is set, nodes reboot, vanish and come back under the same name,
// kubelets hang. And the end of all that: calm().
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/result.h"
#include "kube/fault_api.h"
#include "sim/actors/cluster.h"
#include "sim/scenario/scenario.h"
#include "sim/scenario/shifted_loop.h"
#include "sim/scenario/version_history.h"

namespace lockstep::sim {

class WorldFaults {
 public:
  // `network` and `weights` are between the controller and its API, `clock` is what it is given as
  // its loop.
  WorldFaults(Cluster& cluster, kube::FaultApi& network, kube::RandomFaults& weights,
              ShiftedLoop& clock);
  ~WorldFaults();
  WorldFaults(const WorldFaults&) = delete;
  WorldFaults& operator=(const WorldFaults&) = delete;

  // Takes a step of a fleet that began with `nodes` nodes. Nothing: the step is not a fault.
  std::optional<Result<void>> take(const Interference& step, int nodes);

  // Everything recovers at once: no fault at the API, no outage, every machine that still exists is
  // up, sound and Ready, users have reverted their pauses, skips and cordons. What was done to
  // versions and policies stays. A machine that has loaded another driver than its pod says is
  // rebooted, which takes a minute; clients of a driver that a step crashed are restarted.
  void calm();

  // How often each action was taken, by its name.
  const std::map<std::string, uint64_t>& taken() const { return taken_; }

 private:
  using Action = Result<void> (WorldFaults::*)(const Interference& step);
  using NodeAction = Result<void> (WorldFaults::*)(const Interference& step,
                                                   const std::string& node);
  static const std::map<std::string, Action, std::less<>>& actions();
  static const std::map<std::string, NodeAction, std::less<>>& node_actions();

  Result<void> heal(const Interference& step);
  Result<void> outage(const Interference& step);
  Result<void> partition(const Interference& step);
  Result<void> silence_watches(const Interference& step);
  Result<void> drop_watches(const Interference& step);
  Result<void> older_replica(const Interference& step);
  Result<void> clock_step(const Interference& step);
  Result<void> recreate_daemon_set(const Interference& step);
  Result<void> set_driver_strategy(const Interference& step);
  Result<void> give_way(const Interference& step);
  Result<void> imitate_driver(const Interference& step);

  Result<void> not_ready_for(const Interference& step, const std::string& node);
  Result<void> reboot(const Interference& step, const std::string& node);
  Result<void> hang(const Interference& step, const std::string& node);
  Result<void> delete_node(const Interference& step, const std::string& node);
  Result<void> recreate_node(const Interference& step, const std::string& node);
  Result<void> recreate_driver_pod(const Interference& step, const std::string& node);
  Result<void> delete_driver_pod(const Interference& step, const std::string& node);
  Result<void> crash_driver(const Interference& step, const std::string& node);
  Result<void> relabel(const Interference& step, const std::string& node);
  Result<void> set_machine(const Interference& step, const std::string& node);

  void remove_pods_of(const std::string& node);
  void undo_what_people_did();
  // Only a user renews the clients of a driver that was loaded again outside an upgrade.
  void renew_clients(const std::string& node);
  // The driver pod is ready, and another version than it says is loaded.
  bool has_wrong_driver(const std::string& node);
  // Ends what was begun: after this long, or with calm().
  void later(Duration delay, std::function<void()> end);

  Cluster& cluster_;
  kube::FaultApi& network_;
  kube::RandomFaults& weights_;
  ShiftedLoop& clock_;
  VersionHistory history_;
  std::map<uint64_t, std::function<void()>> ends_;
  uint64_t next_end_ = 1;
  std::map<std::string, uint64_t> taken_;
  std::set<std::string> reloaded_;  // nodes whose drivers a step made load again
  Scope scope_;
};

}  // namespace lockstep::sim
