#include "rollout/job_gate.h"

#include <algorithm>
#include <functional>
#include <map>

#include <fmt/format.h>

namespace lockstep::rollout {

namespace {

using Check = std::function<void(StrictReader& value)>;
// The fields that a map may have. A field without a check may have any value.
using Accepted = std::map<std::string, Check, std::less<>>;

const std::map<std::string, std::string, std::less<>>& advice() {
  static const std::string own = "Lockstep sets it; remove it";
  static const std::string sources = "use emptyDir, configMap or downwardAPI";
  static const std::map<std::string, std::string, std::less<>> known = {
      {"nodeName", own},
      {"schedulerName", own},
      {"hostPath", sources},
      {"secret", sources},
      {"projected", sources},
      {"persistentVolumeClaim", sources},
      {"secretKeyRef", "use value, fieldRef, resourceFieldRef or configMapKeyRef"},
      {"secretRef", "use configMapRef"},
      {"volumeDevices", "a gate has no access to devices but its GPUs"},
  };
  return known;
}

void check_map(StrictReader& map, const Accepted& accepted) {
  map.entries([&](const std::string& name, StrictReader& value) {
    auto at = accepted.find(name);
    if (at == accepted.end()) {
      auto hint = advice().find(name);
      value.refuse(hint == advice().end()
                       ? std::string("is not allowed in a Job gate")
                       : fmt::format("is not allowed in a Job gate; {}", hint->second));
    } else if (at->second && !value.json().is_null()) {
      at->second(value);
    }
  });
}

Check map_of(Accepted accepted) {
  return [accepted = std::move(accepted)](StrictReader& value) { check_map(value, accepted); };
}

Check list_of(Check entry) {
  return [entry = std::move(entry)](StrictReader& value) { value.as_list(entry); };
}

// `wanted` is the only accepted value.
Check only(Json wanted) {
  return [wanted = std::move(wanted)](StrictReader& value) {
    if (json_equal(value.json(), wanted)) return;
    value.refuse(strict::not_one(print_json(wanted) + " in a Job gate", value.json()).message);
  };
}

Check only_empty_list() {
  return [](StrictReader& value) {
    const JsonArray* list = array_of(&value.json());
    if (list == nullptr || !list->empty()) value.refuse("must be empty in a Job gate");
  };
}

Check seccomp() { return map_of({{"type", only("RuntimeDefault")}}); }

const Accepted& accepted_of_container() {
  static const Check variable =
      map_of({{"name", {}},
              {"value", {}},
              {"valueFrom",
               map_of({{"fieldRef", {}}, {"resourceFieldRef", {}}, {"configMapKeyRef", {}}})}});
  static const Check mount = map_of({{"name", {}},
                                     {"mountPath", {}},
                                     {"mountPropagation", only("None")},
                                     {"readOnly", {}},
                                     {"recursiveReadOnly", {}},
                                     {"subPath", {}},
                                     {"subPathExpr", {}}});
  static const Check port = map_of(
      {{"name", {}}, {"containerPort", {}}, {"protocol", {}}, {"hostPort", only(int64_t{0})}});
  static const Check rights =
      map_of({{"allowPrivilegeEscalation", only(false)},
              {"capabilities", map_of({{"add", only_empty_list()}, {"drop", {}}})},
              {"privileged", only(false)},
              {"procMount", only("Default")},
              {"readOnlyRootFilesystem", {}},
              {"runAsGroup", {}},
              {"runAsNonRoot", {}},
              {"runAsUser", {}},
              {"seccompProfile", seccomp()}});
  static const Accepted accepted = {
      {"name", {}},
      {"image", {}},
      {"imagePullPolicy", {}},
      {"command", {}},
      {"args", {}},
      {"workingDir", {}},
      {"env", list_of(variable)},
      {"envFrom", list_of(map_of({{"prefix", {}}, {"configMapRef", {}}}))},
      {"ports", list_of(port)},
      {"resources", {}},
      {"securityContext", rights},
      {"terminationMessagePath", {}},
      {"terminationMessagePolicy", {}},
      {"volumeMounts", list_of(mount)},
  };
  return accepted;
}

const Accepted& accepted_of_pod() {
  static const Check containers = list_of(map_of(accepted_of_container()));
  static const Check volumes =
      list_of(map_of({{"name", {}}, {"configMap", {}}, {"downwardAPI", {}}, {"emptyDir", {}}}));
  static const Check rights = map_of({{"fsGroup", {}},
                                      {"fsGroupChangePolicy", {}},
                                      {"runAsGroup", {}},
                                      {"runAsNonRoot", {}},
                                      {"runAsUser", {}},
                                      {"seccompProfile", seccomp()},
                                      {"supplementalGroups", {}},
                                      {"supplementalGroupsPolicy", {}}});
  static const Accepted accepted = {
      {"activeDeadlineSeconds", {}},
      {"automountServiceAccountToken", only(false)},
      {"containers", containers},
      {"dnsConfig", {}},
      {"dnsPolicy", {}},
      {"enableServiceLinks", {}},
      {"hostIPC", only(false)},
      {"hostNetwork", only(false)},
      {"hostPID", only(false)},
      {"hostUsers", {}},
      {"imagePullSecrets", {}},
      {"initContainers", containers},
      {"nodeSelector", {}},
      {"resourceClaims", {}},
      {"restartPolicy", {}},
      {"runtimeClassName", {}},
      {"securityContext", rights},
      {"serviceAccount", only(gate_account)},
      {"serviceAccountName", only(gate_account)},
      {"shareProcessNamespace", {}},
      {"terminationGracePeriodSeconds", {}},
      {"tolerations", {}},
      {"volumes", volumes},
  };
  return accepted;
}

void confine_containers(JsonObject& pod, std::string_view list) {
  Json* containers = pod.if_contains(list);
  if (containers == nullptr || !containers->is_array()) return;
  for (Json& container : containers->as_array()) {
    if (!container.is_object()) continue;
    ensure_object(container.as_object(), "securityContext")["allowPrivilegeEscalation"] = false;
  }
}

}  // namespace

void check_job_gate(StrictReader& job) {
  check_map(job, {{"template", map_of({{"metadata", {}}, {"spec", map_of(accepted_of_pod())}})}});
  const Json* containers = find(job.json(), "template", "spec", "containers");
  if (containers == nullptr || (containers->is_array() && containers->get_array().empty())) {
    job.refuse("template.spec.containers", "is missing");
  }
}

void confine_pod(JsonObject& pod) {
  pod["serviceAccountName"] = gate_account;
  pod["automountServiceAccountToken"] = false;
}

JsonObject job_gate_pod(const Json& details) {
  JsonObject pod;
  const Json* given = find(details, "template", "spec");
  if (given != nullptr && given->is_object()) pod = given->get_object();
  confine_pod(pod);
  JsonObject& rights = ensure_object(pod, "securityContext");
  rights["seccompProfile"] = JsonObject{{"type", "RuntimeDefault"}};
  confine_containers(pod, "initContainers");
  confine_containers(pod, "containers");
  return pod;
}

}  // namespace lockstep::rollout
