#include "apiserver/disruption.h"

#include <algorithm>
#include <set>

#include "apiserver/deleting.h"
#include "apiserver/writing.h"
#include "base/strings.h"
#include "objects/selector.h"

namespace lockstep::apiserver {

namespace {

constexpr std::string_view budget_storage = "poddisruptionbudgets.policy";

bool pod_is_ready(const Json& pod) {
  const Json* conditions = find(pod, "status", "conditions");
  if (conditions == nullptr || !conditions->is_array()) return false;
  return std::any_of(
      conditions->get_array().begin(), conditions->get_array().end(), [](const Json& condition) {
        return text_at(condition, "type") == "Ready" && text_at(condition, "status") == "True";
      });
}

bool pod_has_ended(const Json& pod) {
  std::string_view phase = text_at(pod, "status", "phase");
  return phase == "Succeeded" || phase == "Failed";
}

// The controller's wish for replicas; the pods of a controller that we cannot ask count as
// themselves.
int64_t expected_pods(const Backend& backend, const std::vector<StoredPtr>& pods) {
  std::set<std::string, std::less<>> asked;
  int64_t expected = 0;
  for (const auto& pod : pods) {
    const Json* owners = find(pod->json(), "metadata", "ownerReferences");
    bool counted = false;
    if (owners != nullptr && owners->is_array()) {
      for (const Json& owner : owners->get_array()) {
        if (!as_bool(find(owner, "controller"))) continue;
        std::string uid(text_at(owner, "uid"));
        auto place = backend.store.find_uid(uid);
        if (!place) continue;
        StoredPtr controller = backend.store.shelf(place->storage).find(place->key);
        const Json* replicas = controller ? find(controller->json(), "spec", "replicas") : nullptr;
        if (replicas == nullptr) continue;
        counted = true;
        if (asked.insert(uid).second) expected += as_integer(replicas);
      }
    }
    if (!counted) ++expected;
  }
  return expected;
}

// An integer, or a percentage of the total rounded up.
int64_t scaled(const Json& value, int64_t total) {
  if (value.is_number()) return as_integer(&value);
  std::string_view text = as_text(&value);
  if (!text.empty() && text.back() == '%') {
    return (parse_integer(text.substr(0, text.size() - 1)).value_or(0) * total + 99) / 100;
  }
  return parse_integer(text).value_or(0);
}

StatusError blocked(std::string message) {
  StatusError error =
      too_many_requests("Cannot evict pod as it would violate the pod's disruption budget.", 0);
  error.retry_after_seconds.reset();
  error.causes.push_back({"DisruptionBudget", std::move(message), ""});
  return error;
}

// Takes one disruption from the budget, or says why not.
Outcome<void> take_disruption(Backend& backend, const StoredPtr& budget, const std::string& pod) {
  const Json& object = budget->json();
  const Json* status = find(object, "status");
  int64_t generation = as_integer(find(object, "metadata", "generation"));
  if (status == nullptr || as_integer(find(*status, "observedGeneration")) < generation) {
    StatusError error = blocked(fmt::format(
        "The disruption budget {} is still being processed by the server.", budget->key().name));
    error.retry_after_seconds = 10;
    return Refusal(std::move(error));
  }
  int64_t allowed = as_integer(find(*status, "disruptionsAllowed"));
  if (allowed <= 0) {
    return Refusal(blocked(fmt::format(
        "The disruption budget {} needs {} healthy pods and has {} currently", budget->key().name,
        as_integer(find(*status, "desiredHealthy")), as_integer(find(*status, "currentHealthy")))));
  }
  Json changed = object;
  JsonObject& new_status = changed.as_object()["status"].as_object();
  new_status["disruptionsAllowed"] = allowed - 1;
  ensure_object(new_status, "disruptedPods")[pod] = format_rfc3339(backend.loop.now());
  rewrite(backend, std::string(budget_storage), budget, std::move(changed));
  return {};
}

}  // namespace

std::vector<StoredPtr> budgets_for(const Backend& backend, const std::string& ns, const Json& pod) {
  std::vector<StoredPtr> found;
  auto [at, end] = backend.store.shelf(budget_storage).range(ns);
  for (; at != end; ++at) {
    auto selector = LabelSelector::from_json(find(at->second->json(), "spec", "selector"));
    if (selector && selector->matches_object(pod)) found.push_back(at->second);
  }
  return found;
}

Json budget_status(const Backend& backend, const Json& budget) {
  std::string ns(text_at(budget, "metadata", "namespace"));
  auto selector = LabelSelector::from_json(find(budget, "spec", "selector"));
  std::vector<StoredPtr> pods;
  const Json* disrupted = find(budget, "status", "disruptedPods");
  JsonObject still_disrupted;
  int64_t healthy = 0;
  auto [at, end] = backend.store.shelf("pods").range(ns);
  for (; at != end; ++at) {
    const Json& pod = at->second->json();
    if (!selector || pod_has_ended(pod) || !selector->matches_object(pod)) continue;
    pods.push_back(at->second);
    // An evicted pod no longer counts, even before its deletion shows.
    bool evicted = disrupted != nullptr && disrupted->is_object() && !is_terminating(pod) &&
                   disrupted->get_object().contains(at->first.name);
    if (evicted) still_disrupted[at->first.name] = disrupted->get_object().at(at->first.name);
    if (!is_terminating(pod) && !evicted && pod_is_ready(pod)) ++healthy;
  }
  int64_t expected = expected_pods(backend, pods);
  int64_t desired = 0;
  if (const Json* least = find(budget, "spec", "minAvailable")) {
    desired = scaled(*least, expected);
  } else if (const Json* most = find(budget, "spec", "maxUnavailable")) {
    desired = std::max<int64_t>(expected - scaled(*most, expected), 0);
  }
  JsonObject status;
  if (!still_disrupted.empty()) status["disruptedPods"] = std::move(still_disrupted);
  status["currentHealthy"] = healthy;
  status["desiredHealthy"] = desired;
  status["expectedPods"] = expected;
  status["disruptionsAllowed"] = pods.empty() ? 0 : std::max<int64_t>(healthy - desired, 0);
  status["observedGeneration"] = as_integer(find(budget, "metadata", "generation"));
  bool sufficient = status["disruptionsAllowed"].as_int64() > 0;
  const Json* old = find(budget, "status", "conditions");
  std::string since = format_rfc3339(backend.loop.now());
  if (old != nullptr && old->is_array() && !old->get_array().empty()) {
    const Json& condition = old->get_array()[0];
    if (text_at(condition, "status") == (sufficient ? "True" : "False")) {
      since = text_at(condition, "lastTransitionTime");
    }
  }
  status["conditions"] =
      JsonArray{JsonObject{{"type", "DisruptionAllowed"},
                           {"status", sufficient ? "True" : "False"},
                           {"reason", sufficient ? "SufficientPods" : "InsufficientPods"},
                           {"message", ""},
                           {"lastTransitionTime", since},
                           {"observedGeneration", status["observedGeneration"]}}};
  return status;
}

void refresh_budget(Backend& backend, const ObjectKey& key) {
  StoredPtr budget = backend.store.shelf(budget_storage).find(key);
  if (!budget) return;
  Json object = budget->json();
  object.as_object()["status"] = budget_status(backend, budget->json());
  rewrite(backend, std::string(budget_storage), budget, std::move(object));
}

Outcome<Answer> evict_pod(Backend& backend, const ResourceInfo& info,
                          const kube::Request& request) {
  StoredPtr pod = backend.store.shelf(info.storage).find(ObjectKey{request.ns, request.name});
  if (!pod) return Refusal(not_found(info.type, request.name));
  kube::Request inner = request;
  const Json* asked = request.body ? find(*request.body, "deleteOptions") : nullptr;
  inner.body = asked == nullptr ? nullptr : std::make_shared<const Json>(*asked);
  auto options = read_delete_options(inner);
  if (!options) return Refusal(options.error());

  std::string_view phase = text_at(pod->json(), "status", "phase");
  bool protected_by_budgets =
      !pod_has_ended(pod->json()) && !is_terminating(pod->json()) && phase != "Pending";
  if (protected_by_budgets) {
    auto budgets = budgets_for(backend, request.ns, pod->json());
    if (budgets.size() > 1) {
      return Refusal(
          internal_error("This pod has more than one PodDisruptionBudget, which the eviction "
                         "subresource does not support."));
    }
    if (!budgets.empty()) {
      bool healthy = pod_is_ready(pod->json());
      std::string_view unhealthy_policy =
          text_at(budgets[0]->json(), "spec", "unhealthyPodEvictionPolicy");
      int64_t current = as_integer(find(budgets[0]->json(), "status", "currentHealthy"));
      int64_t desired = as_integer(find(budgets[0]->json(), "status", "desiredHealthy"));
      bool free =
          !healthy && (unhealthy_policy == "AlwaysAllow" || (current >= desired && desired > 0));
      if (!free && !options->dry_run) {
        if (auto ok = take_disruption(backend, budgets[0], request.name); !ok)
          return Refusal(ok.error());
      }
    }
  }
  auto left = delete_stored(backend, info, pod, *options);
  if (!left) return Refusal(left.error());
  Answer answer;
  answer.code = 201;
  answer.body = Json(JsonObject{{"kind", "Status"},
                                {"apiVersion", "v1"},
                                {"metadata", JsonObject{}},
                                {"status", "Success"},
                                {"code", 201}});
  return answer;
}

}  // namespace lockstep::apiserver
