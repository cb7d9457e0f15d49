#include <set>

#include "apiserver/kinds/builtin_defaults.h"
#include "apiserver/kinds/builtin_rules.h"
#include "apiserver/kinds/event_views.h"
#include "apiserver/kinds/kind.h"
#include "base/strings.h"

namespace lockstep::apiserver {

namespace {

// The real server names them "metadata.taints".
void check_taints(const Json& node, Causes& causes) {
  const JsonArray& taints = array_at(object_at(node, "spec"), "taints");
  std::set<std::string> seen;
  for (size_t i = 0; i < taints.size(); ++i) {
    std::string place = fmt::format("metadata.taints[{}]", i);
    std::string_view key = text_at(taints[i], "key");
    std::string_view value = text_at(taints[i], "value");
    std::string_view effect = text_at(taints[i], "effect");
    take_complaints(check_qualified_name(key), key, place + ".key", causes);
    if (Complaints complaints = check_label_value(value); !complaints.empty()) {
      causes.push_back(cause_invalid(place + ".value", Json(value), join(complaints, ";")));
    }
    if (effect.empty()) {
      causes.push_back(cause_required(place + ".effect"));
    } else {
      check_one_of(Json(effect), place + ".effect", {"NoSchedule", "PreferNoSchedule", "NoExecute"},
                   causes);
    }
    if (!seen.insert(fmt::format("{} {}", key, effect)).second) {
      StatusCause duplicate = cause_duplicate(place, taints[i]);
      duplicate.message += ": taints must be unique by key and effect pair";
      causes.push_back(std::move(duplicate));
    }
  }
}

void check_node(const Json& node, const Json* before, Causes& causes) {
  check_taints(node, causes);
  if (before == nullptr) return;
  const Json& spec = object_at(node, "spec");
  const Json& old = object_at(*before, "spec");
  if (const Json* networks = find(old, "podCIDRs");
      networks != nullptr && !array_at(old, "podCIDRs").empty()) {
    const Json* now = find(spec, "podCIDRs");
    if (now == nullptr || !json_equal(*now, *networks)) {
      causes.push_back(cause_forbidden(
          "spec.podCIDRs", "node updates may not change podCIDR except from \"\" to valid"));
    }
  }
  std::string_view provider = text_at(old, "providerID");
  if (!provider.empty() && provider != text_at(spec, "providerID")) {
    causes.push_back(cause_forbidden(
        "spec.providerID", "node updates may not change providerID except from \"\" to valid"));
  }
}

void check_lease(const Json& lease, const Json*, Causes& causes) {
  const Json& spec = object_at(lease, "spec");
  const Json* duration = find(spec, "leaseDurationSeconds");
  if (duration != nullptr && duration->is_int64() && duration->get_int64() <= 0) {
    causes.push_back(
        cause_invalid("spec.leaseDurationSeconds", *duration, "must be greater than 0"));
  }
  check_not_negative(spec, "leaseTransitions", "spec", causes);
}

void check_event(const Json& event, std::string_view involved, Causes& causes) {
  std::string_view space = text_at(event, "metadata", "namespace");
  std::string_view object_space = text_at(event, involved, "namespace");
  bool is_new = !text_at(event, "eventTime").empty();
  bool agrees = object_space == space;
  if (object_space.empty()) {
    agrees = space.empty() || space == "default" || (is_new && space == "kube-system");
  } else if (is_new) {
    agrees = true;
  }
  if (!agrees) {
    causes.push_back(cause_invalid("involvedObject.namespace", Json(object_space),
                                   "does not match event.namespace"));
  }
}

// A stored event was right then.
void check_core_event(const Json& event, const Json* before, Causes& causes) {
  if (before == nullptr) check_event(event, "involvedObject", causes);
}

void check_newer_event(const Json& event, const Json* before, Causes& causes) {
  if (before == nullptr) check_event(event, "regarding", causes);
}

void default_node(JsonObject& object) {
  JsonObject* status = object_in(object, "status");
  if (status == nullptr) return;
  if (const Json* capacity = status->if_contains("capacity")) {
    set_default(*status, "allocatable", Json(*capacity));
  }
}

void default_namespace(JsonObject& object) {
  JsonObject& metadata = ensure_object(object, "metadata");
  std::string name(as_text(metadata.if_contains("name")));
  if (!name.empty()) ensure_object(metadata, "labels")["kubernetes.io/metadata.name"] = name;
}

void begin_namespace(JsonObject& object) {
  default_namespace(object);
  object["status"] = JsonObject{{"phase", "Active"}};
  ensure_object(object, "spec")["finalizers"] = JsonArray{"kubernetes"};
}

void terminate_namespace(JsonObject& object) {
  ensure_object(object, "status")["phase"] = "Terminating";
}

// Its contents go first.
bool is_namespace_finalized(const Json& object) {
  const Json* held = find(object, "spec", "finalizers");
  return held == nullptr || !held->is_array() || held->get_array().empty();
}

std::string_view refuse_system_namespace(std::string_view name) {
  const bool is_of_system = name == "default" || name.starts_with("kube-");
  return is_of_system ? "this namespace may not be deleted" : "";
}

}  // namespace

std::vector<Kind> cluster_kinds() {
  return {
      {.plural = "namespaces",
       .check_name = check_dns_label,
       .selectable = {"status.phase"},
       .defaults = {{"status.phase", "\"Active\""}},
       .set_defaults = default_namespace,
       .has_status_defaults = true,
       .begin = begin_namespace,
       .server_field = "spec",
       .refuse_deletion = refuse_system_namespace,
       .mark_deleted = terminate_namespace,
       .may_vanish = is_namespace_finalized},
      {.plural = "nodes",
       .selectable = {"spec.unschedulable"},
       .set_defaults = default_node,
       .has_status_defaults = true,
       .check = check_node,
       .keeps_status_on_create = true,
       .status_change_keeps_labels = true},
      {.plural = "events",
       .selectable = {"involvedObject.kind", "involvedObject.namespace", "involvedObject.name",
                      "involvedObject.uid", "involvedObject.apiVersion",
                      "involvedObject.resourceVersion", "involvedObject.fieldPath", "reason",
                      "reportingComponent", "source", "type", "regarding.kind",
                      "regarding.namespace", "regarding.name", "regarding.uid",
                      "reportingController"},
       .check = check_core_event,
       .as_version = event_as},
      {.group = "events.k8s.io",
       .plural = "events",
       .check = check_newer_event,
       .as_version = event_as},
      {.group = "coordination.k8s.io",
       .plural = "leases",
       .check = check_lease,
       .is_created_by_update = true},
      {.group = "apiextensions.k8s.io",
       .plural = "customresourcedefinitions",
       .counts_generations = true,
       .prepare = prepare_crd,
       .defines_kinds = true},
  };
}

}  // namespace lockstep::apiserver
