// A whole simulated GPU fleet on any Kubernetes API, in virtual or in real time: loads its objects,
// registers its nodes and starts the actors that were asked for.
//
//   SimulatedFleet fleet(Parts{api, loop, random, log}, options);
//   fleet.start();                       // asynchronous, on the loop
//   … fleet.running() …                  // objects are loaded and every cache is filled
//
// A real control plane has its own controllers and scheduler: options.actors =
// Actors::beside_controllers().
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "sim/actors/claim_controller.h"
#include "sim/actors/daemon_set_controller.h"
#include "sim/actors/fleet_objects.h"
#include "sim/actors/kubelets.h"
#include "sim/actors/operator.h"
#include "sim/actors/parts.h"
#include "sim/actors/pod_collector.h"
#include "sim/actors/scheduler.h"
#include "sim/actors/view.h"
#include "sim/actors/workload_controllers.h"

namespace lockstep::sim {

struct Actors {
  bool objects = true;  // load the fleet's objects
  bool kubelets = true;
  bool daemon_sets = true;  // the DaemonSet controller
  bool workloads = true;    // Deployments, Jobs, claims from templates, and the scheduler
  bool gpu_operator = true;

  static Actors nodes_only() { return {false, true, false, false, false}; }
  // For a real control plane, which has its own controllers and scheduler: all the rest.
  static Actors beside_controllers() { return {true, true, false, false, true}; }
};

struct SimulatedFleetOptions {
  FleetOptions fleet;
  KubeletOptions kubelets;
  OperatorOptions gpu_operator;
  DaemonSetOptions daemon_sets;
  Actors actors;
};

class SimulatedFleet {
 public:
  SimulatedFleet(Parts parts, SimulatedFleetOptions options);
  SimulatedFleet(const SimulatedFleet&) = delete;
  SimulatedFleet& operator=(const SimulatedFleet&) = delete;

  void start();
  // All objects are loaded and every cache has seen the cluster.
  bool running() const;
  // Why it does not get there, if it does not: the last object that was refused.
  const std::optional<Error>& trouble() const { return trouble_; }

  // The truth, and faults. Only with the kubelets among the actors.
  Kubelets& kubelets() { return *kubelets_; }
  const Kubelets& kubelets() const { return *kubelets_; }
  const View& view() const { return view_; }

 private:
  void load_next();
  void start_actors();

  Parts parts_;
  SimulatedFleetOptions options_;
  Writer writer_;
  View view_;
  std::unique_ptr<Kubelets> kubelets_;
  std::unique_ptr<DaemonSetController> daemon_sets_;
  std::unique_ptr<GpuOperator> operator_;
  std::unique_ptr<WorkloadControllers> workloads_;
  std::unique_ptr<ClaimController> claims_;
  std::unique_ptr<Scheduler> scheduler_;
  std::unique_ptr<PodCollector> collector_;
  std::vector<kube::Request> to_load_;
  size_t loaded_ = 0;
  int tries_ = 0;
  bool started_ = false;
  std::optional<Error> trouble_;
  Scope scope_;
};

}  // namespace lockstep::sim
