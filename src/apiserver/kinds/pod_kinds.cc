#include <algorithm>

#include "apiserver/kinds/builtin_defaults.h"
#include "apiserver/kinds/builtin_rules.h"
#include "apiserver/kinds/kind.h"
#include "apiserver/kinds/quality_of_service.h"

namespace lockstep::apiserver {

namespace {

void begin_pod(JsonObject& pod) { pod["status"] = JsonObject{{"phase", "Pending"}}; }

// Only after defaults its requests are known.
void complete_pod(Json& pod) {
  ensure_object(pod.as_object(), "status")["qosClass"] = quality_of_service(pod);
}

void default_pod_status(JsonObject& pod) {
  JsonObject& status = ensure_object(pod, "status");
  if (!status.contains("phase")) status["phase"] = "Pending";
}

// How long the pod has to end. Only a pod that runs somewhere gets any time.
int64_t grace_of_pod(const Json& pod, std::optional<int64_t> asked) {
  if (text_at(pod, "spec", "nodeName").empty()) return 0;
  std::string_view phase = text_at(pod, "status", "phase");
  if (phase == "Succeeded" || phase == "Failed") return 0;
  const int64_t own = as_integer(find(pod, "spec", "terminationGracePeriodSeconds"), 30);
  return std::max<int64_t>(asked.value_or(own), 0);
}

// A pod with a grace period left is its kubelet's to remove.
bool has_no_grace_left(const Json& pod) {
  return as_integer(find(pod, "metadata", "deletionGracePeriodSeconds")) == 0;
}

}  // namespace

std::vector<Kind> pod_kinds() {
  return {
      {.plural = "pods",
       .counts_generations = true,
       .selectable = {"spec.nodeName", "spec.restartPolicy", "spec.schedulerName",
                      "spec.serviceAccountName", "spec.hostNetwork", "status.phase", "status.podIP",
                      "status.podIPs", "status.nominatedNodeName"},
       .set_defaults = default_pod,
       .has_status_defaults = true,
       .default_status = default_pod_status,
       .check = check_pod,
       .begin = begin_pod,
       .complete = complete_pod,
       .status_change_keeps_labels = true,
       .grace = grace_of_pod,
       .may_vanish = has_no_grace_left,
       .is_answered_with_object = true},
      {.plural = "podtemplates", .counts_generations = true},
  };
}

}  // namespace lockstep::apiserver
