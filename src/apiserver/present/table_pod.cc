// Pods: READY, STATUS and RESTARTS are each a summary of all containers.
#include <fmt/format.h>

#include "apiserver/present/table_printers.h"

namespace lockstep::apiserver {

namespace {

// When the node that runs a pod stops answering, its pods carry this reason.
constexpr std::string_view node_lost = "NodeLost";

// Restarts and the last of them, over several containers.
struct Restarts {
  int64_t count = 0;
  Time last;

  void add(const Json& status) {
    count += as_integer(find(status, "restartCount"));
    const Result<Time> finished =
        parse_rfc3339(text_at(status, "lastState", "terminated", "finishedAt"));
    if (finished && *finished > last) last = *finished;
  }

  std::string text(Time now) const {
    if (count == 0 || !last.is_set()) return std::to_string(count);
    return fmt::format("{} ({} ago)", count, human_duration(now - last));
  }
};

struct PodSummary {
  std::string reason;
  int64_t ready = 0;
  int64_t total = 0;
  Restarts restarts;
};

bool is_restartable_init(const Json& pod, std::string_view container) {
  for (const Json& init : elements(find(pod, "spec", "initContainers"))) {
    if (text_at(init, "name") == container) return text_at(init, "restartPolicy") == "Always";
  }
  return false;
}

const Json* state_of(const Json& status, std::string_view state) {
  const Json* found = find(status, "state", state);
  return found == nullptr || found->is_null() ? nullptr : found;
}

// "Error", or "Signal:9", "ExitCode:2" where the runtime gave no reason.
std::string terminated_reason(const Json& terminated) {
  const std::string_view reason = text_at(terminated, "reason");
  if (!reason.empty()) return std::string(reason);
  const int64_t signal = as_integer(find(terminated, "signal"));
  if (signal != 0) return fmt::format("Signal:{}", signal);
  return fmt::format("ExitCode:{}", as_integer(find(terminated, "exitCode")));
}

// What the first init container that is not done says; empty when it does not hold the pod up.
std::string init_reason(const Json& status, size_t index, size_t total) {
  if (const Json* terminated = state_of(status, "terminated")) {
    return "Init:" + terminated_reason(*terminated);
  }
  const std::string_view waiting = text_at(status, "state", "waiting", "reason");
  if (!waiting.empty() && waiting != "PodInitializing") return fmt::format("Init:{}", waiting);
  return fmt::format("Init:{}/{}", index, total);
}

// Goes through the init containers. True when one of them still holds the pod up.
bool summarize_init(const Json& pod, PodSummary& summary, Restarts& restartable) {
  const size_t total = count_of(find(pod, "spec", "initContainers"));
  size_t index = 0;
  for (const Json& status : elements(find(pod, "status", "initContainerStatuses"))) {
    summary.restarts.add(status);
    const bool is_restartable = is_restartable_init(pod, text_at(status, "name"));
    if (is_restartable) restartable.add(status);
    const Json* terminated = state_of(status, "terminated");
    const bool succeeded = terminated != nullptr && as_integer(find(*terminated, "exitCode")) == 0;
    const bool serves = is_restartable && as_bool(find(status, "started"));
    if (!succeeded && !serves) {
      summary.reason = init_reason(status, index, total);
      return true;
    }
    if (!succeeded && as_bool(find(status, "ready"))) ++summary.ready;
    ++index;
  }
  return false;
}

void summarize_containers(const Json& pod, PodSummary& summary) {
  bool has_running = false;
  const std::span<const Json> statuses = elements(find(pod, "status", "containerStatuses"));
  // From the last to the first: the first container's reason wins.
  for (size_t i = statuses.size(); i-- > 0;) {
    const Json& status = statuses[i];
    summary.restarts.add(status);
    const std::string_view waiting = text_at(status, "state", "waiting", "reason");
    if (!waiting.empty()) {
      summary.reason = waiting;
    } else if (const Json* terminated = state_of(status, "terminated")) {
      summary.reason = terminated_reason(*terminated);
    } else if (as_bool(find(status, "ready")) && state_of(status, "running") != nullptr) {
      has_running = true;
      ++summary.ready;
    }
  }
  // One container is done, another still serves: the pod is not completed.
  if (summary.reason == "Completed" && has_running) {
    summary.reason = is_condition_true(pod, "Ready") ? "Running" : "NotReady";
  }
}

std::string phase_reason(const Json& pod) {
  const Json* scheduled = condition_of(pod, "PodScheduled");
  if (scheduled != nullptr && text_at(*scheduled, "reason") == "SchedulingGated") {
    return "SchedulingGated";
  }
  const std::string_view reason = text_at(pod, "status", "reason");
  return std::string(reason.empty() ? text_at(pod, "status", "phase") : reason);
}

PodSummary summarize(const Json& pod) {
  PodSummary summary;
  summary.reason = phase_reason(pod);
  summary.total = static_cast<int64_t>(count_of(find(pod, "spec", "containers")));
  for (const Json& init : elements(find(pod, "spec", "initContainers"))) {
    if (text_at(init, "restartPolicy") == "Always") ++summary.total;
  }
  Restarts restartable;
  const bool initializing = summarize_init(pod, summary, restartable);
  if (!initializing || is_condition_true(pod, "Initialized")) {
    // Once the pod runs, the restarts of init containers that are done no longer matter.
    summary.restarts = restartable;
    summarize_containers(pod, summary);
  }
  const std::string_view phase = text_at(pod, "status", "phase");
  const bool is_final = phase == "Succeeded" || phase == "Failed";
  if (is_deleting(pod) && text_at(pod, "status", "reason") == node_lost) {
    summary.reason = "Unknown";
  } else if (is_deleting(pod) && !is_final) {
    summary.reason = "Terminating";
  }
  return summary;
}

std::string_view first_ip(const Json& pod) {
  for (const Json& address : elements(find(pod, "status", "podIPs"))) {
    return text_at(address, "ip");
  }
  return text_at(pod, "status", "podIP");
}

std::string readiness_gates(const Json& pod) {
  const std::span<const Json> gates = elements(find(pod, "spec", "readinessGates"));
  if (gates.empty()) return "<none>";
  size_t open = 0;
  for (const Json& gate : gates) {
    if (is_condition_true(pod, text_at(gate, "conditionType"))) ++open;
  }
  return fmt::format("{}/{}", open, gates.size());
}

void pod_cells(const Json& pod, Time now, JsonArray& cells) {
  const PodSummary summary = summarize(pod);
  cells.push_back(name_cell(pod));
  cells.push_back(text_cell(fmt::format("{}/{}", summary.ready, summary.total)));
  cells.push_back(text_cell(summary.reason));
  cells.push_back(text_cell(summary.restarts.text(now)));
  cells.push_back(age_cell(pod, now));
  cells.push_back(text_or(first_ip(pod), "<none>"));
  cells.push_back(text_or(text_at(pod, "spec", "nodeName"), "<none>"));
  cells.push_back(text_or(text_at(pod, "status", "nominatedNodeName"), "<none>"));
  cells.push_back(text_cell(readiness_gates(pod)));
}

// kubectl hides rows of completed pods where it is asked to, by this condition.
Json pod_conditions(const Json& pod) {
  const std::string_view phase = text_at(pod, "status", "phase");
  if (phase != "Succeeded" && phase != "Failed") return nullptr;
  const std::string_view message =
      phase == "Succeeded" ? "The pod has completed successfully." : "The pod failed.";
  return JsonArray{
      {{"type", "Completed"}, {"status", "True"}, {"reason", phase}, {"message", message}}};
}

void pod_template_cells(const Json& object, Time, JsonArray& cells) {
  cells.push_back(name_cell(object));
  add_container_cells(find(object, "template", "spec"), cells);
  cells.push_back(text_cell(format_labels(find(object, "template", "metadata", "labels"))));
}

}  // namespace

std::vector<Printer> pod_printers() {
  return {
      {"", "Pod",
       name_and_age(
           {text_column("Ready", "Containers that are ready, of all containers."),
            text_column("Status", "What the pod's containers are doing, in one word."),
            text_column("Restarts", "How often containers restarted, and when last.")},
           {text_column("IP", "The pod's own address.", 1),
            text_column("Node", "The node that the pod was placed on.", 1),
            text_column("Nominated Node", "The node on which room is being made for the pod.", 1),
            text_column("Readiness Gates", "Further conditions that hold, of those required.", 1)}),
       pod_cells, pod_conditions},
      {"",
       "PodTemplate",
       {name_column(), text_column("Containers", "Names of the containers in the template."),
        text_column("Images", "Images of the containers in the template."),
        text_column("Pod Labels", "Labels that pods of this template get.")},
       pod_template_cells},
  };
}

}  // namespace lockstep::apiserver
