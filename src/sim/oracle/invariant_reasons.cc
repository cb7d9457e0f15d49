#include "sim/oracle/invariant_reasons.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "sim/oracle/reason_truth.h"

namespace lockstep::sim {

namespace {

using fleet::Reason;
using fleet::State;

// Of these, what is true of one node of a pool is true of all: they are many, and counting takes a
// walk over all.
bool is_of_pool(const fleet::ReasonName& reason) {
  constexpr std::array of_pools = {Reason::auto_upgrade_off, Reason::invalid_policy,
                                   Reason::no_policy,        Reason::parallel_limit,
                                   Reason::paused,           Reason::conflicting_controller,
                                   Reason::unavailable_limit};
  return std::find(of_pools.begin(), of_pools.end(), reason) != of_pools.end();
}

}  // namespace

void TrueReasons::on_change(const std::string& storage, const apiserver::Change& change, bool) {
  evidence_.on_change(storage, change);
}

void TrueReasons::on_call(int life, const kube::Request& request) {
  evidence_.on_call(life, request);
}

void TrueReasons::on_reply(int life, const kube::Request& request, const kube::Response& reply) {
  evidence_.on_reply(life, request, reply);
}

void TrueReasons::on_node(const NodeStep& step) {
  if (!step.ours || !step.changes_state() || step.to() != State::failed) return;
  if (step.before == nullptr) return;
  const auto failure = failure_of(*step.after->object);
  // That it says nothing is seen by others.
  if (!failure) return;
  const PoolTruth pool(truth(), step.before->pool);
  std::string objection =
      objection_to(failure->name, {truth(), evidence_, pool, step.name, *step.before, true});
  if (objection.empty()) return;
  accuse(fmt::format("{} says that it failed with {}, and {}", step.name, failure->name.view(),
                     objection));
}

void TrueReasons::check_shown(const std::map<std::string, fleet::Reason>& reasons) const {
  std::map<std::string, PoolTruth> pools;
  std::map<std::pair<std::string, std::string>, std::string> known;
  for (const auto& [name, reason] : reasons) {
    const NodeTruth* node = truth().node(name);
    if (node == nullptr) continue;
    const PoolTruth& pool = pools.try_emplace(node->pool, truth(), node->pool).first->second;
    auto [at, fresh] =
        known.try_emplace({node->pool, is_of_pool(reason.name) ? reason.name.str() : name});
    if (fresh) at->second = objection_to(reason.name, {truth(), evidence_, pool, name, *node});
    if (at->second.empty()) continue;
    accuse(fmt::format("{} says {}, and {}", name, reason.name.view(), at->second));
  }
}

}  // namespace lockstep::sim
