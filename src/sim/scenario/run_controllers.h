// The controllers of a run: as many as the scenario has, each with the parts that it asks for. They
// all believe to lead.
#pragma once

#include <memory>
#include <vector>

#include "controller/failure_controller.h"
#include "controller/rollout_controller.h"
#include "controller/upgrade_controller.h"
#include "sim/actors/cluster.h"
#include "sim/actors/nvidia_controller.h"
#include "sim/oracle/witness.h"
#include "sim/scenario/observed_api.h"
#include "sim/scenario/rollout_part.h"
#include "sim/scenario/scenario.h"

namespace lockstep::sim {

class RunControllers {
 public:
  RunControllers(const Scenario& scenario, Cluster& cluster, Loop& clock, Random& random,
                 RolloutPart& rollout)
      : scenario_(scenario), cluster_(cluster), clock_(clock), random_(random), rollout_(rollout) {}

  // Those that live end as a killed process does.
  void start(kube::Api& api, Witness& witness);
  void clear();
  bool empty() const { return upgrades_.empty() && watches_.empty(); }
  // Only where there is one.
  const view::FleetWatch& watch() const {
    return upgrades_.empty() ? *watches_.front() : upgrades_.front()->watch();
  }
  // The options of each controller's watches, which every other reader uses, too.
  view::FleetWatchOptions fleet_options() const;
  // What it last decided; nothing where the nodes' steps are NVIDIA's.
  std::map<std::string, fleet::Reason> reasons() const;

 private:
  kube::Api& own_api(kube::Api& api, Witness& witness);
  void start_rollouts(kube::Api& api, controller::UpgradeController& upgrade);
  void start_conducting(kube::Api& api);
  void start_failures(kube::Api& api, controller::UpgradeController& upgrade);

  const Scenario& scenario_;
  Cluster& cluster_;
  Loop& clock_;
  Random& random_;
  RolloutPart& rollout_;
  SilentLog log_;
  int lives_ = 0;
  std::vector<std::unique_ptr<ObservedApi>> own_apis_;
  std::vector<std::unique_ptr<controller::UpgradeController>> upgrades_;
  std::vector<std::unique_ptr<view::FleetWatch>> watches_;  // of those that coordinate
  // Beside our controllers; it is not one of them, and survives when they are killed.
  std::unique_ptr<NvidiaController> nvidia_;
  std::vector<std::unique_ptr<controller::RolloutController>> rollouts_;
  std::vector<std::unique_ptr<controller::FailureController>> failures_;
};

}  // namespace lockstep::sim
