// What the controllers show of each node: it has to be true, and a process that has only the API
// has to say the same.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "sim/actors/cluster.h"
#include "sim/oracle/observer.h"
#include "sim/oracle/witness.h"
#include "sim/scenario/run_controllers.h"
#include "sim/scenario/scenario.h"

namespace lockstep::sim {

class ShownReasons {
 public:
  // `observer` is the API of that process, `clock` the clock of the controllers.
  ShownReasons(const Scenario& scenario, Cluster& cluster, Loop& clock,
               const RunControllers& controllers, kube::Api& observer, uint64_t seed)
      : scenario_(scenario),
        cluster_(cluster),
        clock_(clock),
        controllers_(controllers),
        observer_(observer),
        random_(seed) {}

  // As `lockstep why` would say it now; what the controller last decided may be from long ago, for
  // nodes about which nothing has changed.
  Answers now() const;
  // `wait` lets the run go on.
  void check(Witness& witness, const std::function<void(Duration)>& wait);
  // The next check asks the observer in any case.
  void forget() { compared_.clear(); }

 private:
  void compare(Witness& witness, const std::function<void(Duration)>& wait);
  std::optional<Answers> ask();
  Answers that_differ();

  const Scenario& scenario_;
  Cluster& cluster_;
  Loop& clock_;
  const RunControllers& controllers_;
  kube::Api& observer_;
  SeededRandom random_;
  Answers compared_;  // with the observer, the last time
};

}  // namespace lockstep::sim
