#include "rollout/forward_node.h"

#include <algorithm>

#include <fmt/format.h>

#include "upgrade/deciding.h"
#include "upgrade/evicting.h"
#include "upgrade/pod_names.h"

namespace lockstep::rollout {

namespace {

using fleet::State;

void make_ready(Pod& pod, Time started) {
  pod.meta.deleted = {};
  pod.phase = PodPhase::running;
  pod.ready = true;
  pod.ready_since = pod.started = started;
  if (pod.container_statuses.empty()) pod.container_statuses.emplace_back();
  for (ContainerStatus& status : pod.container_statuses) {
    Text name = status.name;
    status = {};
    status.name = std::move(name);
    status.ready = true;
    status.started = started;
  }
  pod.init_container_statuses.clear();
}

// It does not come up by itself: whether it does is not assumed, the deadlines decide.
bool is_failing(const Pod& pod) {
  auto fails = [](const ContainerStatus& status) {
    std::string_view waits = status.waiting_reason.view();
    return status.restarts > 0 ||
           (!waits.empty() && waits != "ContainerCreating" && waits != "PodInitializing");
  };
  return std::any_of(pod.container_statuses.begin(), pod.container_statuses.end(), fails) ||
         std::any_of(pod.init_container_statuses.begin(), pod.init_container_statuses.end(), fails);
}

}  // namespace

ForwardBudgets::ForwardBudgets(const Objects& budgets, Duration returns) : returns_(returns) {
  for (const auto& object : budgets) {
    by_namespace_[object->meta.ns.str()].push_back({object, object->disruptions_allowed, {}});
  }
}

std::vector<ForwardBudgets::Budget*> ForwardBudgets::covering(const Pod& pod, Time now) {
  std::vector<Budget*> found;
  auto at = by_namespace_.find(pod.meta.ns.view());
  if (at == by_namespace_.end()) return found;
  for (Budget& budget : at->second) {
    if (!budget.object->selector.matches(pod.meta.labels)) continue;
    while (!budget.returns.empty() && *budget.returns.begin() <= now) {
      budget.returns.erase(budget.returns.begin());
      ++budget.allowed;
    }
    found.push_back(&budget);
  }
  return found;
}

std::vector<std::string> ForwardBudgets::blocking(const Pod& pod, Time now) {
  std::vector<std::string> names;
  for (const Budget* budget : covering(pod, now)) {
    if (budget->allowed <= 0) names.push_back(budget->object->meta.name.str());
  }
  return names;
}

bool ForwardBudgets::evict(const Pod& pod, Time now) {
  const std::vector<Budget*> budgets = covering(pod, now);
  auto refuses = [](const Budget* budget) { return budget->allowed <= 0; };
  if (std::any_of(budgets.begin(), budgets.end(), refuses)) return false;
  for (Budget* budget : budgets) {
    --budget->allowed;
    budget->returns.insert(now + returns_);
  }
  return true;
}

std::optional<Time> ForwardBudgets::gives_way(const Pod& pod, Time now) {
  Time latest = now;
  for (const Budget* budget : covering(pod, now)) {
    if (budget->allowed > 0) continue;
    if (budget->returns.empty()) return std::nullopt;
    latest = std::max(latest, *budget->returns.begin());
  }
  return latest;
}

ForwardNodeRun::ForwardNodeRun(ForwardNode node, const fleet::Keys& keys, Time now)
    : node_(std::move(node)),
      writable_(std::make_shared<Node>(*node_.view.node)),
      keys_(&keys),
      origin_(now) {
  fleet::NodeView& view = node_.view;
  view.node = writable_;
  // What passes in the controller's process alone. Clients are assumed to be restarted.
  view.clients.clear();
  view.slice_versions.clear();
  std::vector<Text> renewed = std::move(view.known.renewed);
  view.known = {};
  view.known.renewed = std::move(renewed);
  for (fleet::PodOnNode& entry : view.pods) entry.tries.reset();
  planned.name = writable_->meta.name.str();
  planned.pool = view.pool;
  planned.rollout = node_.rollout;
  planned.gpus = node_.gpus;
  planned.state = state();
  const Time since = fleet::state_since(*writable_);
  if (!fleet::is_active(planned.state) || !since.is_set()) return;
  worked_before_ = std::max(now - since, Duration::zero());
  planned.start = Duration::zero();
}

bool ForwardNodeRun::lacks_driver() const {
  const fleet::DriverView& driver = node_.view.driver;
  if (driver.set == nullptr) return false;
  if (driver.pod == nullptr || driver.pod->meta.is_deleting()) return true;
  return driver.is_in_sync() && !driver.is_settled() && !is_failing(*driver.pod);
}

void ForwardNodeRun::bring_driver(Time now) {
  fleet::DriverView& driver = node_.view.driver;
  const DaemonSet& set = *driver.set;
  Pod pod = driver.pod ? *driver.pod : Pod{};
  if (!driver.pod) {
    pod.meta.name = set.meta.name;
    pod.meta.ns = set.meta.ns;
    pod.meta.labels = set.pod_template.labels;
  }
  pod.meta.uid = Text("planned-" + planned.name);
  pod.meta.created = now;
  pod.meta.owners = {{"apps/v1", "DaemonSet", set.meta.name, set.meta.uid, true}};
  pod.meta.labels.set(Text(fleet::revision_label), driver.newest_revision);
  pod.spec = set.pod_template.spec;
  make_ready(pod, now);
  driver.pod = std::make_shared<const Pod>(std::move(pod));
  renew_validators(now);
}

void ForwardNodeRun::renew_validators(Time now) {
  // Of a node in the middle of its upgrade, the validator may be about to be made.
  std::vector<fleet::PodPtr>& validators = node_.view.validators;
  if (validators.empty() && worked_before_ > Duration::zero()) {
    validators.push_back(std::make_shared<const Pod>());
  }
  for (fleet::PodPtr& validator : validators) {
    Pod fresh = *validator;
    make_ready(fresh, now + seconds(1));
    validator = std::make_shared<const Pod>(std::move(fresh));
  }
}

std::optional<Time> ForwardNodeRun::see_world(const upgrade::PoolView& pool,
                                              const upgrade::Rules& rules, const Pace& pace,
                                              Time now, ForwardBudgets& budgets) {
  switch (state()) {
    case State::wait_for_jobs:
      finish_jobs(pool.policy->wait);
      break;
    case State::pod_deletion:
    case State::drain:
      see_evictions(*pool.policy, rules, now, budgets);
      break;
    case State::pod_restart:
      if (lacks_driver()) bring_driver(now);
      break;
    case State::validation: {
      if (has_worked_) break;
      has_worked_ = true;
      if (lacks_driver()) bring_driver(now);
      if (node_.view.driver.is_settled()) renew_validators(now);
      const Duration rest = pace.node - worked_before_;
      if (rest > Duration::zero()) return now + rest;
      break;
    }
    default:
      break;
  }
  return std::nullopt;
}

// With a time limit they are waited for that long; without one the time is not known.
void ForwardNodeRun::finish_jobs(const upgrade::WaitPolicy& wait) {
  std::vector<fleet::PodOnNode>& pods = node_.view.pods;
  auto is_waited_for = [&](const fleet::PodOnNode& entry) {
    const Pod& pod = *entry.pod;
    const bool runs = pod.phase == PodPhase::running || pod.phase == PodPhase::pending;
    return runs && wait.pods.matches(pod.meta.labels);
  };
  if (planned.waited.empty()) {
    for (const auto& entry : pods) {
      if (is_waited_for(entry)) planned.waited.push_back(upgrade::name_pod(*entry.pod));
    }
  }
  if (wait.timeout > Duration::zero() || planned.waited.empty()) return;
  planned.waits_unlimited = true;
  std::erase_if(pods, is_waited_for);
}

void ForwardNodeRun::see_evictions(const upgrade::Policy& policy, const upgrade::Rules& rules,
                                   Time now, ForwardBudgets& budgets) {
  std::vector<fleet::PodOnNode>& pods = node_.view.pods;
  std::erase_if(pods, [](const auto& entry) { return entry.pod->meta.is_deleting(); });
  const bool drains = state() == State::drain;
  for (fleet::PodOnNode& entry : pods) {
    upgrade::Verdict verdict = drains ? upgrade::judge_for_drain(entry, policy.drain, rules)
                                      : upgrade::judge_gpu_pod(entry, policy.pod_deletion);
    if (verdict.fate == upgrade::Fate::protected_) note_blocked(std::move(verdict.because));
    if (verdict.fate != upgrade::Fate::leaves) continue;
    entry.blocking_budgets = budgets.blocking(*entry.pod, now);
    if (entry.tries) {
      entry.pause = std::max(entry.tries->not_before - (now - origin_), Duration::zero());
    }
  }
}

void ForwardNodeRun::apply(const upgrade::NodePatch& patch) {
  auto write = [](const auto& changes, StringMap& into) {
    for (const auto& [key, value] : changes) {
      if (value) {
        into.set(Text(key), Text(*value));
      } else {
        into.erase(key);
      }
    }
  };
  write(patch.labels, writable_->meta.labels);
  write(patch.annotations, writable_->meta.annotations);
  if (patch.unschedulable) writable_->unschedulable = *patch.unschedulable;
}

void ForwardNodeRun::remove(const upgrade::PodRemovals& removals, Time now,
                            ForwardBudgets& budgets) {
  // Longer than any limit: the decision's own deadline comes first.
  constexpr Duration never = hours(24 * 365);
  for (const upgrade::PodRemoval& removal : removals) {
    const fleet::PodPtr pod = removal.pod;
    const auto& driver = node_.view.driver.pod;
    if (driver && driver->meta.uid == pod->meta.uid) {
      bring_driver(now);
      continue;
    }
    // It comes back at once.
    if (pod->is_owned_by_daemon_set()) continue;
    auto& pods = node_.view.pods;
    auto entry = std::find_if(pods.begin(), pods.end(), [&](const auto& each) {
      return each.pod->meta.uid == pod->meta.uid;
    });
    if (entry == pods.end()) continue;
    if (removal.how == upgrade::Removal::evict && !budgets.evict(*pod, now)) {
      const std::optional<Time> again = budgets.gives_way(*pod, now);
      fleet::EvictionTries& tries = entry->tries ? *entry->tries : entry->tries.emplace();
      ++tries.refusals;
      tries.by_budget = true;
      tries.not_before = (again ? *again - now : never) + (now - origin_);
      entry->blocking_budgets = budgets.blocking(*pod, now);
      if (again) continue;
      for (const std::string& budget : entry->blocking_budgets) {
        note_blocked(
            fmt::format("{} is blocked by PodDisruptionBudget {}: allow more disruptions in it, or "
                        "scale the application up",
                        upgrade::name_pod(*pod), budget));
      }
      continue;
    }
    note_moved(*pod);
    pods.erase(entry);
  }
}

void ForwardNodeRun::note_moved(const Pod& pod) {
  planned.moved.push_back(upgrade::name_pod(pod));
  const OwnerReference* owner = pod.meta.controller();
  if (owner == nullptr || owner->kind != "Job") return;
  jobs_.insert(pod.meta.ns.str() + "/" + owner->name.str());
  planned.jobs = static_cast<int64_t>(jobs_.size());
}

void ForwardNodeRun::note_blocked(std::string text) {
  auto& blocked = planned.blocked;
  if (std::find(blocked.begin(), blocked.end(), text) == blocked.end()) {
    blocked.push_back(std::move(text));
  }
}

}  // namespace lockstep::rollout
