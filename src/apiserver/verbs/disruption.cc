#include "apiserver/verbs/disruption.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "apiserver/verbs/deleting.h"
#include "apiserver/verbs/scale.h"
#include "apiserver/verbs/writing.h"
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

const Json* controller_of(const Json& object) {
  const Json* owners = find(object, "metadata", "ownerReferences");
  if (owners == nullptr || !owners->is_array()) return nullptr;
  for (const Json& owner : owners->get_array()) {
    if (as_bool(find(owner, "controller"))) return &owner;
  }
  return nullptr;
}

struct Controller {
  const ResourceInfo* info;
  StoredPtr object;
};

// The object behind a pod's controller reference that says how many pods there are to be. A
// ReplicaSet of a Deployment gives way to that: during a rollout there are two of them.
Result<Controller> scaled_controller(const Backend& backend, const Json& reference,
                                     const std::string& pod) {
  std::string_view version = text_at(reference, "apiVersion");
  std::string_view kind = text_at(reference, "kind");
  const ResourceInfo* info = backend.table.find_kind(version, kind);
  if (info == nullptr) {
    return failf(ErrorKind::invalid, "no matches for kind \"{}\" in version \"{}\"", kind, version);
  }
  if (!info->has("scale")) {
    return failf(ErrorKind::invalid, "{} does not implement the scale subresource",
                 info->type.full_name());
  }
  auto place = backend.store.find_uid(text_at(reference, "uid"));
  StoredPtr object = place && place->storage == info->storage
                         ? backend.store.shelf(place->storage).find(place->key)
                         : nullptr;
  if (!object) return failf(ErrorKind::not_found, "found no controllers for pod \"{}\"", pod);
  const Json* above = controller_of(object->json());
  if (kind == "ReplicaSet" && above != nullptr && text_at(*above, "kind") == "Deployment") {
    if (auto deployment = scaled_controller(backend, *above, pod)) return deployment;
  }
  return Controller{info, object};
}

// What the controllers of these pods want together. Pods without one add nothing, and one that
// cannot be asked is an error: so it is in the real thing.
Result<int64_t> wanted_pods(const Backend& backend, const std::vector<StoredPtr>& pods) {
  std::map<std::string, int64_t, std::less<>> wanted;
  std::set<std::string_view> asked;
  for (const auto& pod : pods) {
    const Json* reference = controller_of(pod->json());
    if (reference == nullptr || !asked.insert(text_at(*reference, "uid")).second) continue;
    LOCKSTEP_TRY(Controller controller, scaled_controller(backend, *reference, pod->key().name));
    const Json& object = controller.object->json();
    wanted[std::string(text_at(object, "metadata", "uid"))] =
        wanted_replicas(*controller.info, object);
  }
  return std::accumulate(wanted.begin(), wanted.end(), int64_t{0},
                         [](int64_t sum, const auto& each) { return sum + each.second; });
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

struct Expectation {
  int64_t pods = 0;
  int64_t healthy = 0;
};

Result<Expectation> expectation(const Backend& backend, const Json& budget,
                                const std::vector<StoredPtr>& pods) {
  const Json* most = find(budget, "spec", "maxUnavailable");
  const Json* least = find(budget, "spec", "minAvailable");
  if (most == nullptr && least == nullptr) return Expectation{};
  if (most == nullptr && least->is_number()) {
    return Expectation{static_cast<int64_t>(pods.size()), as_integer(least)};
  }
  LOCKSTEP_TRY(int64_t wanted, wanted_pods(backend, pods));
  if (most == nullptr) return Expectation{wanted, scaled(*least, wanted)};
  return Expectation{wanted, std::max<int64_t>(wanted - scaled(*most, wanted), 0)};
}

// The one condition of a budget; it is as old as its status.
JsonArray disruption_condition(const Backend& backend, const Json& budget, std::string_view status,
                               std::string_view reason, std::string_view message,
                               int64_t generation) {
  std::string since = format_rfc3339(backend.loop.now());
  const Json* old = find(budget, "status", "conditions");
  if (old != nullptr && old->is_array() && !old->get_array().empty()) {
    const Json& condition = old->get_array()[0];
    if (text_at(condition, "status") == status) since = text_at(condition, "lastTransitionTime");
  }
  return JsonArray{JsonObject{{"type", "DisruptionAllowed"},
                              {"status", status},
                              {"reason", reason},
                              {"message", message},
                              {"lastTransitionTime", since},
                              {"observedGeneration", generation}}};
}

// Nothing may be disrupted while the count is unknown. The generation stays unobserved.
Json failed_status(const Backend& backend, const Json& budget, const Error& error) {
  const Json* old = find(budget, "status");
  Json status = old != nullptr && old->is_object() ? *old : Json(JsonObject{});
  int64_t observed = as_integer(find(status, "observedGeneration"));
  JsonObject& fields = status.get_object();
  for (const char* count : {"currentHealthy", "desiredHealthy", "expectedPods"}) {
    if (!fields.contains(count)) fields[count] = 0;
  }
  fields["disruptionsAllowed"] = 0;
  fields["conditions"] =
      disruption_condition(backend, budget, "False", "SyncFailed", error.message, observed);
  return status;
}

StatusError blocked(std::string message) {
  StatusError error =
      too_many_requests("Cannot evict pod as it would violate the pod's disruption budget.", 0);
  error.retry_after_seconds.reset();
  error.causes.push_back({"DisruptionBudget", std::move(message), ""});
  return error;
}

// In the real server's words. The counts of a failed attempt are not to be trusted.
std::string why_blocked(const std::string& name, const Json& status) {
  int64_t desired = as_integer(find(status, "desiredHealthy"));
  int64_t current = as_integer(find(status, "currentHealthy"));
  const Json* conditions = find(status, "conditions");
  std::string_view failure;
  if (conditions != nullptr && conditions->is_array() && !conditions->get_array().empty()) {
    const Json& condition = conditions->get_array()[0];
    if (text_at(condition, "reason") == "SyncFailed") failure = text_at(condition, "message");
  }
  std::string start = fmt::format("The disruption budget {}", name);
  if (!failure.empty()) {
    return fmt::format("{} does not allow evicting pods currently because it failed sync: {}",
                       start, failure);
  }
  if (current > desired) return start + " does not allow evicting pods currently";
  return fmt::format("{} needs {} healthy pods and has {} currently", start, desired, current);
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
  if (allowed <= 0) return Refusal(blocked(why_blocked(budget->key().name, *status)));
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
    if (!selector || !selector->matches_object(pod)) continue;
    pods.push_back(at->second);
    // An evicted pod no longer counts, even before its deletion shows.
    bool evicted = disrupted != nullptr && disrupted->is_object() && !is_terminating(pod) &&
                   disrupted->get_object().contains(at->first.name);
    if (evicted) still_disrupted[at->first.name] = disrupted->get_object().at(at->first.name);
    if (!is_terminating(pod) && !evicted && pod_is_ready(pod)) ++healthy;
  }
  auto expected = expectation(backend, budget, pods);
  if (!expected) return failed_status(backend, budget, expected.error());
  int64_t allowed = expected->pods > 0 ? std::max<int64_t>(healthy - expected->healthy, 0) : 0;
  int64_t generation = as_integer(find(budget, "metadata", "generation"));
  JsonObject status;
  if (!still_disrupted.empty()) status["disruptedPods"] = std::move(still_disrupted);
  status["currentHealthy"] = healthy;
  status["desiredHealthy"] = expected->healthy;
  status["expectedPods"] = expected->pods;
  status["disruptionsAllowed"] = allowed;
  status["observedGeneration"] = generation;
  status["conditions"] =
      disruption_condition(backend, budget, allowed > 0 ? "True" : "False",
                           allowed > 0 ? "SufficientPods" : "InsufficientPods", "", generation);
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
