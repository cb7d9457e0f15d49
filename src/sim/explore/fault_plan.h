// All that goes wrong in one run, as data: between the controller and its API, between the fleet
// and its API, in the machines, the controller killed after one of its writes, and what happens to
// nodes and what users do meanwhile. It can be drawn from a seed, printed, made smaller piece by
// piece, and put into any scenario.
//
//   SeededRandom random(seed);
//   FaultPlan plan = random_fault_plan(random, 0.5, {.nodes = 20});
//   add_faults(scenario, plan);
//
// calm() (world_faults.h) switches all of it off at once in a run that is in progress.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "kube/fault_api.h"
#include "sim/scenario/scenario.h"
#include "world/random.h"

namespace lockstep::sim {

struct FaultPlan {
  kube::FaultWeights controller;  // between the controller and its API
  kube::FaultWeights fleet;       // between kubelets, operator, scheduler … and their API
  std::vector<std::pair<NodeChoice, NodeBehaviour>> machines;
  // In the order of their times. Each names its own time, none builds on the one before: any of
  // them can be left out.
  std::vector<Interference> steps;

  // One line for each thing, for reports.
  std::vector<std::string> lines() const;
};

// What a random plan may touch.
struct FaultScope {
  int nodes = 5;
  Duration length = hours(1);  // every step is taken within it
  // The two versions between which users change their minds; the final one is `to`. Empty: the
  // version does not change.
  std::string from_version;
  std::string to_version;
  bool users = true;   // users cordon, relabel, pause, change the version
  bool world = true;   // nodes vanish, reboot, go NotReady; kubelets hang; drivers fail
  bool clock = true;   // the controller's wall clock is set
  bool fleet = false;  // the fleet's own requests fail too
};

// Strength 0: nothing; 1: a very bad day. The same random numbers give the same plan.
FaultPlan random_fault_plan(Random& random, double strength, const FaultScope& scope = {});

// Adds the plan to the scenario; its weights take the place of the scenario's.
void add_faults(Scenario& scenario, const FaultPlan& plan);

}  // namespace lockstep::sim
