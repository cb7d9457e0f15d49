// The steps of a pod's life on its node.
#include <algorithm>

#include <fmt/format.h>

#include "sim/actors/kubelets.h"

namespace lockstep::sim {

Duration Kubelets::scaled(const NodeState& node, Duration duration) const {
  double factor = node.machine.behaviour.slowness / options_.latencies.speed;
  return nanoseconds(static_cast<int64_t>(static_cast<double>(duration.count()) * factor));
}

Duration Kubelets::draw(const NodeState& node, const Range& range) {
  return scaled(node, range.draw(parts_.random));
}

Duration Kubelets::back_off(const NodeState& node, int failures) const {
  const Range& range = options_.latencies.back_off;
  int doublings = std::clamp(failures - 1, 0, 20);
  return scaled(node, std::min(range.most, range.least * (int64_t{1} << doublings)));
}

void Kubelets::go_to(const Run& run, Step step, Duration delay) {
  run->step = step;
  parts_.loop.cancel(run->timer);
  run->timer = parts_.loop.after(delay, scope_.bind([this, weak = std::weak_ptr(run)] {
    Run alive = weak.lock();
    if (!alive) return;
    alive->timer = 0;
    enter(alive);
  }));
}

void Kubelets::enter_again(const Run& run, Step step) {
  parts_.loop.cancel(run->timer);
  run->timer = 0;
  run->step = step;
  enter(run);
}

void Kubelets::enter(const Run& run) {
  NodeState& node = nodes_.at(run->node());
  if (node.hangs()) {
    run->stalled = true;
    return;
  }
  switch (run->step) {
    case Step::prepare:
      return prepare(node, run);
    case Step::init_run:
      return begin_init(node, run);
    case Step::init_wait:
      return wait_init(node, run);
    case Step::init_done:
      return finish_init(run);
    case Step::pull: {
      const Text& image = run->containers.front().image;
      bool here = node.images.contains(image);
      return go_to(run, Step::pulled,
                   here ? Duration(0) : draw(node, options_.latencies.image_pull));
    }
    case Step::pulled:
      return finish_pull(node, run);
    case Step::pull_back_off:
      run->set_waiting("ImagePullBackOff", fmt::format("Back-off pulling image \"{}\"",
                                                       run->containers.front().image.view()));
      publish(run);
      return go_to(run, Step::pulled, back_off(node, run->pull_failures));
    case Step::start:
    case Step::start_wait:
      return start_containers(node, run);
    case Step::ready:
      return become_ready(node, run);
    case Step::crash:
      return crash(node, run);
    case Step::finish:
      return finish(node, run);
    case Step::stopped:
      return remove_stopped(node, run);
    case Step::running:
    case Step::finished:
    case Step::stop:
      return;
  }
}

void Kubelets::begin_init(NodeState& node, const Run& run) {
  ContainerRun& container = run->init_containers[run->init];
  run->begin(container, parts_.loop.now());
  publish(run);
  if (run->role == Role::validator) return enter_again(run, Step::init_wait);
  if (run->role == Role::driver) return enter_again(run, Step::init_wait);
  go_to(run, Step::init_done, draw(node, options_.latencies.init_container));
}

// What k8s-driver-manager does before the driver is loaded.
void Kubelets::manage_driver(NodeState& node, const Run& run) {
  if (!holds_driver(node, run)) return;
  const Text& name = run->init_containers[run->init].name;
  bool manager = name.view().find("driver-manager") != std::string_view::npos;
  std::string digest = run->driver_digest();
  bool same = !digest.empty() && digest == node.machine.digest();
  if (!manager || !node.machine.loaded() || same) {
    return go_to(run, Step::init_done, draw(node, options_.latencies.init_container));
  }
  unload_module(node, true);
  go_to(run, Step::init_done, draw(node, options_.latencies.driver_unload));
}

void Kubelets::wait_init(NodeState& node, const Run& run) {
  if (run->timer != 0) return;
  if (run->role == Role::driver) return manage_driver(node, run);
  if (!driver_ready(node)) return;
  if (applies_to(node.machine.behaviour.validation_fails, node.machine.version())) return;
  go_to(run, Step::init_done, draw(node, options_.latencies.validator_run));
}

void Kubelets::finish_init(const Run& run) {
  NodeState& node = nodes_.at(run->node());
  if (run->role == Role::driver && node.machine.module() == Machine::Module::unloading) {
    node.machine.finish_unload();
    // It has moved every pod, as it believes, and restores the node.
    if (node.machine.behaviour.manager_uncordons) {
      writer_.send(merge_patch(resource::nodes, {"", node.machine.name()},
                               JsonObject{{"spec", JsonObject{{"unschedulable", nullptr}}}}));
    }
  }
  run->end(run->init_containers[run->init], parts_.loop.now(), 0);
  ++run->init;
  if (run->init < run->init_containers.size()) return enter_again(run, Step::init_run);
  run->initialized = parts_.loop.now();
  publish(run);
  enter_again(run, Step::pull);
}

void Kubelets::finish_pull(NodeState& node, const Run& run) {
  const Text& image = run->containers.front().image;
  const std::string version = run->driver_version();
  bool fails = run->role == Role::driver &&
               (version.empty() || applies_to(node.machine.behaviour.image_pull_fails, version));
  if (!fails) {
    run->pull_failures = 0;
    for (const ContainerRun& container : run->containers) node.images.insert(container.image);
    return enter_again(run, Step::start);
  }
  ++run->pull_failures;
  run->set_waiting("ErrImagePull",
                   fmt::format("rpc error: code = NotFound desc = failed to pull and unpack image "
                               "\"{0}\": failed to resolve reference \"{0}\": {0}: not found",
                               image.view()));
  publish(run);
  go_to(run, Step::pull_back_off, scaled(node, seconds(2)));
}

void Kubelets::start_containers(NodeState& node, const Run& run) {
  bool needs_driver = (run->role == Role::workload && run->uses_gpu && !node.machine.loaded()) ||
                      (run->role == Role::dra_plugin && !node.machine.loaded_since_boot());
  if (needs_driver || (run->role == Role::driver && !holds_driver(node, run))) {
    run->step = Step::start_wait;
    return;
  }
  Time now = parts_.loop.now();
  for (ContainerRun& container : run->containers) run->begin(container, now);
  run->phase = PodPhase::running;
  publish(run);
  const Latencies& latencies = options_.latencies;
  Step next = Step::ready;
  Duration delay{0};
  switch (run->role) {
    case Role::driver:
      delay = start_driver(node, run, next);
      if (next == Step::running) {
        run->step = next;
        return;
      }
      break;
    case Role::dra_plugin:
      run->nvml = node.machine.open_nvml();
      delay = draw(node, latencies.client_start);
      break;
    case Role::validator:
      delay = draw(node, latencies.client_start);
      break;
    case Role::workload:
      delay = draw(node, latencies.workload_start);
      break;
  }
  go_to(run, next, delay);
}

void Kubelets::become_ready(NodeState& node, const Run& run) {
  if (run->role == Role::driver) finish_driver(node, run);
  run->set_ready(true, parts_.loop.now());
  publish(run);
  run->step = Step::running;
  if (run->role == Role::driver) wake(node);
  if (run->role == Role::dra_plugin) publish_slice(node, run);
  if (run->run_time >= Duration(0)) go_to(run, Step::finish, scaled(node, run->run_time));
}

void Kubelets::crash(NodeState& node, const Run& run) {
  Time now = parts_.loop.now();
  for (ContainerRun& container : run->containers) {
    run->end(container, now, 1);
    ++container.restarts;
  }
  ++run->crashes;
  if (run->role == Role::driver && node.machine.module() == Machine::Module::loading)
    node.machine.abort_load();
  run->set_ready(false, now);
  Duration wait = back_off(node, run->crashes);
  run->set_waiting(
      "CrashLoopBackOff",
      fmt::format("back-off {} restarting failed container={} pod={}_{}({})", format_duration(wait),
                  run->containers.front().name.view(), run->key.name, run->key.ns, run->uid()));
  publish(run);
  go_to(run, Step::start, wait);
}

namespace {

// What `lockstep gate` leaves in its termination message, as far as rollouts read it.
std::string words_of_gate(std::string_view gate, const Machine& machine) {
  const auto& speeds = machine.behaviour.gate_speeds;
  auto at = speeds.find(machine.version());
  if (at == speeds.end()) at = speeds.find("*");
  if (at == speeds.end()) return {};
  JsonObject result{{"check", gate}, {"verdict", "Passed"}};
  if (gate == "inference") result["measured"] = JsonObject{{"tflops", at->second}};
  return print_json(JsonObject{{"verdict", "Passed"}, {"results", JsonArray{std::move(result)}}});
}

}  // namespace

void Kubelets::finish(NodeState& node, const Run& run) {
  Time now = parts_.loop.now();
  const NodeBehaviour& behaviour = node.machine.behaviour;
  bool fails = run->pod.meta.labels.contains(gate_label) &&
               applies_to(behaviour.gate_fails, node.machine.version());
  int exit_code = fails ? behaviour.gate_exit_code : 0;
  std::string words;
  if (std::string_view gate = run->pod.meta.labels.get(gate_label); !gate.empty() && !fails) {
    words = words_of_gate(gate, node.machine);
  }
  for (ContainerRun& container : run->containers) {
    run->end(container, now, exit_code);
    container.last_words = words;
  }
  run->set_ready(false, now);
  run->phase = fails ? PodPhase::failed : PodPhase::succeeded;
  run->step = Step::finished;
  publish(run);
  end_claims(node, run);
}

void Kubelets::remove_stopped(NodeState& node, const Run& run) {
  Time now = parts_.loop.now();
  for (ContainerRun& container : run->containers) {
    if (container.state == ContainerRun::State::running) run->end(container, now, 0);
  }
  leave_driver(node, run);
  end_claims(node, run);
  writer_.send(remove_exactly(resource::pods, run->key, run->uid(), 0));
}

}  // namespace lockstep::sim
