// The steps of a scenario that disturb the world around a controller: the API server goes away,
// watches fall silent, the clock is set, nodes reboot, vanish and come back under the same name,
// kubelets hang. And the end of all that: calm().
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "base/result.h"
#include "kube/fault_api.h"
#include "sim/cluster.h"
#include "sim/scenario.h"
#include "sim/shifted_loop.h"

namespace lockstep::sim {

class WorldFaults {
 public:
  // `network` and `weights` stand between the controller and its API, `clock` is what it is given
  // as its loop.
  WorldFaults(Cluster& cluster, kube::FaultApi& network, kube::RandomFaults& weights,
              ShiftedLoop& clock);
  WorldFaults(const WorldFaults&) = delete;
  WorldFaults& operator=(const WorldFaults&) = delete;

  // Whether the action is one of these; false: somebody else's.
  static bool knows(const std::string& action);
  // Takes a step of a fleet that began with so many nodes.
  Result<void> take(const Interference& step, int nodes);

  // Everything is well again, at once: no fault at the API, no outage, every machine that still
  // exists is up, sound and Ready, people have taken back their pauses, skips and cordons. What was
  // done to versions and policies stays.
  void calm();

  // How often each action was taken, by its name.
  const std::map<std::string, uint64_t>& taken() const { return taken_; }

 private:
  Result<void> take_on_node(const Interference& step, const std::string& node);
  Result<void> delete_node(const std::string& node);
  Result<void> recreate_driver_pod(const std::string& node);
  Result<void> recreate_daemon_set();
  void undo_what_people_did();
  // Ends what was begun: after this long, or with calm().
  void later(Duration delay, std::function<void()> end);

  Cluster& cluster_;
  kube::FaultApi& network_;
  kube::RandomFaults& weights_;
  ShiftedLoop& clock_;
  std::map<uint64_t, std::function<void()>> ends_;
  uint64_t next_end_ = 1;
  std::map<std::string, uint64_t> taken_;
  Scope scope_;
};

}  // namespace lockstep::sim
