#include "sim/actors/pod_run.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/strings.h"
#include "sim/actors/driver_image.h"
#include "sim/actors/driver_template.h"
#include "sim/actors/view.h"

namespace lockstep::sim {

namespace {

constexpr std::string_view run_annotation = "sim.lockstep.dev/run-seconds";
constexpr std::string_view stop_annotation = "sim.lockstep.dev/stop-seconds";
constexpr std::string_view ignore_stop_annotation = "sim.lockstep.dev/ignore-stop";

Duration seconds_in(const StringMap& annotations, std::string_view key) {
  auto number = parse_integer(annotations.get(key));
  return number && *number >= 0 ? seconds(*number) : Duration(-1);
}

Json termination(int32_t exit_code, Time started, Time ended, const std::string& words = {}) {
  JsonObject json{{"exitCode", exit_code},
                  {"reason", exit_code == 0 ? "Completed" : "Error"},
                  {"startedAt", format_rfc3339(started)},
                  {"finishedAt", format_rfc3339(ended)}};
  if (!words.empty()) json["message"] = words;
  return json;
}

Json state_of(const ContainerRun& container) {
  switch (container.state) {
    case ContainerRun::State::waiting: {
      JsonObject waiting{{"reason", container.reason}};
      if (!container.message.empty()) waiting["message"] = container.message;
      return JsonObject{{"waiting", std::move(waiting)}};
    }
    case ContainerRun::State::running:
      return JsonObject{{"running", JsonObject{{"startedAt", format_rfc3339(container.started)}}}};
    case ContainerRun::State::terminated:
      return JsonObject{{"terminated", termination(container.exit_code, container.started,
                                                   container.ended, container.last_words)}};
  }
  return JsonObject{};
}

JsonArray statuses_of(const std::vector<ContainerRun>& containers) {
  JsonArray statuses;
  for (const ContainerRun& container : containers) {
    JsonObject status{{"name", container.name.view()},
                      {"image", container.image.view()},
                      {"imageID", ""},
                      {"ready", container.ready},
                      {"started", container.state == ContainerRun::State::running},
                      {"restartCount", container.restarts},
                      {"state", state_of(container)},
                      {"lastState", JsonObject{}}};
    if (container.ended_before) {
      status["lastState"] =
          JsonObject{{"terminated", termination(container.last_exit_code, container.last_started,
                                                container.last_ended)}};
    }
    statuses.push_back(std::move(status));
  }
  return statuses;
}

Json condition(std::string_view type, bool holds, Time since, std::string_view reason = {}) {
  JsonObject condition{{"type", type},
                       {"status", holds ? "True" : "False"},
                       {"lastTransitionTime", format_rfc3339(since)}};
  if (!holds && !reason.empty()) condition["reason"] = reason;
  return condition;
}

std::vector<ContainerRun> runs_of(const std::vector<Container>& containers,
                                  std::string_view reason) {
  std::vector<ContainerRun> runs;
  for (const Container& container : containers) {
    ContainerRun& run = runs.emplace_back();
    run.name = container.name;
    run.image = container.image;
    run.reason = reason;
  }
  return runs;
}

}  // namespace

Role role_of(std::string_view ns, const StringMap& labels) {
  if (ns == tenant_namespace) return Role::workload;
  std::string_view app = labels.get("app");
  if (app == "nvidia-driver-daemonset" ||
      labels.get("app.kubernetes.io/component") == "nvidia-driver") {
    return Role::driver;
  }
  if (app == dra_daemon_set_name ||
      labels.get("dra-driver-nvidia-gpu-component") == "kubelet-plugin") {
    return Role::dra_plugin;
  }
  if (app == "nvidia-operator-validator") return Role::validator;
  return Role::workload;
}

std::string_view to_string(Role role) {
  constexpr std::array<std::string_view, 4> names{"workload", "driver", "dra-plugin", "validator"};
  return names.at(static_cast<size_t>(role));
}

std::string_view to_string(Step step) {
  constexpr std::array<std::string_view, 16> names{
      "prepare",       "init_run", "init_wait",  "init_done", "pull",    "pulled",
      "pull_back_off", "start",    "start_wait", "ready",     "running", "crash",
      "finish",        "finished", "stop",       "stopped"};
  return names.at(static_cast<size_t>(step));
}

PodRun::PodRun(ObjectKey key_in, Pod pod_in, const Json& document)
    : key(std::move(key_in)),
      pod(std::move(pod_in)),
      role(role_of(key.ns, pod.meta.labels)),
      uses_gpu(gpus_of(document.at("spec")) > 0 || sim::has_claims(document.at("spec"))),
      has_claims(sim::has_claims(document.at("spec"))),
      restarts(text_at(document, "spec", "restartPolicy") != "Never"),
      run_time(seconds_in(pod.meta.annotations, run_annotation)),
      stop_time(seconds_in(pod.meta.annotations, stop_annotation)),
      ignores_stop(pod.meta.annotations.contains(ignore_stop_annotation)),
      init_containers(runs_of(pod.spec.init_containers, "PodInitializing")),
      containers(runs_of(pod.spec.containers, pod.spec.init_containers.empty()
                                                  ? "ContainerCreating"
                                                  : "PodInitializing")),
      node_(pod.node_name.str()) {
  // A gate checks the GPUs for a while and ends.
  constexpr Duration gate_time = seconds(20);
  if (pod.meta.labels.contains(gate_label) && run_time < Duration(0)) run_time = gate_time;
}

bool PodRun::running() const {
  return std::any_of(containers.begin(), containers.end(), [](const ContainerRun& container) {
    return container.state == ContainerRun::State::running;
  });
}

std::string PodRun::driver_version() const {
  return containers.empty() ? std::string() : driver_version_of_image(containers.front().image);
}

std::string PodRun::driver_digest() const {
  const Text* digest = pod.spec.find_environment("DRIVER_CONFIG_DIGEST");
  return digest == nullptr ? std::string() : digest->str();
}

void PodRun::set_waiting(std::string_view reason, std::string_view message) {
  for (ContainerRun& container : containers) {
    container.state = ContainerRun::State::waiting;
    container.reason = reason;
    container.message = message;
    container.ready = false;
  }
}

void PodRun::begin(ContainerRun& container, Time now) {
  container.state = ContainerRun::State::running;
  container.started = now;
  container.message.clear();
}

void PodRun::end(ContainerRun& container, Time now, int32_t exit_code) {
  container.state = ContainerRun::State::terminated;
  container.ended = now;
  container.exit_code = exit_code;
  container.ready = false;
  container.ended_before = true;
  container.last_exit_code = exit_code;
  container.last_started = container.started;
  container.last_ended = now;
}

void PodRun::set_ready(bool ready_now, Time now) {
  for (ContainerRun& container : containers) container.ready = ready_now;
  if (ready != ready_now) ready_since = now;
  ready = ready_now;
}

Json status_of(const PodRun& run, std::string_view host_ip) {
  bool initialized = run.init_containers.empty() || run.init >= run.init_containers.size();
  Time initialized_since = run.initialized.is_set() ? run.initialized : run.started;
  Time ready_since = run.ready_since.is_set() ? run.ready_since : run.started;
  std::string_view not_ready =
      run.phase == PodPhase::succeeded ? "PodCompleted" : "ContainersNotReady";
  JsonArray conditions{
      condition("Initialized", initialized, initialized_since, "ContainersNotInitialized"),
      condition("Ready", run.ready, ready_since, not_ready),
      condition("ContainersReady", run.ready, ready_since, not_ready),
      condition("PodScheduled", true, run.started)};
  JsonObject status{{"phase", to_string(run.phase)},
                    {"startTime", format_rfc3339(run.started)},
                    {"hostIP", host_ip},
                    {"conditions", std::move(conditions)},
                    {"containerStatuses", statuses_of(run.containers)}};
  if (!run.init_containers.empty()) {
    JsonArray statuses = statuses_of(run.init_containers);
    for (Json& one : statuses) {
      // An init container that ended well counts as ready.
      const Json* exit = find(one, "state", "terminated", "exitCode");
      if (exit != nullptr && as_integer(exit, 1) == 0) one.as_object()["ready"] = true;
    }
    status["initContainerStatuses"] = std::move(statuses);
  }
  if (!run.phase_reason.empty()) status["reason"] = run.phase_reason;
  if (!run.phase_message.empty()) status["message"] = run.phase_message;
  if (host_ip.empty()) status.erase("hostIP");
  return status;
}

}  // namespace lockstep::sim
