// Machines that are switched off, come back, vanish and are replaced.
#include "sim/actors/kubelets.h"

namespace lockstep::sim {

void Kubelets::set_hung(const std::string& node, bool hung) {
  NodeState& state = nodes_.at(node);
  state.hung = hung;
  resume(state);
}

void Kubelets::switch_off(const std::string& node) {
  NodeState& state = nodes_.at(node);
  if (state.gone || state.off) return;
  state.off = true;
  state.machine.switch_off();
  state.claims.restart();
  for (const auto& [key, run] : state.runs) {
    parts_.loop.cancel(run->timer);
    run->timer = 0;
    run->stalled = false;
  }
  agent_.set_ready(node, false);
}

void Kubelets::switch_on(const std::string& node) {
  NodeState& state = nodes_.at(node);
  if (state.gone || !state.off) return;
  state.off = false;
  agent_.set_ready(node, !state.down);
  auto runs = state.runs;
  for (const auto& [key, run] : runs) start_anew(run);
  admit_all(state);
}

void Kubelets::write_allocatable(const NodeState& node, int gpus) {
  writer_.send(status_patch(
      resource::nodes, {"", node.machine.name()},
      JsonObject{{"allocatable", JsonObject{{"nvidia.com/gpu", std::to_string(gpus)}}}}));
}

void Kubelets::break_gpus(const std::string& node) {
  NodeState& state = nodes_.at(node);
  if (state.gone || state.off) return;
  const Time now = parts_.loop.now();
  auto runs = state.runs;
  for (const auto& [key, run] : runs) {
    if (run->role != Role::workload || !run->uses_gpu || !run->running() || run->deleting) continue;
    parts_.loop.cancel(run->timer);
    run->timer = 0;
    for (ContainerRun& container : run->containers) {
      if (container.state == ContainerRun::State::running) run->end(container, now, 1);
    }
    run->set_ready(false, now);
    run->phase = PodPhase::failed;
    run->phase_message = "CUDA error: an illegal instruction was encountered";
    run->step = Step::finished;
    publish(run);
    end_claims(state, run);
  }
  write_allocatable(state, 0);
  const int time = ++state.broken;
  parts_.loop.after(scaled(state, minutes(20)), scope_.bind([this, node, time] {
    const NodeState& later = nodes_.at(node);
    if (later.broken == time && !later.gone) write_allocatable(later, later.machine.gpus());
  }));
}

// What was bound to the node while its kubelet was not running.
void Kubelets::admit_all(NodeState& node) {
  for (const Object& pod : view_.pods().find_all("node", node.machine.name())) {
    if (node.runs.contains(pod->meta.key())) continue;
    if (pod->meta.is_deleting()) {
      // It never ran here: only its removal is still to be done.
      writer_.send(remove_exactly(resource::pods, pod->meta.key(), pod->meta.uid, 0));
    } else if (!is_finished(*pod)) {
      admit(node, *pod);
    }
  }
}

// What a kubelet does with the pods that it finds after a reboot.
void Kubelets::start_anew(const Run& run) {
  if (run->step == Step::finished) return;
  Time now = parts_.loop.now();
  for (ContainerRun& container : run->containers) {
    if (container.state != ContainerRun::State::running) continue;
    run->end(container, now, 255);
    ++container.restarts;
  }
  if (run->ready) run->set_ready(false, now);
  if (run->deleting) return enter_again(run, Step::stopped);
  bool has_begun = run->phase == PodPhase::running;
  if (has_begun && !run->restarts) {
    run->phase = PodPhase::failed;
    run->step = Step::finished;
    end_claims(nodes_.at(run->node()), run);
    return publish(run);
  }
  run->init = 0;
  for (ContainerRun& container : run->init_containers) {
    container.state = ContainerRun::State::waiting;
    container.reason = "PodInitializing";
  }
  publish(run);
  enter_again(run, Step::prepare);
}

void Kubelets::take_away(const std::string& node) {
  switch_off(node);
  NodeState& state = nodes_.at(node);
  state.gone = true;
  state.runs.clear();
  state.claims = ClaimBook(options_.knows_error_type);
  state.driver_uid.clear();
  state.images.clear();
}

void Kubelets::bring_back(const std::string& node) {
  NodeState& state = nodes_.at(node);
  if (!state.gone) return;
  state.gone = state.off = state.down = state.hung = false;
  agent_.register_again(node);
  admit_all(state);
}

}  // namespace lockstep::sim
