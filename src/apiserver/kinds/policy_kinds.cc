#include "apiserver/kinds/builtin_defaults.h"
#include "apiserver/kinds/builtin_rules.h"
#include "apiserver/kinds/kind.h"

namespace lockstep::apiserver {

namespace {

void check_budget(const Json& budget, const Json*, Causes& causes) {
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

void default_subjects(JsonObject& object) {
  for_each_object(object, "subjects", [](JsonObject& subject) {
    std::string_view kind = as_text(subject.if_contains("kind"));
    if (kind == "User" || kind == "Group") {
      set_default(subject, "apiGroup", "rbac.authorization.k8s.io");
    }
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

}  // namespace

std::vector<Kind> policy_kinds() {
  constexpr std::string_view rbac = "rbac.authorization.k8s.io";
  constexpr std::string_view admission = "admissionregistration.k8s.io";
  const PlainDefault group_of_role{"roleRef.apiGroup", "\"rbac.authorization.k8s.io\""};
  return {
      {.group = "policy",
       .plural = "poddisruptionbudgets",
       .counts_generations = true,
       .check = check_budget},
      {.group = "scheduling.k8s.io",
       .plural = "priorityclasses",
       .counts_generations = true,
       .defaults = {{"preemptionPolicy", "\"PreemptLowerPriority\""}}},
      {.group = rbac, .plural = "roles", .check_name = check_path_segment},
      {.group = rbac, .plural = "clusterroles", .check_name = check_path_segment},
      {.group = rbac,
       .plural = "rolebindings",
       .check_name = check_path_segment,
       .defaults = {group_of_role},
       .set_defaults = default_subjects},
      {.group = rbac,
       .plural = "clusterrolebindings",
       .check_name = check_path_segment,
       .defaults = {group_of_role},
       .set_defaults = default_subjects},
      {.group = admission,
       .plural = "mutatingwebhookconfigurations",
       .counts_generations = true,
       .set_defaults = [](JsonObject& object) { default_webhooks(object, true); }},
      {.group = admission,
       .plural = "validatingwebhookconfigurations",
       .counts_generations = true,
       .set_defaults = [](JsonObject& object) { default_webhooks(object, false); }},
      {.group = admission,
       .plural = "validatingadmissionpolicies",
       .counts_generations = true,
       .defaults = {{"spec.failurePolicy", "\"Fail\""}}},
      {.group = admission,
       .plural = "validatingadmissionpolicybindings",
       .counts_generations = true},
  };
}

}  // namespace lockstep::apiserver
