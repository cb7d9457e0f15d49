#include <set>

#include "apiserver/kinds/builtin_defaults.h"
#include "apiserver/kinds/builtin_rules.h"
#include "apiserver/kinds/kind.h"

namespace lockstep::apiserver {

namespace {

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

void check_service(const Json& service, const Json*, Causes& causes) {
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

void default_service(JsonObject& object) {
  JsonObject& spec = ensure_object(object, "spec");
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

void default_network_policy(JsonObject& object) {
  JsonObject* spec = object_in(object, "spec");
  if (spec == nullptr) return;
  bool has_egress = spec->contains("egress");
  set_default(*spec, "policyTypes",
              has_egress ? JsonArray{"Ingress", "Egress"} : JsonArray{"Ingress"});
}

}  // namespace

std::vector<Kind> network_kinds() {
  return {
      {.plural = "services",
       .check_name = check_dns1035_label,
       .selectable = {"spec.clusterIP", "spec.type"},
       .defaults = {{"spec.type", "\"ClusterIP\""}, {"spec.sessionAffinity", "\"None\""}},
       .set_defaults = default_service,
       .check = check_service},
      {.group = "networking.k8s.io",
       .plural = "networkpolicies",
       .counts_generations = true,
       .set_defaults = default_network_policy},
      {.group = "discovery.k8s.io", .plural = "endpointslices", .counts_generations = true},
  };
}

}  // namespace lockstep::apiserver
