#include <set>

#include "apiserver/kinds/builtin_rules.h"
#include "base/strings.h"

namespace lockstep::apiserver {

namespace {

constexpr size_t data_limit = 1 << 20;

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

void check_data_keys(const Json& object, std::string_view map, size_t& size, Causes& causes) {
  for (const auto& entry : object_at(object, map).get_object()) {
    std::string place = fmt::format("{}[{}]", map, std::string_view(entry.key()));
    take_complaints(check_config_map_key(entry.key()), entry.key(), place, causes);
    size += as_text(&entry.value()).size();
  }
}

void check_immutable_data(const Json& object, const Json* before,
                          std::initializer_list<const char*> maps, Causes& causes) {
  if (before == nullptr || !as_bool(find(*before, "immutable"))) return;
  constexpr std::string_view why = "field is immutable when `immutable` is set";
  if (!as_bool(find(object, "immutable"))) causes.push_back(cause_forbidden("immutable", why));
  for (const char* map : maps) {
    if (!json_equal(object_at(object, map), object_at(*before, map))) {
      causes.push_back(cause_forbidden(map, why));
    }
  }
}

void check_config_map(const Json& object, const Json* before, Causes& causes) {
  size_t size = 0;
  check_data_keys(object, "data", size, causes);
  check_data_keys(object, "binaryData", size, causes);
  for (const auto& entry : object_at(object, "data").get_object()) {
    if (!object_at(object, "binaryData").get_object().contains(entry.key())) continue;
    std::string_view key = entry.key();
    causes.push_back(cause_invalid(fmt::format("data[{}]", key), Json(key),
                                   "duplicate of key present in binaryData"));
  }
  // The empty place means the whole object.
  if (size > data_limit) {
    causes.push_back(cause_too_long("", fmt::format("may not be more than {} bytes", data_limit)));
  }
  check_immutable_data(object, before, {"data", "binaryData"}, causes);
}

void check_secret(const Json& object, const Json* before, Causes& causes) {
  size_t size = 0;
  check_data_keys(object, "data", size, causes);
  if (size / 4 * 3 > data_limit) {
    causes.push_back(
        cause_too_long("data", fmt::format("may not be more than {} bytes", data_limit)));
  }
  std::string_view type = text_at(object, "type");
  auto need = [&](std::string_view key) {
    if (find(object, "data", key) == nullptr) {
      causes.push_back(cause_required(fmt::format("data[{}]", key)));
    }
  };
  if (type == "kubernetes.io/dockerconfigjson") need(".dockerconfigjson");
  if (type == "kubernetes.io/dockercfg") need(".dockercfg");
  if (type == "kubernetes.io/tls") {
    need("tls.crt");
    need("tls.key");
  }
  check_immutable_data(object, before, {"data"}, causes);
  if (before != nullptr && text_at(*before, "type") != type) {
    causes.push_back(cause_invalid("type", Json(type), immutable_message));
  }
}

void check_service_port(const Json& port, const std::string& place, bool named,
                        std::set<std::string>& names, Causes& causes) {
  std::string_view name = text_at(port, "name");
  if (name.empty()) {
    if (named) causes.push_back(cause_required(place + ".name"));
  } else {
    take_complaints(check_dns_label(name), name, place + ".name", causes);
    if (!names.insert(std::string(name)).second) {
      causes.push_back(cause_duplicate(place + ".name", Json(name)));
    }
  }
  const Json* number = find(port, "port");
  check_port(number == nullptr ? Json(0) : *number, place + ".port", causes);
  if (const Json* protocol = find(port, "protocol")) {
    check_one_of(*protocol, place + ".protocol", {"SCTP", "TCP", "UDP"}, causes);
  }
  const Json* target = find(port, "targetPort");
  if (target != nullptr && target->is_int64()) check_port(*target, place + ".targetPort", causes);
}

void check_service(const Json& service, Causes& causes) {
  const Json& spec = object_at(service, "spec");
  std::string_view type = text_at(spec, "type");
  const JsonArray& ports = array_at(spec, "ports");
  bool is_headless = text_at(spec, "clusterIP") == "None";
  if (ports.empty() && !is_headless && type != "ExternalName") {
    causes.push_back(cause_required("spec.ports"));
  }
  if (type == "ExternalName" && text_at(spec, "externalName").empty()) {
    causes.push_back(cause_required("spec.externalName"));
  }
  std::set<std::string> names;
  for (size_t i = 0; i < ports.size(); ++i) {
    check_service_port(ports[i], fmt::format("spec.ports[{}]", i), ports.size() > 1, names, causes);
  }
  check_labels(find(spec, "selector"), "spec.selector", causes);
  if (!type.empty()) {
    check_one_of(Json(type), "spec.type", {"ClusterIP", "ExternalName", "LoadBalancer", "NodePort"},
                 causes);
  }
  if (const Json* affinity = find(spec, "sessionAffinity")) {
    check_one_of(*affinity, "spec.sessionAffinity", {"ClientIP", "None"}, causes);
  }
}

void check_lease(const Json& lease, Causes& causes) {
  const Json& spec = object_at(lease, "spec");
  const Json* duration = find(spec, "leaseDurationSeconds");
  if (duration != nullptr && duration->is_int64() && duration->get_int64() <= 0) {
    causes.push_back(
        cause_invalid("spec.leaseDurationSeconds", *duration, "must be greater than 0"));
  }
  check_not_negative(spec, "leaseTransitions", "spec", causes);
}

void check_budget(const Json& budget, Causes& causes) {
  const Json& spec = object_at(budget, "spec");
  const Json* least = find(spec, "minAvailable");
  const Json* most = find(spec, "maxUnavailable");
  if (least != nullptr && most != nullptr) {
    causes.push_back(
        cause_invalid("spec", spec, "minAvailable and maxUnavailable cannot be both set"));
  }
  if (least != nullptr) check_int_or_percent(*least, "spec.minAvailable", causes);
  if (most != nullptr) check_int_or_percent(*most, "spec.maxUnavailable", causes);
  check_labels(find(spec, "selector", "matchLabels"), "spec.selector.matchLabels", causes);
  if (const Json* policy = find(spec, "unhealthyPodEvictionPolicy")) {
    check_one_of(*policy, "spec.unhealthyPodEvictionPolicy", {"AlwaysAllow", "IfHealthyBudget"},
                 causes);
  }
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

void check_claim_spec(const Json& spec, const std::string& place, Causes& causes) {
  const JsonArray& requests = array_at(object_at(spec, "devices"), "requests");
  std::set<std::string> names;
  for (size_t i = 0; i < requests.size(); ++i) {
    std::string here = fmt::format("{}.devices.requests[{}]", place, i);
    std::string_view name = text_at(requests[i], "name");
    if (name.empty()) {
      causes.push_back(cause_required(here + ".name"));
    } else {
      take_complaints(check_dns_label(name), name, here + ".name", causes);
      if (!names.insert(std::string(name)).second) {
        causes.push_back(cause_duplicate(here + ".name", Json(name)));
      }
    }
    const Json* exactly = find(requests[i], "exactly");
    const Json* first = find(requests[i], "firstAvailable");
    if (exactly == nullptr && first == nullptr) {
      causes.push_back(
          cause_required(here, "exactly one of `exactly` or `firstAvailable` is required"));
    } else if (exactly != nullptr && first != nullptr) {
      causes.push_back(cause_invalid(
          here, Json(),
          "exactly one of `exactly` or `firstAvailable` is required, but multiple fields are set"));
    } else if (exactly != nullptr && text_at(*exactly, "deviceClassName").empty()) {
      causes.push_back(cause_required(here + ".exactly.deviceClassName"));
    }
  }
}

}  // namespace

void check_other(const ResourceInfo& info, const Json& object, const Json* before, Causes& causes) {
  const std::string name = info.type.full_name();
  if (name == "nodes") {
    check_node(object, before, causes);
  } else if (name == "configmaps") {
    check_config_map(object, before, causes);
  } else if (name == "secrets") {
    check_secret(object, before, causes);
  } else if (name == "services") {
    check_service(object, causes);
  } else if (name == "leases.coordination.k8s.io") {
    check_lease(object, causes);
  } else if (name == "poddisruptionbudgets.policy") {
    check_budget(object, causes);
  } else if (name == "events" && before == nullptr) {
    check_event(object, "involvedObject", causes);
  } else if (name == "events.events.k8s.io" && before == nullptr) {
    check_event(object, "regarding", causes);
  } else if (name == "resourceclaims.resource.k8s.io") {
    if (before != nullptr && !json_equal(object_at(object, "spec"), object_at(*before, "spec"))) {
      causes.push_back(cause_invalid("spec", object_at(object, "spec"), immutable_message));
    }
    check_claim_spec(object_at(object, "spec"), "spec", causes);
  } else if (name == "resourceclaimtemplates.resource.k8s.io") {
    check_claim_spec(object_at(object_at(object, "spec"), "spec"), "spec.spec", causes);
  }
}

}  // namespace lockstep::apiserver
