#include "view/pool_rules.h"

#include <utility>

#include <fmt/format.h>

namespace lockstep::view {

PoolRules::PoolRules(const Loop& loop, const std::string& key_domain, fleet::DriverOptions drivers)
    : loop_(loop), drivers_(std::move(drivers)), own_switch_(key_domain != "nvidia.com") {
  policies_[""] = std::make_shared<const upgrade::Policy>(upgrade::Policy::none());
  limited_ = policies_;
}

// Of the policies and the conflicting controller as they were until now.
void PoolRules::note_idle_pools() {
  for (const auto& [pool, policy] : policies_) {
    if (!acts(*policy)) idle_until_[pool] = loop_.uptime();
  }
}

bool PoolRules::read(const FleetCaches& caches) {
  note_idle_pools();
  std::map<std::string, upgrade::Policy> policies;
  policies[""] = upgrade::Policy::none();
  if (auto object = caches.cluster_policy()) {
    policies[""] = upgrade::policy_of_cluster_policy(*object->document, own_switch_);
    caches.rollouts().change_policy("", *object->document, own_switch_, {}, policies[""]);
  }
  caches.nvidia_drivers().for_each([&](const auto& object) {
    std::string pool = object->meta.name.str();
    upgrade::Policy policy =
        upgrade::policy_of_nvidia_driver(*object->document, policies[""], own_switch_);
    caches.rollouts().change_policy(pool, *object->document, own_switch_, policies[""], policy);
    policies[pool] = std::move(policy);
  });
  policies_.clear();
  limited_.clear();
  for (auto& [pool, policy] : policies) {
    upgrade::Policy limited = policy;
    caches.rollouts().limit_to_wave(pool, limited);
    policies_[pool] = std::make_shared<const upgrade::Policy>(std::move(policy));
    limited_[pool] = std::make_shared<const upgrade::Policy>(std::move(limited));
  }
  return look_for_rival();
}

bool PoolRules::see_pod(const Pod& pod, bool is_there) {
  if (!drivers_.covers(pod.meta.ns) || !fleet::looks_like_operator(pod.meta.labels)) return false;
  const bool runs = is_there && pod.phase == PodPhase::running;
  const ObjectKey key = pod.meta.key();
  const bool changed = runs ? operator_pods_.insert(key).second : operator_pods_.erase(key) > 0;
  return changed && look_for_rival();
}

bool PoolRules::see_deployment(const Deployment& deployment, bool is_there) {
  const bool counts = is_there && deployment.replicas > 0 && drivers_.covers(deployment.meta.ns) &&
                      (fleet::looks_like_operator(deployment.template_labels) ||
                       fleet::looks_like_operator(deployment.meta.labels));
  const ObjectKey key = deployment.meta.key();
  const bool changed =
      counts ? operator_deployments_.insert(key).second : operator_deployments_.erase(key) > 0;
  return changed && look_for_rival();
}

bool PoolRules::look_for_rival() {
  auto found = find_rival();
  if (found == rival_) return false;
  note_idle_pools();
  rival_ = std::move(found);
  return true;
}

std::optional<fleet::Reason> PoolRules::find_rival() const {
  if (operator_pods_.empty() && operator_deployments_.empty()) return std::nullopt;
  const std::string found_by = operator_deployments_.empty()
                                   ? operator_pods_.begin()->text()
                                   : "Deployment " + operator_deployments_.begin()->text();
  if (!own_switch_) {
    return fleet::Reason{
        fleet::Reason::rival,
        fmt::format("NVIDIA's GPU Operator runs ({}) and works with the same labels", found_by),
        "set upgradePolicy.autoUpgrade to false and start the controller with "
        "--key-domain lockstep.dev"};
  }
  std::optional<fleet::Reason> found;
  for (const auto& [pool, policy] : policies_) {
    if (!policy->nvidia_auto_upgrade) continue;
    found = fleet::Reason{
        fleet::Reason::rival,
        fmt::format("NVIDIA's GPU Operator runs ({}) and autoUpgrade is true in {}: both would "
                    "upgrade the same nodes",
                    found_by, policy->source),
        "set upgradePolicy.autoUpgrade to false; with --key-domain lockstep.dev the switch is the "
        "annotation lockstep.dev/auto-upgrade"};
  }
  return found;
}

const std::shared_ptr<const upgrade::Policy>& PoolRules::policy(const std::string& pool) const {
  auto at = limited_.find(pool);
  return at == limited_.end() ? limited_.at("") : at->second;
}

const std::shared_ptr<const upgrade::Policy>& PoolRules::policy_before_waves(
    const std::string& pool) const {
  auto at = policies_.find(pool);
  return at == policies_.end() ? policies_.at("") : at->second;
}

std::optional<Duration> PoolRules::acts_since(const std::string& pool) const {
  auto idle = idle_until_.find(policies_.contains(pool) ? pool : "");
  if (idle == idle_until_.end()) return std::nullopt;
  return idle->second;
}

}  // namespace lockstep::view
