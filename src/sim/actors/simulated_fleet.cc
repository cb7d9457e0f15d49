#include "sim/actors/simulated_fleet.h"

#include <utility>

namespace lockstep::sim {

SimulatedFleet::SimulatedFleet(Parts parts, SimulatedFleetOptions options)
    : parts_(parts), options_(std::move(options)), writer_(parts), view_(parts) {
  const Actors& actors = options_.actors;
  if (actors.kubelets) {
    kubelets_ = std::make_unique<Kubelets>(parts_, view_, options_.kubelets);
    for (int i = 0; i < options_.fleet.nodes; ++i)
      kubelets_->add_node(node_object(i, options_.fleet, parts_.loop.now()));
  }
  if (actors.daemon_sets)
    daemon_sets_ = std::make_unique<DaemonSetController>(parts_, view_, options_.daemon_sets);
  if (actors.workloads) {
    workloads_ = std::make_unique<WorkloadControllers>(parts_, view_);
    claims_ = std::make_unique<ClaimController>(parts_, view_);
    scheduler_ = std::make_unique<Scheduler>(parts_, view_);
    collector_ = std::make_unique<PodCollector>(parts_, view_);
  }
  if (actors.gpu_operator)
    operator_ = std::make_unique<GpuOperator>(parts_, view_, options_.gpu_operator);
}

void SimulatedFleet::start() {
  if (options_.actors.objects) to_load_ = fleet_requests(options_.fleet);
  load_next();
}

// One after the other: objects in a namespace need it, and objects of a custom kind need that.
void SimulatedFleet::load_next() {
  if (loaded_ == to_load_.size()) return start_actors();
  writer_.send(to_load_[loaded_], scope_.bind([this](const Result<Document>& created) {
    if (created || created.error().kind == ErrorKind::exists) {
      ++loaded_;
      tries_ = 0;
      return load_next();
    }
    // A real API server takes a moment to serve a kind that was defined just now.
    bool may_come = created.error().kind == ErrorKind::not_found && ++tries_ < 60;
    if (may_come) {
      parts_.loop.after(milliseconds(500), scope_.bind([this] { load_next(); }));
      return;
    }
    trouble_ = created.error().at(to_load_[loaded_].describe());
    parts_.log.error("cannot load an object of the fleet", {{"error", trouble_->text()}});
    ++loaded_;
    tries_ = 0;
    load_next();
  }));
}

void SimulatedFleet::start_actors() {
  started_ = true;
  view_.start();
  if (kubelets_) kubelets_->start();
}

bool SimulatedFleet::running() const { return started_ && view_.synced(); }

}  // namespace lockstep::sim
