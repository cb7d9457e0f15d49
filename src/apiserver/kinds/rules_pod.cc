#include <algorithm>
#include <set>

#include "apiserver/kinds/builtin_rules.h"
#include "base/strings.h"
#include "objects/quantity.h"

namespace lockstep::apiserver {

namespace {

// Names of volumes and claims that a container may use.
struct PodNames {
  std::set<std::string> volumes;
  std::set<std::string> claims;
};

std::string at_index(const std::string& place, std::string_view key, size_t index) {
  return fmt::format("{}.{}[{}]", place, key, index);
}

StatusCause not_found_cause(const std::string& place, std::string_view value) {
  return {"FieldValueNotFound", "Not found: " + go_quote(value), place};
}

void check_dns_name(const Json& object, const std::string& place, std::set<std::string>& seen,
                    Causes& causes) {
  std::string_view name = text_at(object, "name");
  if (name.empty()) {
    causes.push_back(cause_required(place + ".name"));
    return;
  }
  take_complaints(check_dns_label(name), name, place + ".name", causes);
  if (!seen.insert(std::string(name)).second) {
    causes.push_back(cause_duplicate(place + ".name", Json(name)));
  }
}

// IANA service names, at most 15 characters.
void check_port_name(std::string_view name, const std::string& place, Causes& causes) {
  auto invalid = [&](std::string_view why) {
    causes.push_back(cause_invalid(place, Json(name), why));
  };
  if (name.size() > 15) invalid("must be no more than 15 characters");
  auto is_allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  };
  if (!std::all_of(name.begin(), name.end(), is_allowed)) {
    invalid("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
  }
  if (std::none_of(name.begin(), name.end(), [](char c) { return c >= 'a' && c <= 'z'; })) {
    invalid("must contain at least one letter (a-z)");
  }
  if (name.find("--") != std::string_view::npos) invalid("must not contain consecutive hyphens");
  if (!name.empty() && (name.front() == '-' || name.back() == '-')) {
    invalid("must not begin or end with a hyphen");
  }
}

void check_ports(const Json& container, const std::string& place, Causes& causes) {
  std::set<std::string> names;
  const JsonArray& ports = array_at(container, "ports");
  for (size_t i = 0; i < ports.size(); ++i) {
    std::string here = at_index(place, "ports", i);
    if (std::string_view name = text_at(ports[i], "name"); !name.empty()) {
      check_port_name(name, here + ".name", causes);
      if (!names.insert(std::string(name)).second) {
        causes.push_back(cause_duplicate(here + ".name", Json(name)));
      }
    }
    const Json* number = find(ports[i], "containerPort");
    if (as_integer(number) == 0) {
      causes.push_back(cause_required(here + ".containerPort"));
    } else {
      check_port(*number, here + ".containerPort", causes);
    }
    if (const Json* host = find(ports[i], "hostPort"); as_integer(host) != 0) {
      check_port(*host, here + ".hostPort", causes);
    }
    if (const Json* protocol = find(ports[i], "protocol")) {
      check_one_of(*protocol, here + ".protocol", {"SCTP", "TCP", "UDP"}, causes);
    }
  }
}

void check_mounts(const Json& container, const PodNames& names, const std::string& place,
                  Causes& causes) {
  std::set<std::string> paths;
  const JsonArray& mounts = array_at(container, "volumeMounts");
  for (size_t i = 0; i < mounts.size(); ++i) {
    std::string here = at_index(place, "volumeMounts", i);
    std::string name(text_at(mounts[i], "name"));
    std::string path(text_at(mounts[i], "mountPath"));
    if (name.empty()) causes.push_back(cause_required(here + ".name"));
    if (!names.volumes.contains(name)) causes.push_back(not_found_cause(here + ".name", name));
    if (path.empty()) causes.push_back(cause_required(here + ".mountPath"));
    if (!paths.insert(path).second) {
      causes.push_back(cause_invalid(here + ".mountPath", Json(path), "must be unique"));
    }
  }
}

void check_environment(const Json& container, const std::string& place, Causes& causes) {
  const JsonArray& variables = array_at(container, "env");
  for (size_t i = 0; i < variables.size(); ++i) {
    std::string here = at_index(place, "env", i);
    std::string_view name = text_at(variables[i], "name");
    if (name.empty()) causes.push_back(cause_required(here + ".name"));
    if (name.find('=') != std::string_view::npos) {
      causes.push_back(
          cause_invalid(here + ".name", Json(name),
                        "a valid environment variable name must consist only of printable "
                        "ASCII characters other than '='"));
    }
    const Json* from = find(variables[i], "valueFrom");
    if (from != nullptr && !text_at(variables[i], "value").empty()) {
      causes.push_back(
          cause_invalid(here + ".valueFrom", "", "may not be specified when `value` is not empty"));
    }
  }
}

void check_claims_used(const Json& container, const PodNames& names, const std::string& place,
                       Causes& causes) {
  const Json* resources = find(container, "resources");
  if (resources == nullptr) return;
  const JsonArray& claims = array_at(*resources, "claims");
  for (size_t i = 0; i < claims.size(); ++i) {
    std::string here = at_index(place + ".resources", "claims", i) + ".name";
    std::string name(text_at(claims[i], "name"));
    if (name.empty()) {
      causes.push_back(cause_required(here));
    } else if (!names.claims.contains(name)) {
      causes.push_back(not_found_cause(here, name));
    }
  }
}

void check_container(const Json& container, const PodNames& names, const std::string& place,
                     std::set<std::string>& seen, Causes& causes) {
  check_dns_name(container, place, seen, causes);
  if (text_at(container, "image").empty()) causes.push_back(cause_required(place + ".image"));
  if (const Json* policy = find(container, "terminationMessagePolicy")) {
    check_one_of(*policy, place + ".terminationMessagePolicy", {"File", "FallbackToLogsOnError"},
                 causes);
  }
  check_ports(container, place, causes);
  check_environment(container, place, causes);
  check_mounts(container, names, place, causes);
  if (const Json* policy = find(container, "imagePullPolicy")) {
    check_one_of(*policy, place + ".imagePullPolicy", {"Always", "IfNotPresent", "Never"}, causes);
  }
  if (const Json* resources = find(container, "resources")) {
    check_container_resources(*resources, place + ".resources", causes);
  }
  check_claims_used(container, names, place, causes);
}

void check_containers(const Json& spec, const PodNames& names, const std::string& place,
                      Causes& causes) {
  const JsonArray& containers = array_at(spec, "containers");
  if (containers.empty()) causes.push_back(cause_required(place + ".containers"));
  std::set<std::string> seen;
  for (size_t i = 0; i < containers.size(); ++i) {
    check_container(containers[i], names, at_index(place, "containers", i), seen, causes);
  }
  const JsonArray& first = array_at(spec, "initContainers");
  for (size_t i = 0; i < first.size(); ++i) {
    check_container(first[i], names, at_index(place, "initContainers", i), seen, causes);
  }
}

PodNames check_volumes_and_claims(const Json& spec, const std::string& place, Causes& causes) {
  PodNames names;
  const JsonArray& volumes = array_at(spec, "volumes");
  for (size_t i = 0; i < volumes.size(); ++i) {
    check_dns_name(volumes[i], at_index(place, "volumes", i), names.volumes, causes);
  }
  const JsonArray& claims = array_at(spec, "resourceClaims");
  for (size_t i = 0; i < claims.size(); ++i) {
    std::string here = at_index(place, "resourceClaims", i);
    check_dns_name(claims[i], here, names.claims, causes);
    bool named = find(claims[i], "resourceClaimName") != nullptr;
    bool templated = find(claims[i], "resourceClaimTemplateName") != nullptr;
    if (named && templated) {
      causes.push_back(cause_invalid(
          here, claims[i],
          "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"));
    } else if (!named && !templated) {
      causes.push_back(
          cause_invalid(here, claims[i],
                        "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"));
    }
  }
  return names;
}

void check_toleration(const Json& toleration, const std::string& place, Causes& causes) {
  std::string_view key = text_at(toleration, "key");
  std::string_view op = text_at(toleration, "operator");
  std::string_view value = text_at(toleration, "value");
  std::string_view effect = text_at(toleration, "effect");
  if (!key.empty()) take_complaints(check_qualified_name(key), key, place + ".key", causes);
  if (key.empty() && op != "Exists") {
    causes.push_back(
        cause_invalid(place + ".operator", Json(op),
                      "operator must be Exists when `key` is empty, which means \"match all "
                      "values and all keys\""));
  }
  if (find(toleration, "tolerationSeconds") != nullptr && effect != "NoExecute") {
    causes.push_back(cause_invalid(place + ".effect", Json(effect),
                                   "effect must be 'NoExecute' when `tolerationSeconds` is set"));
  }
  if (op == "Exists" && !value.empty()) {
    causes.push_back(cause_invalid(place + ".operator", Json(value),
                                   "value must be empty when `operator` is 'Exists'"));
  } else if (!op.empty() && op != "Exists" && op != "Equal") {
    causes.push_back(cause_unsupported(place + ".operator", Json(op), {"Equal", "Exists"}));
  }
  if (!effect.empty()) {
    check_one_of(Json(effect), place + ".effect", {"NoSchedule", "PreferNoSchedule", "NoExecute"},
                 causes);
  }
}

// What an update of a pod may change is set back to what it was; the rest must then be equal.
Json without_updatable(const Json& spec, const Json& old_spec) {
  Json munged = spec;
  JsonObject& object = munged.get_object();
  auto restore = [&](std::string_view key) {
    if (const Json* old = find(old_spec, key)) {
      object[key] = *old;
    } else {
      erase_key(object, key);
    }
  };
  for (const char* list : {"containers", "initContainers"}) {
    Json* containers = find(munged, list);
    const JsonArray& old = array_at(old_spec, list);
    if (containers == nullptr || !containers->is_array()) continue;
    JsonArray& array = containers->get_array();
    for (size_t i = 0; i < std::min(array.size(), old.size()); ++i) {
      if (const Json* image = find(old[i], "image"); image != nullptr && array[i].is_object()) {
        array[i].get_object()["image"] = *image;
      }
    }
  }
  restore("activeDeadlineSeconds");
  restore("schedulingGates");
  restore("tolerations");
  restore("ephemeralContainers");  // the subresource of that name changes them
  bool was_negative = as_integer(find(old_spec, "terminationGracePeriodSeconds")) < 0;
  if (was_negative && as_integer(find(spec, "terminationGracePeriodSeconds")) == 1) {
    restore("terminationGracePeriodSeconds");
  }
  if (!array_at(old_spec, "schedulingGates").empty()) {
    restore("nodeSelector");
    restore("affinity");
  }
  return munged;
}

bool keeps_tolerations(const Json& spec, const Json& old_spec) {
  const JsonArray& tolerations = array_at(spec, "tolerations");
  for (Json old : array_at(old_spec, "tolerations")) {
    bool found = std::any_of(tolerations.begin(), tolerations.end(), [&](Json each) {
      if (each.is_object()) erase_key(each.get_object(), "tolerationSeconds");
      if (old.is_object()) erase_key(old.get_object(), "tolerationSeconds");
      return json_equal(each, old);
    });
    if (!found) return false;
  }
  return true;
}

void check_pod_update(const Json& spec, const Json& old_spec, Causes& causes) {
  for (const char* list : {"containers", "initContainers"}) {
    if (array_at(spec, list).size() == array_at(old_spec, list).size()) continue;
    causes.push_back(cause_forbidden(fmt::format("spec.{}", list),
                                     "pod updates may not add or remove containers"));
    return;
  }
  if (!keeps_tolerations(spec, old_spec)) {
    causes.push_back(
        cause_forbidden("spec.tolerations",
                        "existing toleration can not be modified except its tolerationSeconds"));
  }
  if (json_equal(spec, old_spec) || json_equal(without_updatable(spec, old_spec), old_spec)) return;
  causes.push_back(
      cause_forbidden("spec",
                      "pod updates may not change fields other than `spec.containers[*].image`,"
                      "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec."
                      "tolerations` (only additions to "
                      "existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be "
                      "set to 1 if it was "
                      "previously negative)"));
}

bool is_integer_resource(std::string_view name) {
  return name == "pods" || name == "services" || is_extended_resource(name);
}

std::string quantity_text(const Json& value) {
  return value.is_string() ? std::string(value.get_string()) : print_json(value);
}

void check_amount(std::string_view name, const Json& value, const std::string& place,
                  Causes& causes) {
  Result<Quantity> amount = Quantity::parse(quantity_text(value));
  if (!amount) return;  // the decoder has refused it
  if (amount->milli_value() < 0) {
    causes.push_back(cause_invalid(place, value, "must be greater than or equal to 0"));
  }
  if (is_integer_resource(name) && amount->milli_value() % 1000 != 0) {
    causes.push_back(cause_invalid(place, value, "must be an integer"));
  }
}

bool may_overcommit(std::string_view name) {
  return !is_extended_resource(name) && !name.starts_with("hugepages-");
}

void check_request(std::string_view name, const Json& request, const Json* limit,
                   const std::string& place, Causes& causes) {
  if (limit == nullptr) {
    if (!may_overcommit(name)) {
      causes.push_back(
          cause_required(place + ".limits", "Limit must be set for non overcommitable resources"));
    }
    return;
  }
  Result<Quantity> wanted = Quantity::parse(quantity_text(request));
  Result<Quantity> most = Quantity::parse(quantity_text(*limit));
  if (!wanted || !most) return;
  if (*wanted != *most && !may_overcommit(name)) {
    causes.push_back(
        cause_invalid(place + ".requests", Json(quantity_text(request)),
                      fmt::format("must be equal to {} limit of {}", name, quantity_text(*limit))));
  } else if (*wanted > *most) {
    causes.push_back(cause_invalid(
        place + ".requests", Json(quantity_text(request)),
        fmt::format("must be less than or equal to {} limit of {}", name, quantity_text(*limit))));
  }
}

}  // namespace

void check_container_resources(const Json& resources, const std::string& place, Causes& causes) {
  for (const char* list : {"limits", "requests"}) {
    const Json* amounts = find(resources, list);
    if (amounts == nullptr || !amounts->is_object()) continue;
    for (const auto& entry : amounts->get_object()) {
      std::string here = fmt::format("{}.{}[{}]", place, list, std::string_view(entry.key()));
      take_complaints(check_qualified_name(entry.key()), entry.key(), here, causes);
      check_amount(entry.key(), entry.value(), here, causes);
      if (std::string_view(list) == "requests") {
        check_request(entry.key(), entry.value(),
                      find(resources, "limits", std::string_view(entry.key())), place, causes);
      }
    }
  }
}

void check_pod_spec(const Json& spec, const std::string& place, Causes& causes) {
  PodNames names = check_volumes_and_claims(spec, place, causes);
  check_containers(spec, names, place, causes);
  if (const Json* policy = find(spec, "restartPolicy")) {
    check_one_of(*policy, place + ".restartPolicy", {"Always", "OnFailure", "Never"}, causes);
  }
  if (const Json* policy = find(spec, "dnsPolicy")) {
    check_one_of(*policy, place + ".dnsPolicy",
                 {"ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"}, causes);
  }
  check_labels(find(spec, "nodeSelector"), place + ".nodeSelector", causes);
  if (std::string_view node = text_at(spec, "nodeName"); !node.empty()) {
    take_complaints(check_dns_subdomain(node), node, place + ".nodeName", causes);
  }
  if (std::string_view account = text_at(spec, "serviceAccountName"); !account.empty()) {
    take_complaints(check_dns_subdomain(account), account, place + ".serviceAccountName", causes);
  }
  const JsonArray& tolerations = array_at(spec, "tolerations");
  for (size_t i = 0; i < tolerations.size(); ++i) {
    check_toleration(tolerations[i], at_index(place, "tolerations", i), causes);
  }
  const Json* deadline = find(spec, "activeDeadlineSeconds");
  if (deadline != nullptr && as_integer(deadline) < 1) {
    causes.push_back(cause_invalid(place + ".activeDeadlineSeconds", *deadline,
                                   "must be between 1 and 2147483647, inclusive"));
  }
}

void check_pod(const Json& pod, const Json* before, Causes& causes) {
  static const Json nothing = JsonObject();
  const Json* spec = find(pod, "spec");
  check_pod_spec(spec == nullptr ? nothing : *spec, "spec", causes);
  if (before == nullptr || spec == nullptr || !spec->is_object()) return;
  const Json* old_spec = find(*before, "spec");
  check_pod_update(*spec, old_spec == nullptr ? nothing : *old_spec, causes);
}

}  // namespace lockstep::apiserver
