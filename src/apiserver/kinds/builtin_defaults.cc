#include "apiserver/kinds/builtin_defaults.h"

#include "apiserver/schema/resources.h"
#include "base/strings.h"

namespace lockstep::apiserver {

namespace {

// Plain defaults: of a resource, at a path, a value in JSON. Objects on the way are made.
struct Plain {
  std::string_view resource;
  std::string_view path;
  std::string_view value;
};

constexpr Plain plain_defaults[] = {
    {"daemonsets.apps", "spec.updateStrategy.type", "\"RollingUpdate\""},
    {"daemonsets.apps", "spec.revisionHistoryLimit", "10"},
    {"deployments.apps", "spec.replicas", "1"},
    {"deployments.apps", "spec.strategy.type", "\"RollingUpdate\""},
    {"deployments.apps", "spec.revisionHistoryLimit", "10"},
    {"deployments.apps", "spec.progressDeadlineSeconds", "600"},
    {"replicasets.apps", "spec.replicas", "1"},
    {"replicationcontrollers", "spec.replicas", "1"},
    {"statefulsets.apps", "spec.replicas", "1"},
    {"statefulsets.apps", "spec.podManagementPolicy", "\"OrderedReady\""},
    {"statefulsets.apps", "spec.updateStrategy.type", "\"RollingUpdate\""},
    {"statefulsets.apps", "spec.revisionHistoryLimit", "10"},
    {"statefulsets.apps", "spec.persistentVolumeClaimRetentionPolicy.whenDeleted", "\"Retain\""},
    {"statefulsets.apps", "spec.persistentVolumeClaimRetentionPolicy.whenScaled", "\"Retain\""},
    {"jobs.batch", "spec.backoffLimit", "6"},
    {"jobs.batch", "spec.completionMode", "\"NonIndexed\""},
    {"jobs.batch", "spec.suspend", "false"},
    {"jobs.batch", "spec.manualSelector", "false"},
    {"cronjobs.batch", "spec.concurrencyPolicy", "\"Allow\""},
    {"cronjobs.batch", "spec.suspend", "false"},
    {"cronjobs.batch", "spec.successfulJobsHistoryLimit", "3"},
    {"cronjobs.batch", "spec.failedJobsHistoryLimit", "1"},
    {"namespaces", "status.phase", "\"Active\""},
    {"persistentvolumes", "spec.persistentVolumeReclaimPolicy", "\"Retain\""},
    {"persistentvolumes", "spec.volumeMode", "\"Filesystem\""},
    {"persistentvolumes", "status.phase", "\"Pending\""},
    {"persistentvolumeclaims", "spec.volumeMode", "\"Filesystem\""},
    {"persistentvolumeclaims", "status.phase", "\"Pending\""},
    {"secrets", "type", "\"Opaque\""},
    {"services", "spec.type", "\"ClusterIP\""},
    {"services", "spec.sessionAffinity", "\"None\""},
    {"priorityclasses.scheduling.k8s.io", "preemptionPolicy", "\"PreemptLowerPriority\""},
    {"storageclasses.storage.k8s.io", "reclaimPolicy", "\"Delete\""},
    {"storageclasses.storage.k8s.io", "volumeBindingMode", "\"Immediate\""},
    {"rolebindings.rbac.authorization.k8s.io", "roleRef.apiGroup", "\"rbac.authorization.k8s.io\""},
    {"clusterrolebindings.rbac.authorization.k8s.io", "roleRef.apiGroup",
     "\"rbac.authorization.k8s.io\""},
    {"validatingadmissionpolicies.admissionregistration.k8s.io", "spec.failurePolicy", "\"Fail\""},
};

void set_at(JsonObject& object, std::string_view path, const Json& value) {
  size_t dot = path.find('.');
  if (dot == std::string_view::npos) return set_default(object, path, value);
  set_at(ensure_object(object, path.substr(0, dot)), path.substr(dot + 1), value);
}

void apply_plain(std::string_view resource, JsonObject& object) {
  for (const Plain& plain : plain_defaults) {
    if (plain.resource != resource) continue;
    if (Result<Json> value = parse_json(plain.value)) set_at(object, plain.path, *value);
  }
}

// The pod template inside the spec, however deep.
void default_template(JsonObject& spec) {
  if (JsonObject* pod = object_in(spec, "template")) default_pod_spec(ensure_object(*pod, "spec"));
}

void default_daemon_set(JsonObject& spec) {
  JsonObject& strategy = ensure_object(spec, "updateStrategy");
  if (as_text(strategy.if_contains("type")) != "RollingUpdate") return;
  JsonObject& rolling = ensure_object(strategy, "rollingUpdate");
  set_default(rolling, "maxUnavailable", 1);
  set_default(rolling, "maxSurge", 0);
}

void default_deployment(JsonObject& spec) {
  JsonObject& strategy = ensure_object(spec, "strategy");
  if (as_text(strategy.if_contains("type")) != "RollingUpdate") return;
  JsonObject& rolling = ensure_object(strategy, "rollingUpdate");
  set_default(rolling, "maxUnavailable", "25%");
  set_default(rolling, "maxSurge", "25%");
}

void default_stateful_set(JsonObject& spec) {
  JsonObject& strategy = ensure_object(spec, "updateStrategy");
  if (as_text(strategy.if_contains("type")) != "RollingUpdate") return;
  set_default(ensure_object(strategy, "rollingUpdate"), "partition", 0);
}

// Where the map is missing or holds nothing: Go knows no difference.
void set_labels(JsonObject& in, std::string_view key, const Json& labels) {
  const JsonObject* present = object_in(in, key);
  if (present == nullptr || present->empty()) in[key] = labels;
}

void default_replication_controller(JsonObject& object, JsonObject& spec) {
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

void default_job(JsonObject& object, JsonObject& spec) {
  bool neither = !spec.contains("completions") && !spec.contains("parallelism");
  if (neither) spec["completions"] = 1;
  set_default(spec, "parallelism", 1);
  set_default(spec, "podReplacementPolicy",
              spec.contains("podFailurePolicy") ? "Failed" : "TerminatingOrFailed");
  default_job_selector(object, spec);
}

void default_service(JsonObject& spec) {
  std::string type(as_text(spec.if_contains("type")));
  for_each_object(spec, "ports", [](JsonObject& port) {
    set_default(port, "protocol", "TCP");
    if (const Json* number = port.if_contains("port"))
      set_default(port, "targetPort", Json(*number));
  });
  if (type == "ExternalName") return;
  set_default(spec, "internalTrafficPolicy", "Cluster");
  set_default(spec, "ipFamilies", JsonArray{"IPv4"});
  set_default(spec, "ipFamilyPolicy", "SingleStack");
  if (type == "NodePort" || type == "LoadBalancer")
    set_default(spec, "externalTrafficPolicy", "Cluster");
  if (type == "LoadBalancer") set_default(spec, "allocateLoadBalancerNodePorts", true);
}

// stringData is for writing only: it ends up in data.
void default_secret(JsonObject& object) {
  Json* texts = object.if_contains("stringData");
  if (texts == nullptr || !texts->is_object()) return;
  JsonObject given = texts->get_object();
  erase_key(object, "stringData");
  JsonObject& data = ensure_object(object, "data");
  for (const auto& entry : given) data[entry.key()] = base64_encode(as_text(&entry.value()));
}

void default_namespace(JsonObject& object) {
  JsonObject& metadata = ensure_object(object, "metadata");
  std::string name(as_text(metadata.if_contains("name")));
  if (!name.empty()) ensure_object(metadata, "labels")["kubernetes.io/metadata.name"] = name;
}

void default_subjects(JsonObject& object) {
  for_each_object(object, "subjects", [](JsonObject& subject) {
    std::string_view kind = as_text(subject.if_contains("kind"));
    if (kind == "User" || kind == "Group") {
      set_default(subject, "apiGroup", "rbac.authorization.k8s.io");
    }
  });
}

void default_claim_spec(JsonObject* spec) {
  JsonObject* devices = spec == nullptr ? nullptr : object_in(*spec, "devices");
  if (devices == nullptr) return;
  auto default_request = [](JsonObject& request) {
    set_default(request, "allocationMode", "ExactCount");
    if (as_text(request.if_contains("allocationMode")) == "ExactCount")
      set_default(request, "count", 1);
  };
  for_each_object(*devices, "requests", [&](JsonObject& request) {
    if (JsonObject* exactly = object_in(request, "exactly")) default_request(*exactly);
    for_each_object(request, "firstAvailable", default_request);
  });
}

void default_webhooks(JsonObject& object, bool mutating) {
  for_each_object(object, "webhooks", [&](JsonObject& hook) {
    set_default(hook, "failurePolicy", "Fail");
    set_default(hook, "matchPolicy", "Equivalent");
    set_default(hook, "namespaceSelector", JsonObject());
    set_default(hook, "objectSelector", JsonObject());
    set_default(hook, "timeoutSeconds", 10);
    if (mutating) set_default(hook, "reinvocationPolicy", "Never");
    for_each_object(hook, "rules", [](JsonObject& rule) { set_default(rule, "scope", "*"); });
  });
}

void default_network_policy(JsonObject& spec) {
  bool has_egress = spec.contains("egress");
  set_default(spec, "policyTypes",
              has_egress ? JsonArray{"Ingress", "Egress"} : JsonArray{"Ingress"});
}

void default_node(JsonObject& object) {
  JsonObject* status = object_in(object, "status");
  if (status == nullptr) return;
  if (const Json* capacity = status->if_contains("capacity")) {
    set_default(*status, "allocatable", Json(*capacity));
  }
}

}  // namespace

void default_builtin(const ResourceInfo& info, Json& value) {
  if (info.custom || !value.is_object()) return;
  JsonObject& object = value.get_object();
  const std::string name = info.type.full_name();
  if (name == "pods") return default_pod(object);
  apply_plain(name, object);
  JsonObject* spec = object_in(object, "spec");
  if (name == "secrets") return default_secret(object);
  if (name == "namespaces") return default_namespace(object);
  if (name == "nodes") return default_node(object);
  if (name.ends_with("rolebindings.rbac.authorization.k8s.io")) return default_subjects(object);
  if (name.ends_with("webhookconfigurations.admissionregistration.k8s.io")) {
    return default_webhooks(object, name.starts_with("mutating"));
  }
  if (spec == nullptr) return;
  default_template(*spec);
  if (name == "daemonsets.apps") default_daemon_set(*spec);
  if (name == "deployments.apps") default_deployment(*spec);
  if (name == "statefulsets.apps") default_stateful_set(*spec);
  if (name == "replicationcontrollers") default_replication_controller(object, *spec);
  if (name == "jobs.batch") default_job(object, *spec);
  if (name == "services") default_service(*spec);
  if (name == "networkpolicies.networking.k8s.io") default_network_policy(*spec);
  if (name == "resourceclaims.resource.k8s.io") default_claim_spec(spec);
  if (name == "resourceclaimtemplates.resource.k8s.io")
    default_claim_spec(object_in(*spec, "spec"));
  if (name == "cronjobs.batch") {
    JsonObject* job = object_in(*spec, "jobTemplate");
    if (JsonObject* job_spec = job == nullptr ? nullptr : object_in(*job, "spec"))
      default_template(*job_spec);
  }
}

}  // namespace lockstep::apiserver
