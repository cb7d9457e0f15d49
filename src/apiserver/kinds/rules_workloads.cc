#include "apiserver/kinds/builtin_rules.h"
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

}  // namespace

void check_workload(const ResourceInfo& info, const Json& object, const Json* before,
                    Causes& causes) {
  const std::string name = info.type.full_name();
  const Json& spec = object_at(object, "spec");
  if (name == "daemonsets.apps") {
    check_daemon_set(spec, causes);
    if (before != nullptr) check_unchanged(object, *before, "spec", "selector", causes);
  } else if (name == "deployments.apps") {
    check_deployment(spec, causes);
    if (before != nullptr) check_unchanged(object, *before, "spec", "selector", causes);
  } else if (name == "replicasets.apps") {
    check_replicas(spec, "deployment", "ReplicaSet", causes);
    if (before != nullptr) check_unchanged(object, *before, "spec", "selector", causes);
  } else if (name == "statefulsets.apps") {
    check_replicas(spec, "statefulset", "StatefulSet", causes);
    if (before != nullptr) check_stateful_set_update(object, *before, causes);
  } else if (name == "replicationcontrollers") {
    check_replication_controller(spec, causes);
  } else if (name == "jobs.batch") {
    check_job(spec, "spec", causes);
    if (before != nullptr) check_job_update(object, *before, causes);
  } else if (name == "cronjobs.batch") {
    check_cron_job(spec, causes);
  }
}

}  // namespace lockstep::apiserver
