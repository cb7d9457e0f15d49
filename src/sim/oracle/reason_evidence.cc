#include "sim/oracle/reason_evidence.h"

#include <algorithm>

#include "objects/selector.h"
#include "sim/actors/dra.h"

namespace lockstep::sim {

namespace {

constexpr std::string_view budget_storage = "poddisruptionbudgets.policy";

bool allows_nothing(const Json& budget) {
  return as_integer(find(budget, "status", "disruptionsAllowed")) == 0;
}

bool is_eviction(const kube::Request& request) { return request.subresource == "eviction"; }

bool is_refused_by_budget(const kube::Response& reply) {
  if (reply.code != 429) return false;
  auto status = reply.document();
  const Json* causes = status ? find(**status, "details", "causes") : nullptr;
  if (causes == nullptr || !causes->is_array()) return false;
  return std::any_of(causes->get_array().begin(), causes->get_array().end(), [](const Json& cause) {
    return text_at(cause, "reason") == "DisruptionBudget";
  });
}

}  // namespace

void ReasonEvidence::on_change(const std::string& storage, const apiserver::Change& change) {
  if (storage == resource::resource_slices.full_name()) {
    published_[change.object->key().name] = truth_.uptime();
  }
  if (storage != budget_storage) return;
  auto blocks = [](const apiserver::StoredPtr& budget) {
    return budget && allows_nothing(budget->json());
  };
  if (blocks(change.object) || blocks(change.before)) {
    bool gone = change.type == kube::WatchEventType::deleted;
    blocked_[change.object->key()] = {truth_.uptime(), gone, change.object->document()};
  }
}

void ReasonEvidence::on_call(int life, const kube::Request& request) {
  if (is_eviction(request)) evictions_.insert({{request.ns, request.name}, life});
}

void ReasonEvidence::on_reply(int life, const kube::Request& request, const kube::Response& reply) {
  if (!is_eviction(request)) return;
  bool is_over = reply.ok() || reply.code == 404 || reply.code == 409;
  if (is_over || is_refused_by_budget(reply)) evictions_.erase({{request.ns, request.name}, life});
}

bool ReasonEvidence::covers_pod_of(const std::string& node, const ObjectKey& budget,
                                   const Json& object) const {
  auto selector = LabelSelector::from_json(find(object, "spec", "selector"));
  const auto& pods = truth_.pods_on(node);
  return selector && std::any_of(pods.begin(), pods.end(), [&](const auto& pod) {
           return pod.first.ns == budget.ns && selector->matches_object(*pod.second.object);
         });
}

bool ReasonEvidence::blocked_lately(const std::string& node, bool fails) const {
  for (const auto& [name, budget] :
       truth_.cluster().backend.store.shelf(budget_storage).objects()) {
    if (allows_nothing(budget->json()) && covers_pod_of(node, name, budget->json())) return true;
  }
  // Tries are half a minute apart: what the last one met may have passed.
  return std::any_of(blocked_.begin(), blocked_.end(), [&](const auto& entry) {
    const Blocked& blocked = entry.second;
    const bool is_late = !(blocked.gone && fails) && truth_.uptime() - blocked.last <= minutes(1);
    return (is_late || truth_.may_be_unknown(blocked.last)) &&
           covers_pod_of(node, entry.first, *blocked.budget);
  });
}

bool ReasonEvidence::eviction_went_wrong(const std::string& node) const {
  const auto& pods = truth_.pods_on(node);
  return std::any_of(pods.begin(), pods.end(), [&](const auto& pod) {
    auto at = evictions_.lower_bound({pod.first, 0});
    return at != evictions_.end() && at->first == pod.first;
  });
}

Duration ReasonEvidence::published(const std::string& node) const {
  auto at = published_.find(slice_name(node));
  return at == published_.end() ? Duration::min() : at->second;
}

}  // namespace lockstep::sim
