#include "apiserver/kinds/builtin_defaults.h"
#include "apiserver/kinds/builtin_rules.h"
#include "apiserver/kinds/kind.h"
#include "objects/selector.h"

namespace lockstep::apiserver {

namespace {

void check_template(const Json& spec, const std::string& place, Causes& causes) {
  const Json& pod = object_at(spec, "template");
  check_labels(find(pod, "metadata", "labels"), place + ".metadata.labels", causes);
  check_pod_spec(object_at(pod, "spec"), place + ".spec", causes);
}

bool is_empty_selector(const Json& selector) {
  return object_at(selector, "matchLabels").get_object().empty() &&
         array_at(selector, "matchExpressions").empty();
}

void check_selector(const Json& spec, std::string_view kind_word, Causes& causes) {
  const Json* selector = find(spec, "selector");
  if (selector == nullptr || selector->is_null()) {
    causes.push_back(cause_required("spec.selector"));
    return;
  }
  check_labels(find(*selector, "matchLabels"), "spec.selector.matchLabels", causes);
  if (is_empty_selector(*selector)) {
    causes.push_back(cause_invalid("spec.selector", *selector,
                                   fmt::format("empty selector is invalid for {}", kind_word)));
  }
  Result<LabelSelector> parsed = LabelSelector::from_json(selector);
  if (!parsed) {
    causes.push_back(cause_invalid("spec.selector", *selector, "invalid label selector"));
  } else if (!parsed->matches_object(object_at(spec, "template"))) {
    const Json* labels = find(spec, "template", "metadata", "labels");
    causes.push_back(cause_invalid("spec.template.metadata.labels",
                                   labels == nullptr ? Json() : *labels,
                                   "`selector` does not match template `labels`"));
  }
}

void check_always_restarts(const Json& spec, std::string_view kind, Causes& causes) {
  const Json& pod_spec = object_at(object_at(spec, "template"), "spec");
  const Json* policy = find(pod_spec, "restartPolicy");
  if (policy != nullptr && as_text(policy) != "Always") {
    causes.push_back(cause_unsupported("spec.template.spec.restartPolicy", *policy, {"Always"}));
  }
  if (find(pod_spec, "activeDeadlineSeconds") != nullptr) {
    causes.push_back(
        cause_forbidden("spec.template.spec.activeDeadlineSeconds",
                        fmt::format("activeDeadlineSeconds in {} is not Supported", kind)));
  }
}

void check_rolling_numbers(const Json& rolling, const std::string& place, Causes& causes) {
  for (const char* key : {"maxUnavailable", "maxSurge"}) {
    if (const Json* value = find(rolling, key)) {
      check_int_or_percent(*value, fmt::format("{}.{}", place, key), causes);
    }
  }
}

void check_daemon_set_strategy(const Json& spec, Causes& causes) {
  const Json& strategy = object_at(spec, "updateStrategy");
  std::string_view type = text_at(strategy, "type");
  if (type == "OnDelete") return;
  if (type != "RollingUpdate") {
    causes.push_back(
        cause_unsupported("spec.updateStrategy", strategy, {"RollingUpdate", "OnDelete"}));
    return;
  }
  const Json* rolling = find(strategy, "rollingUpdate");
  const std::string place = "spec.updateStrategy.rollingUpdate";
  if (rolling == nullptr) {
    causes.push_back(cause_required(place));
    return;
  }
  check_rolling_numbers(*rolling, place, causes);
  bool unavailable = int_or_percent(find(*rolling, "maxUnavailable")) != 0;
  bool surge = int_or_percent(find(*rolling, "maxSurge")) != 0;
  if (unavailable && surge) {
    causes.push_back(cause_invalid(place + ".maxSurge", *find(*rolling, "maxSurge"),
                                   "may not be set when maxUnavailable is non-zero"));
  } else if (!unavailable && !surge) {
    causes.push_back(cause_required(place + ".maxUnavailable", "cannot be 0 when maxSurge is 0"));
  }
}

void check_deployment_strategy(const Json& spec, Causes& causes) {
  const Json& strategy = object_at(spec, "strategy");
  std::string_view type = text_at(strategy, "type");
  const Json* rolling = find(strategy, "rollingUpdate");
  if (type == "Recreate") {
    if (rolling != nullptr && !rolling->is_null()) {
      causes.push_back(cause_forbidden("spec.strategy.rollingUpdate",
                                       "may not be specified when strategy `type` is 'Recreate'"));
    }
    return;
  }
  if (type != "RollingUpdate") {
    causes.push_back(cause_unsupported("spec.strategy", strategy, {"Recreate", "RollingUpdate"}));
    return;
  }
  if (rolling == nullptr) return;
  const std::string place = "spec.strategy.rollingUpdate";
  check_rolling_numbers(*rolling, place, causes);
  if (int_or_percent(find(*rolling, "maxUnavailable")) == 0 &&
      int_or_percent(find(*rolling, "maxSurge")) == 0) {
    const Json* unavailable = find(*rolling, "maxUnavailable");
    causes.push_back(cause_invalid(place + ".maxUnavailable",
                                   unavailable == nullptr ? Json(0) : *unavailable,
                                   "may not be 0 when `maxSurge` is 0"));
  }
}

void check_daemon_set(const Json& spec, Causes& causes) {
  check_selector(spec, "daemonset", causes);
  check_template(spec, "spec.template", causes);
  check_always_restarts(spec, "DaemonSet", causes);
  check_not_negative(spec, "minReadySeconds", "spec", causes);
  check_daemon_set_strategy(spec, causes);
  check_not_negative(spec, "revisionHistoryLimit", "spec", causes);
}

void check_deployment(const Json& spec, Causes& causes) {
  check_not_negative(spec, "replicas", "spec", causes);
  check_selector(spec, "deployment", causes);
  check_template(spec, "spec.template", causes);
  check_always_restarts(spec, "ReplicaSet", causes);
  check_deployment_strategy(spec, causes);
  check_not_negative(spec, "minReadySeconds", "spec", causes);
  check_not_negative(spec, "revisionHistoryLimit", "spec", causes);
  const Json* deadline = find(spec, "progressDeadlineSeconds");
  if (deadline != nullptr && as_integer(deadline) <= as_integer(find(spec, "minReadySeconds"))) {
    causes.push_back(cause_invalid("spec.progressDeadlineSeconds", *deadline,
                                   "must be greater than minReadySeconds"));
  }
}

void check_replicas(const Json& spec, std::string_view kind_word, std::string_view kind,
                    Causes& causes) {
  check_not_negative(spec, "replicas", "spec", causes);
  check_not_negative(spec, "minReadySeconds", "spec", causes);
  check_selector(spec, kind_word, causes);
  check_template(spec, "spec.template", causes);
  check_always_restarts(spec, kind, causes);
}

// Replication controllers have a plain map of labels as their selector.
void check_replication_controller(const Json& spec, Causes& causes) {
  check_not_negative(spec, "replicas", "spec", causes);
  const JsonObject& selector = object_at(spec, "selector").get_object();
  if (selector.empty()) causes.push_back(cause_required("spec.selector"));
  for (const auto& entry : selector) {
    const Json* label = find(spec, "template", "metadata", "labels", std::string_view(entry.key()));
    if (label != nullptr && json_equal(*label, entry.value())) continue;
    const Json* labels = find(spec, "template", "metadata", "labels");
    causes.push_back(cause_invalid("spec.template.metadata.labels",
                                   labels == nullptr ? Json() : *labels,
                                   "`selector` does not match template `labels`"));
    break;
  }
  check_template(spec, "spec.template", causes);
  check_always_restarts(spec, "ReplicationController", causes);
}

void check_job(const Json& spec, const std::string& place, Causes& causes) {
  for (const char* key : {"parallelism", "completions", "activeDeadlineSeconds", "backoffLimit",
                          "ttlSecondsAfterFinished"}) {
    check_not_negative(spec, key, place, causes);
  }
  if (const Json* mode = find(spec, "completionMode")) {
    check_one_of(*mode, place + ".completionMode", {"NonIndexed", "Indexed"}, causes);
    if (as_text(mode) == "Indexed" && find(spec, "completions") == nullptr) {
      causes.push_back(cause_required(place + ".completions", "when completion mode is Indexed"));
    }
  }
  check_template(spec, place + ".template", causes);
  std::string_view policy = text_at(spec, "template", "spec", "restartPolicy");
  std::string policy_place = place + ".template.spec.restartPolicy";
  if (policy.empty() || policy == "Always") {
    causes.push_back(cause_required(policy_place, "valid values: \"OnFailure\", \"Never\""));
  }
}

void check_job_update(const Json& object, const Json& before, Causes& causes) {
  for (const char* key : {"completions", "selector", "completionMode", "podFailurePolicy"}) {
    check_unchanged(object, before, "spec", key, causes);
  }
  // A job that has not started may still be moved to other nodes.
  bool suspended =
      as_bool(find(before, "spec", "suspend")) && find(before, "status", "startTime") == nullptr;
  if (!suspended) check_unchanged(object, before, "spec", "template", causes);
}

void check_cron_job(const Json& spec, Causes& causes) {
  if (text_at(spec, "schedule").empty()) causes.push_back(cause_required("spec.schedule"));
  if (const Json* policy = find(spec, "concurrencyPolicy")) {
    check_one_of(*policy, "spec.concurrencyPolicy", {"Allow", "Forbid", "Replace"}, causes);
  }
  check_job(object_at(object_at(spec, "jobTemplate"), "spec"), "spec.jobTemplate.spec", causes);
}

void check_stateful_set_update(const Json& object, const Json& before, Causes& causes) {
  Json changed = object_at(object, "spec");
  const Json& old = object_at(before, "spec");
  for (const char* key :
       {"replicas", "ordinals", "template", "updateStrategy", "revisionHistoryLimit",
        "persistentVolumeClaimRetentionPolicy", "minReadySeconds"}) {
    if (const Json* value = find(old, key)) {
      changed.get_object()[key] = *value;
    } else {
      erase_key(changed.get_object(), key);
    }
  }
  if (json_equal(changed, old)) return;
  causes.push_back(cause_forbidden(
      "spec",
      "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', "
      "'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and "
      "'minReadySeconds' are forbidden"));
}

// The pod template inside the spec, however deep.
void default_template(JsonObject& spec) {
  if (JsonObject* pod = object_in(spec, "template")) default_pod_spec(ensure_object(*pod, "spec"));
}

void default_replica_set(JsonObject& object) { default_template(ensure_object(object, "spec")); }

void default_daemon_set(JsonObject& object) {
  JsonObject& spec = ensure_object(object, "spec");
  default_template(spec);
  JsonObject& strategy = ensure_object(spec, "updateStrategy");
  if (as_text(strategy.if_contains("type")) != "RollingUpdate") return;
  JsonObject& rolling = ensure_object(strategy, "rollingUpdate");
  set_default(rolling, "maxUnavailable", 1);
  set_default(rolling, "maxSurge", 0);
}

void default_deployment(JsonObject& object) {
  JsonObject& spec = ensure_object(object, "spec");
  default_template(spec);
  JsonObject& strategy = ensure_object(spec, "strategy");
  if (as_text(strategy.if_contains("type")) != "RollingUpdate") return;
  JsonObject& rolling = ensure_object(strategy, "rollingUpdate");
  set_default(rolling, "maxUnavailable", "25%");
  set_default(rolling, "maxSurge", "25%");
}

void default_stateful_set(JsonObject& object) {
  JsonObject& spec = ensure_object(object, "spec");
  default_template(spec);
  JsonObject& strategy = ensure_object(spec, "updateStrategy");
  if (as_text(strategy.if_contains("type")) != "RollingUpdate") return;
  set_default(ensure_object(strategy, "rollingUpdate"), "partition", 0);
}

// Where the map is missing or holds nothing: Go knows no difference.
void set_labels(JsonObject& in, std::string_view key, const Json& labels) {
  const JsonObject* present = object_in(in, key);
  if (present == nullptr || present->empty()) in[key] = labels;
}

void default_replication_controller(JsonObject& object) {
  JsonObject& spec = ensure_object(object, "spec");
  default_template(spec);
  JsonObject* pod = object_in(spec, "template");
  JsonObject* metadata = pod == nullptr ? nullptr : object_in(*pod, "metadata");
  const Json* labels = metadata == nullptr ? nullptr : metadata->if_contains("labels");
  if (labels == nullptr) return;
  Json copy = *labels;
  set_labels(spec, "selector", copy);
  set_labels(ensure_object(object, "metadata"), "labels", copy);
}

// A job without a selector of its own gets one by its uid, and its pods the labels for it.
void default_job_selector(JsonObject& object, JsonObject& spec) {
  const JsonObject* metadata = object_in(object, "metadata");
  JsonObject* pod = object_in(spec, "template");
  if (metadata == nullptr || pod == nullptr || spec.contains("selector")) return;
  if (as_bool(spec.if_contains("manualSelector"))) return;
  std::string uid(as_text(metadata->if_contains("uid")));
  std::string name(as_text(metadata->if_contains("name")));
  if (uid.empty() || name.empty()) return;
  JsonObject& labels = ensure_object(ensure_object(*pod, "metadata"), "labels");
  labels["controller-uid"] = uid;
  labels["batch.kubernetes.io/controller-uid"] = uid;
  labels["job-name"] = name;
  labels["batch.kubernetes.io/job-name"] = name;
  ensure_object(ensure_object(spec, "selector"),
                "matchLabels")["batch.kubernetes.io/controller-uid"] = uid;
}

void default_job(JsonObject& object) {
  JsonObject& spec = ensure_object(object, "spec");
  default_template(spec);
  bool neither = !spec.contains("completions") && !spec.contains("parallelism");
  if (neither) spec["completions"] = 1;
  set_default(spec, "parallelism", 1);
  set_default(spec, "podReplacementPolicy",
              spec.contains("podFailurePolicy") ? "Failed" : "TerminatingOrFailed");
  default_job_selector(object, spec);
}

void default_cron_job(JsonObject& object) {
  JsonObject* job = object_in(ensure_object(object, "spec"), "jobTemplate");
  JsonObject* spec = job == nullptr ? nullptr : object_in(*job, "spec");
  if (spec != nullptr) default_template(*spec);
}

// The selector may not change once there are pods by it.
template <void (*check_spec)(const Json& spec, Causes& causes)>
void check_with_selector(const Json& object, const Json* before, Causes& causes) {
  check_spec(object_at(object, "spec"), causes);
  if (before != nullptr) check_unchanged(object, *before, "spec", "selector", causes);
}

void check_replica_set(const Json& spec, Causes& causes) {
  check_replicas(spec, "deployment", "ReplicaSet", causes);
}

}  // namespace

std::vector<Kind> workload_kinds() {
  return {
      {.group = "apps",
       .plural = "daemonsets",
       .counts_generations = true,
       .defaults = {{"spec.updateStrategy.type", "\"RollingUpdate\""},
                    {"spec.revisionHistoryLimit", "10"}},
       .set_defaults = default_daemon_set,
       .check = check_with_selector<check_daemon_set>},
      {.group = "apps",
       .plural = "deployments",
       .counts_generations = true,
       .defaults = {{"spec.replicas", "1"},
                    {"spec.strategy.type", "\"RollingUpdate\""},
                    {"spec.revisionHistoryLimit", "10"},
                    {"spec.progressDeadlineSeconds", "600"}},
       .set_defaults = default_deployment,
       .check = check_with_selector<check_deployment>},
      {.group = "apps",
       .plural = "replicasets",
       .counts_generations = true,
       .selectable = {"status.replicas"},
       .defaults = {{"spec.replicas", "1"}},
       .set_defaults = default_replica_set,
       .check = check_with_selector<check_replica_set>},
      {.group = "apps",
       .plural = "statefulsets",
       .check_name = check_dns_label,
       .counts_generations = true,
       .defaults = {{"spec.replicas", "1"},
                    {"spec.podManagementPolicy", "\"OrderedReady\""},
                    {"spec.updateStrategy.type", "\"RollingUpdate\""},
                    {"spec.revisionHistoryLimit", "10"},
                    {"spec.persistentVolumeClaimRetentionPolicy.whenDeleted", "\"Retain\""},
                    {"spec.persistentVolumeClaimRetentionPolicy.whenScaled", "\"Retain\""}},
       .set_defaults = default_stateful_set,
       .check =
           [](const Json& object, const Json* before, Causes& causes) {
             check_replicas(object_at(object, "spec"), "statefulset", "StatefulSet", causes);
             if (before != nullptr) check_stateful_set_update(object, *before, causes);
           }},
      {.plural = "replicationcontrollers",
       .counts_generations = true,
       .defaults = {{"spec.replicas", "1"}},
       .set_defaults = default_replication_controller,
       .check =
           [](const Json& object, const Json*, Causes& causes) {
             check_replication_controller(object_at(object, "spec"), causes);
           },
       .has_plain_selector = true},
      {.group = "batch",
       .plural = "jobs",
       .counts_generations = true,
       .selectable = {"status.successful"},
       .defaults = {{"spec.backoffLimit", "6"},
                    {"spec.completionMode", "\"NonIndexed\""},
                    {"spec.suspend", "false"},
                    {"spec.manualSelector", "false"}},
       .set_defaults = default_job,
       .check =
           [](const Json& object, const Json* before, Causes& causes) {
             check_job(object_at(object, "spec"), "spec", causes);
             if (before != nullptr) check_job_update(object, *before, causes);
           }},
      {.group = "batch",
       .plural = "cronjobs",
       .longest_name = 52,
       .counts_generations = true,
       .defaults = {{"spec.concurrencyPolicy", "\"Allow\""},
                    {"spec.suspend", "false"},
                    {"spec.successfulJobsHistoryLimit", "3"},
                    {"spec.failedJobsHistoryLimit", "1"}},
       .set_defaults = default_cron_job,
       .check = [](const Json& object, const Json*,
                   Causes& causes) { check_cron_job(object_at(object, "spec"), causes); }},
  };
}

}  // namespace lockstep::apiserver
