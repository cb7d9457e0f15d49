#include "sim/actors/kubelets.h"

#include <algorithm>
#include <utility>

#include "base/strings.h"
#include "objects/decode.h"

namespace lockstep::sim {

namespace {

kube::EventRecorderOptions event_options() {
  kube::EventRecorderOptions options;
  options.component = "kubelet";
  options.instance = "simulated";
  return options;
}

// A real node controller says of all pods of a node that was silent for a while that they are not
// ready; and a write of ours that was long on its way may come after a newer one.
bool is_overwritten(const GenericObject& shown, const PodRun& run) {
  bool has_ended = run.step == Step::finished;
  bool agrees = has_ended ? text_at(*shown.document, "status", "phase") == to_string(run.phase)
                          : !run.ready || is_shown_ready(*shown.document);
  if (agrees) return false;
  return run.written.empty() ||
         compare_versions(shown.meta.resource_version, run.written) == VersionOrder::newer;
}

}  // namespace

Kubelets::Kubelets(Parts parts, View& view, KubeletOptions options)
    : parts_(parts),
      view_(view),
      options_(std::move(options)),
      writer_(parts),
      agent_(parts, writer_, options_.lease_interval),
      events_(parts.api, parts.loop, parts.random, parts.log, event_options()) {
  ObjectCache& nodes = view_.nodes();
  if (options_.lease_interval > Duration(0)) {
    nodes.on_change(scope_.bind([this](const ObjectCache::Change& change) {
      if (change.after) agent_.see(*change.after->document);
    }));
  }
  view_.pods().on_change(
      scope_.bind([this](const ObjectCache::Change& change) { on_pod(change); }));
  view_.of(resource::resource_claims)
      .on_change(scope_.bind([this](const ObjectCache::Change& change) {
        if (change.after) on_claim(*change.after);
      }));
}

void Kubelets::add_node(Json node) {
  std::string name(text_at(node, "metadata", "name"));
  auto gpus = parse_integer(text_at(node, "status", "capacity", "nvidia.com/gpu"));
  NodeState& state = nodes_[name];
  state.machine = Machine(name, static_cast<int>(gpus.value_or(0)));
  state.claims = ClaimBook(options_.knows_error_type);
  if (auto at = options_.behaviours.find(name); at != options_.behaviours.end()) {
    state.machine.behaviour = at->second;
  }
  agent_.add(std::move(node));
}

void Kubelets::start() {
  agent_.start();
  for (auto& [name, state] : nodes_) {
    for (const NodeBehaviour::Outage& outage : state.machine.behaviour.outages) {
      parts_.loop.after(outage.from - parts_.loop.uptime(),
                        scope_.bind([this, node = name] { set_ready(node, false); }));
      parts_.loop.after(outage.to - parts_.loop.uptime(),
                        scope_.bind([this, node = name] { set_ready(node, true); }));
    }
  }
}

std::vector<std::string> Kubelets::node_names() const {
  std::vector<std::string> names;
  for (const auto& [name, state] : nodes_) names.push_back(name);
  return names;
}

const PodRun* Kubelets::find_run(const std::string& node, const ObjectKey& pod) const {
  const NodeState* state = nodes_.find(node);
  if (state == nullptr) return nullptr;
  auto at = state->runs.find(pod);
  return at == state->runs.end() ? nullptr : at->second.get();
}

void Kubelets::set_behaviour(const std::string& node, NodeBehaviour behaviour) {
  NodeState& state = nodes_.at(node);
  state.machine.behaviour = std::move(behaviour);
  resume(state);
  wake(state);
}

void Kubelets::set_ready(const std::string& node, bool ready) {
  NodeState& state = nodes_.at(node);
  if (state.gone) return;
  state.down = !ready;
  agent_.set_ready(node, ready);
  resume(state);
}

bool Kubelets::has_hung_driver(const std::string& node) const {
  const auto& runs = nodes_.at(node).runs;
  return std::any_of(runs.begin(), runs.end(), [](const auto& entry) {
    const PodRun& run = *entry.second;
    return run.role == Role::driver && run.step == Step::running && !run.ready;
  });
}

void Kubelets::crash_driver(const std::string& node) {
  NodeState& state = nodes_.at(node);
  auto runs = state.runs;
  for (const auto& [key, run] : runs) {
    if (run->role == Role::driver && run->running() && !run->deleting)
      enter_again(run, Step::crash);
  }
}

// Steps that came due while the kubelet hung.
void Kubelets::resume(NodeState& node) {
  if (node.hangs()) return;
  auto runs = node.runs;
  for (const auto& [key, run] : runs) {
    if (!run->stalled) continue;
    run->stalled = false;
    enter(run);
  }
}

void Kubelets::on_pod(const ObjectCache::Change& change) {
  NodeState* state = nodes_.find(node_of(change.object()));
  if (state == nullptr) return;
  NodeState& node = *state;
  ObjectKey key = change.object().meta.key();
  auto found = node.runs.find(key);
  // Found when the machine is on again.
  if ((node.off || node.gone) && found == node.runs.end()) return;
  if (found != node.runs.end() &&
      (!change.after || found->second->uid() != change.after->meta.uid)) {
    // Deleted by force, or by ourselves: nothing of it runs any more.
    Run run = found->second;
    parts_.loop.cancel(run->timer);
    node.runs.erase(found);
    leave_driver(node, run);
    end_claims(node, run);
    found = node.runs.end();
  }
  if (!change.after) return;
  if (found == node.runs.end()) {
    if (is_finished(*change.after)) {
      // No kubelet runs it; only its removal is still to be done.
      if (change.after->meta.is_deleting())
        writer_.send(remove_exactly(resource::pods, key, change.after->meta.uid, 0));
      return;
    }
    admit(node, *change.after);
    found = node.runs.find(key);
    if (found == node.runs.end()) return;
  }
  Run run = found->second;
  if (change.after->meta.is_deleting()) {
    begin_stop(node, run, change.after->meta);
  } else if (run->step == Step::prepare && run->has_claims && run->timer == 0) {
    auto pod = decode_object<Pod>(*change.after->document, context_);
    if (pod) run->pod.resource_claim_statuses = std::move(pod->resource_claim_statuses);
    enter(run);
  } else if (!run->writing && is_overwritten(*change.after, *run)) {
    publish(run);
  }
}

void Kubelets::on_claim(const GenericObject& claim) {
  const Json* consumers = find(*claim.document, "status", "reservedFor");
  if (consumers == nullptr || !consumers->is_array()) return;
  for (const Json& consumer : consumers->get_array()) {
    ObjectKey key{claim.meta.ns.str(), std::string(text_at(consumer, "name"))};
    Object pod = view_.pods().find(key);
    if (!pod) continue;
    NodeState* node = nodes_.find(node_of(*pod));
    if (node == nullptr) continue;
    auto at = node->runs.find(key);
    if (at == node->runs.end()) continue;
    Run run = at->second;
    if (run->step == Step::prepare && run->timer == 0 && !run->deleting) enter(run);
  }
}

void Kubelets::admit(NodeState& node, const GenericObject& object) {
  auto pod = decode_object<Pod>(*object.document, context_);
  if (!pod) {
    parts_.log.warning("cannot read a pod", {{"error", pod.error().text()}});
    return;
  }
  bool was_running = pod->phase == PodPhase::running;
  auto run = std::make_shared<PodRun>(object.meta.key(), std::move(*pod), *object.document);
  run->started = run->pod.started.is_set() ? run->pod.started : parts_.loop.now();
  node.runs.emplace(run->key, run);
  if (object.meta.is_deleting()) return;
  if (was_running) return adopt(node, run);
  publish(run);
  enter(run);
}

// A pod that ran before we did: the machine is found as such a pod would have left it.
void Kubelets::adopt(NodeState& node, const Run& run) {
  run->phase = PodPhase::running;
  run->init = run->init_containers.size();
  Time now = parts_.loop.now();
  for (ContainerRun& container : run->init_containers) run->end(container, run->started, 0);
  for (size_t i = 0; i < run->containers.size(); ++i) {
    bool known = i < run->pod.container_statuses.size();
    Time began = known ? run->pod.container_statuses[i].started : run->started;
    run->begin(run->containers[i], began.is_set() ? began : now);
    if (known) run->containers[i].restarts = run->pod.container_statuses[i].restarts;
  }
  run->ready_since = run->pod.ready_since;
  if (run->role == Role::driver && !node.machine.loaded()) {
    node.driver_uid = run->uid();
    node.machine.finish_load(run->driver_version(), run->driver_digest(), now);
  }
  // One module since the beginning, as far as is known.
  if (run->role == Role::dra_plugin) run->nvml = {1, false, node.machine.version()};
  if (run->pod.ready) {
    run->ready = true;
    for (ContainerRun& container : run->containers) container.ready = true;
    run->step = Step::running;
    if (run->run_time >= Duration(0)) go_to(run, Step::finish, scaled(node, run->run_time));
    wake(node);
    return;
  }
  enter_again(run, Step::ready);
}

void Kubelets::begin_stop(NodeState& node, const Run& run, const ObjectMeta& meta) {
  bool again = run->deleting;
  if (again && run->pod.meta.deletion_grace_seconds <= meta.deletion_grace_seconds) return;
  run->deleting = true;
  run->pod.meta.deletion_grace_seconds = meta.deletion_grace_seconds;
  parts_.loop.cancel(run->timer);
  run->timer = 0;
  run->stalled = false;
  run->step = Step::stop;
  if (run->ignores_stop) return;
  Duration stop = draw(node, options_.latencies.pod_stop);
  if (run->stop_time >= Duration(0)) stop = scaled(node, run->stop_time);
  if (!run->running()) stop = Duration(0);
  go_to(run, Step::stopped, std::min(stop, seconds(meta.deletion_grace_seconds)));
}

// Changes of one instant are one write.
void Kubelets::publish(const Run& run) {
  if (run->dirty) return;
  run->dirty = true;
  if (run->writing) return;
  parts_.loop.post(scope_.bind([this, weak = std::weak_ptr(run)] {
    if (Run alive = weak.lock()) write_status(alive);
  }));
}

void Kubelets::write_status(const Run& run) {
  if (!run->dirty || run->writing) return;
  run->dirty = false;
  run->writing = true;
  // Strategic: conditions that others wrote stay.
  kube::Request request =
      kube::patch(resource::pods, run->key, kube::PatchType::strategic,
                  JsonObject{{"metadata", JsonObject{{"uid", run->uid()}}},
                             {"status", status_of(*run, agent_.address(run->node()))}});
  request.subresource = "status";
  writer_.send(std::move(request),
               scope_.bind([this, weak = std::weak_ptr(run)](const Result<Document>& written) {
                 Run alive = weak.lock();
                 if (!alive) return;
                 alive->writing = false;
                 if (written) alive->written = text_at(**written, "metadata", "resourceVersion");
                 if (!written && written.error().kind != ErrorKind::not_found) {
                   parts_.log.warning(
                       "cannot write a pod's status",
                       {{"pod", alive->key.text()}, {"error", written.error().text()}});
                 }
                 if (alive->dirty) write_status(alive);
               }));
}

}  // namespace lockstep::sim
