// Workloads: what makes pods.
#include <algorithm>

#include <fmt/format.h>

#include "apiserver/present/table_printers.h"
#include "base/strings.h"

namespace lockstep::apiserver {

namespace {

int64_t number(const Json& object, std::string_view part, std::string_view field,
               int64_t otherwise = 0) {
  return as_integer(find(object, part, field), otherwise);
}

void add_numbers(const Json& object, std::string_view part,
                 std::initializer_list<std::string_view> fields, JsonArray& cells) {
  for (const std::string_view field : fields) cells.push_back(number(object, part, field));
}

void add_pods_cells(const Json* pod_spec, const Json* selector, JsonArray& cells) {
  add_container_cells(pod_spec, cells);
  cells.push_back(text_cell(format_selector(selector)));
}

void daemon_set_cells(const Json& object, Time now, JsonArray& cells) {
  const Json* pod_spec = find(object, "spec", "template", "spec");
  cells.push_back(name_cell(object));
  add_numbers(object, "status",
              {"desiredNumberScheduled", "currentNumberScheduled", "numberReady",
               "updatedNumberScheduled", "numberAvailable"},
              cells);
  const Json* node_selector = pod_spec == nullptr ? nullptr : find(*pod_spec, "nodeSelector");
  cells.push_back(text_cell(format_labels(node_selector)));
  cells.push_back(age_cell(object, now));
  add_pods_cells(pod_spec, find(object, "spec", "selector"), cells);
}

// READY of things with replicas: "2/3".
Json ready_of_replicas(const Json& object) {
  return text_cell(fmt::format("{}/{}", number(object, "status", "readyReplicas"),
                               number(object, "spec", "replicas", 1)));
}

void deployment_cells(const Json& object, Time now, JsonArray& cells) {
  cells.push_back(name_cell(object));
  cells.push_back(ready_of_replicas(object));
  add_numbers(object, "status", {"updatedReplicas", "availableReplicas"}, cells);
  cells.push_back(age_cell(object, now));
  add_container_cells(find(object, "spec", "template", "spec"), cells);
  cells.push_back(text_cell(selector_text(find(object, "spec", "selector"))));
}

void replica_set_cells(const Json& object, Time now, JsonArray& cells) {
  cells.push_back(name_cell(object));
  cells.push_back(number(object, "spec", "replicas", 1));
  add_numbers(object, "status", {"replicas", "readyReplicas"}, cells);
  cells.push_back(age_cell(object, now));
  add_pods_cells(find(object, "spec", "template", "spec"), find(object, "spec", "selector"), cells);
}

void replication_controller_cells(const Json& object, Time now, JsonArray& cells) {
  cells.push_back(name_cell(object));
  cells.push_back(number(object, "spec", "replicas", 1));
  add_numbers(object, "status", {"replicas", "readyReplicas"}, cells);
  cells.push_back(age_cell(object, now));
  add_container_cells(find(object, "spec", "template", "spec"), cells);
  cells.push_back(text_cell(format_labels(find(object, "spec", "selector"))));
}

void stateful_set_cells(const Json& object, Time now, JsonArray& cells) {
  cells.push_back(name_cell(object));
  cells.push_back(ready_of_replicas(object));
  cells.push_back(age_cell(object, now));
  add_container_cells(find(object, "spec", "template", "spec"), cells);
}

std::string job_status(const Json& job) {
  for (const char* finished : {"Complete", "Failed"}) {
    if (is_condition_true(job, finished)) return finished;
  }
  if (is_deleting(job)) return "Terminating";
  for (const char* state : {"Suspended", "FailureTarget", "SuccessCriteriaMet"}) {
    if (is_condition_true(job, state)) return state;
  }
  return "Running";
}

std::string job_completions(const Json& job) {
  const int64_t succeeded = number(job, "status", "succeeded");
  const Json* completions = find(job, "spec", "completions");
  if (completions != nullptr && !completions->is_null()) {
    return fmt::format("{}/{}", succeeded, as_integer(completions));
  }
  const int64_t parallelism = number(job, "spec", "parallelism");
  if (parallelism > 1) return fmt::format("{}/1 of {}", succeeded, parallelism);
  return fmt::format("{}/1", succeeded);
}

std::string job_duration(const Json& job, Time now) {
  const Result<Time> start = parse_rfc3339(text_at(job, "status", "startTime"));
  if (!start) return "";
  const Result<Time> end = parse_rfc3339(text_at(job, "status", "completionTime"));
  return human_duration((end ? *end : now) - *start);
}

void job_cells(const Json& object, Time now, JsonArray& cells) {
  cells.push_back(name_cell(object));
  cells.push_back(text_cell(job_status(object)));
  cells.push_back(text_cell(job_completions(object)));
  cells.push_back(text_cell(job_duration(object, now)));
  cells.push_back(age_cell(object, now));
  add_pods_cells(find(object, "spec", "template", "spec"), find(object, "spec", "selector"), cells);
}

void cron_job_cells(const Json& object, Time now, JsonArray& cells) {
  const Json* last = find(object, "status", "lastScheduleTime");
  cells.push_back(name_cell(object));
  cells.push_back(text_cell(text_at(object, "spec", "schedule")));
  cells.push_back(text_or(text_at(object, "spec", "timeZone"), "<none>"));
  cells.push_back(text_cell(as_bool(find(object, "spec", "suspend")) ? "True" : "False"));
  cells.push_back(count_of(find(object, "status", "active")));
  cells.push_back(text_cell(last == nullptr || last->is_null() ? "<none>" : age_of(last, now)));
  cells.push_back(age_cell(object, now));
  add_pods_cells(find(object, "spec", "jobTemplate", "spec", "template", "spec"),
                 find(object, "spec", "jobTemplate", "spec", "selector"), cells);
}

// "daemonset.apps/driver".
std::string controller_name(const Json& object) {
  for (const Json& owner : elements(find(object, "metadata", "ownerReferences"))) {
    if (!as_bool(find(owner, "controller"))) continue;
    const std::string_view api_version = text_at(owner, "apiVersion");
    const size_t slash = api_version.find('/');
    const std::string group =
        slash == std::string_view::npos ? "" : "." + std::string(api_version.substr(0, slash));
    return lower(fmt::format("{}{}", text_at(owner, "kind"), group)) + "/" +
           std::string(text_at(owner, "name"));
  }
  return "<none>";
}

void controller_revision_cells(const Json& object, Time now, JsonArray& cells) {
  cells.push_back(name_cell(object));
  cells.push_back(text_cell(controller_name(object)));
  cells.push_back(as_integer(find(object, "revision")));
  cells.push_back(age_cell(object, now));
}

// A number or "50%", as it was written.
std::string number_or_percent(const Json* value) {
  if (value == nullptr || value->is_null()) return "N/A";
  return value->is_string() ? std::string(as_text(value)) : print_json(*value);
}

void disruption_budget_cells(const Json& object, Time now, JsonArray& cells) {
  cells.push_back(name_cell(object));
  cells.push_back(text_cell(number_or_percent(find(object, "spec", "minAvailable"))));
  cells.push_back(text_cell(number_or_percent(find(object, "spec", "maxUnavailable"))));
  cells.push_back(number(object, "status", "disruptionsAllowed"));
  cells.push_back(age_cell(object, now));
}

std::vector<Column> pods_columns() {
  std::vector<Column> columns = container_columns();
  columns.push_back(text_column("Selector", "Which pods belong to it.", 1));
  return columns;
}

std::vector<Column> replica_columns() {
  return name_and_age({integer_column("Desired", "How many pods there should be."),
                       integer_column("Current", "How many pods there are."),
                       integer_column("Ready", "How many pods are ready.")},
                      pods_columns());
}

std::vector<Printer> apps_printers() {
  return {
      {"apps", "DaemonSet",
       name_and_age(
           {integer_column("Desired", "Nodes that should run the pod."),
            integer_column("Current", "Nodes that run the pod and should."),
            integer_column("Ready", "Nodes on which the pod is ready."),
            integer_column("Up-to-date", "Nodes that run the newest template."),
            integer_column("Available", "Nodes on which the pod has been ready for long enough."),
            text_column("Node Selector", "Labels of the nodes that run the pod.")},
           pods_columns()),
       daemon_set_cells},
      {"apps", "Deployment",
       name_and_age({text_column("Ready", "Pods that are ready, of those wanted."),
                     text_column("Up-to-date", "Pods of the newest template."),
                     text_column("Available", "Pods that have been ready for long enough.")},
                    pods_columns()),
       deployment_cells},
      {"apps", "ReplicaSet", replica_columns(), replica_set_cells},
      {"apps", "StatefulSet",
       name_and_age({text_column("Ready", "Pods that are ready, of those wanted.")},
                    container_columns()),
       stateful_set_cells},
      {"apps", "ControllerRevision",
       name_and_age({text_column("Controller", "The workload whose template this was."),
                     text_column("Revision", "Its place in the order of templates.")}),
       controller_revision_cells},
      {"", "ReplicationController", replica_columns(), replication_controller_cells},
  };
}

std::vector<Printer> batch_printers() {
  return {
      {"batch", "Job",
       name_and_age({text_column("Status", "How the job is doing, in one word."),
                     text_column("Completions", "Pods that succeeded, of those wanted."),
                     text_column("Duration", "How long it took, or has taken so far.")},
                    pods_columns()),
       job_cells},
      {"batch", "CronJob",
       name_and_age({text_column("Schedule", "When it runs, in cron's notation."),
                     text_column("Timezone", "The time zone of the schedule."),
                     boolean_column("Suspend", "Whether it is paused."),
                     integer_column("Active", "How many of its jobs run now."),
                     text_column("Last Schedule", "How long ago it last ran.")},
                    pods_columns()),
       cron_job_cells},
      {"policy", "PodDisruptionBudget",
       name_and_age({text_column("Min Available", "Pods that must stay available."),
                     text_column("Max Unavailable", "Pods that may be unavailable."),
                     integer_column("Allowed Disruptions", "Pods that may be evicted now.")}),
       disruption_budget_cells},
  };
}

}  // namespace

std::vector<Printer> workload_printers() {
  std::vector<Printer> printers = apps_printers();
  for (Printer& printer : batch_printers()) printers.push_back(std::move(printer));
  return printers;
}

}  // namespace lockstep::apiserver
