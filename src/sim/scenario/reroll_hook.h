// The post-install hook of a run: `lockstep reroll` as a deployer starts it with the new version,
// beside the controllers and with its own view of the cluster.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "controller/reroller.h"
#include "sim/actors/cluster.h"
#include "sim/scenario/scenario.h"

namespace lockstep::sim {

class RerollHook {
 public:
  RerollHook(const Scenario& scenario, Cluster& cluster, uint64_t seed)
      : scenario_(scenario), cluster_(cluster), random_(seed * 13 + 7) {}

  // Where the scenario has one.
  void start();
  bool is_over() const { return !reroller_ || reroller_->outcome(); }
  // "rerolled", "failed", "running"; empty: no hook.
  std::string end() const;
  std::string text() const;

 private:
  const Scenario& scenario_;
  Cluster& cluster_;
  SeededRandom random_;
  SilentLog log_;
  std::unique_ptr<controller::Reroller> reroller_;
};

}  // namespace lockstep::sim
