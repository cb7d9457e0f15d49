#include "cli/fleet_status.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "base/strings.h"
#include "rollout/pace.h"
#include "upgrade/decide.h"
#include "upgrade/deciding.h"

namespace lockstep::cli {

namespace {

using fleet::State;

NodeStatus look_at_node(const controller::FleetWatch& watch, const fleet::NodeView& view,
                        Time now) {
  const fleet::Keys& keys = watch.rules().keys;
  NodeStatus status;
  status.name = std::string(view.name());
  status.state = fleet::state_of(*view.node, keys);
  Time since = fleet::state_since(*view.node);
  if (since.is_set()) status.in_state = std::max(now - since, Duration::zero());
  status.cordoned = view.node->unschedulable;
  status.ready = view.node->ready();
  status.in_sync = view.driver.is_in_sync();
  status.driver_ready = view.driver.pod && fleet::is_running_and_ready(*view.driver.pod);
  status.version = view.driver.version();
  for (const auto& entry : view.pods) {
    if (entry.uses_gpu && !entry.pod->is_finished()) ++status.gpu_pods;
  }
  status.reason = upgrade::decide(view, watch.pool(view.pool), watch.rules(), now).reason;
  return status;
}

bool goes_by_waves(const controller::FleetWatch& watch, const std::string& pool) {
  const auto& all = watch.rollouts.all();
  return std::any_of(all.begin(), all.end(), [&](const auto& rollout) {
    return rollout.second.is_active() && rollout.second.covers(pool, "");
  });
}

Json json_of(const upgrade::Reason& reason) {
  JsonObject object{{"name", reason.name}, {"text", reason.text}};
  if (!reason.remedy.empty()) object["remedy"] = reason.remedy;
  return object;
}

Json json_of(const NodeStatus& node) {
  return JsonObject{{"name", node.name},
                    {"state", fleet::display_name(node.state)},
                    {"secondsInState", in_seconds(node.in_state)},
                    {"cordoned", node.cordoned},
                    {"ready", node.ready},
                    {"inSync", node.in_sync},
                    {"driverVersion", node.version},
                    {"driverReady", node.driver_ready},
                    {"gpuPods", node.gpu_pods},
                    {"reason", json_of(node.reason)}};
}

Json json_of(const PoolStatus& pool) {
  JsonObject states;
  for (const auto& [state, count] : pool.counts.by_state) {
    states[fleet::display_name(state)] = count;
  }
  JsonArray nodes;
  for (const auto& node : pool.nodes) nodes.push_back(json_of(node));
  JsonObject object{{"name", pool.name},
                    {"policy", pool.source},
                    {"targetVersion", pool.target},
                    {"total", pool.counts.total},
                    {"upgraded", pool.upgraded},
                    {"running", pool.running},
                    {"active", pool.counts.active},
                    {"unavailable", pool.counts.unavailable},
                    {"failed", pool.counts.failed},
                    {"maxUnavailable", pool.limits.unavailable},
                    {"maxParallelUpgrades", pool.limits.parallel},
                    {"maxFailures", pool.limits.failures},
                    {"states", std::move(states)},
                    {"nodes", std::move(nodes)}};
  if (!pool.paused.empty()) object["paused"] = pool.paused;
  if (pool.held) object["held"] = json_of(*pool.held);
  if (pool.time_left) object["secondsLeft"] = in_seconds(*pool.time_left);
  return object;
}

}  // namespace

bool FleetStatus::at_rest() const {
  return std::all_of(pools.begin(), pools.end(), [](const PoolStatus& pool) {
    return pool.counts.waiting == 0 && pool.counts.active == 0;
  });
}

FleetStatus look_at_fleet(controller::FleetWatch& watch, Time now) {
  watch.count_changed();
  FleetStatus status;
  status.at = now;
  status.frozen = watch.rival();
  status.incomplete = watch.unreadable_notes();
  status.driver_namespaces = watch.options().drivers.namespaces;
  std::map<std::string, PoolStatus> pools;
  std::map<std::string, std::vector<Duration>> finished;
  for (const auto& name : watch.nodes()) {
    auto view = watch.view(name);
    if (!view) continue;
    PoolStatus& pool = pools[view->pool];
    if (view->driver.is_rolled_by_kubernetes() && pool.warnings.empty()) {
      const upgrade::Reason reason = upgrade::rolling_update_driver(*view);
      pool.warnings.push_back(fmt::format("{}: {}", reason.name, reason.text));
    }
    if (pool.target.empty()) pool.target = view->driver.newest_version();
    NodeStatus node = look_at_node(watch, *view, now);
    if (view->driver.is_settled()) ++pool.running;
    if (node.state == State::done && node.in_sync) {
      ++pool.upgraded;
      if (node.in_state > Duration::zero() && node.in_state < hours(6)) {
        finished[view->pool].push_back(node.in_state);
      }
    }
    pool.nodes.push_back(std::move(node));
  }
  for (auto& [name, pool] : pools) {
    upgrade::PoolView view = watch.pool(name);
    pool.name = name;
    pool.source = view.policy.source;
    const auto& warnings = view.policy.warnings;
    pool.warnings.insert(pool.warnings.end(), warnings.begin(), warnings.end());
    pool.counts = view.counts;
    pool.limits = upgrade::limits_of(view.policy, view.counts.total);
    pool.held = upgrade::held_back(view, false);
    if (view.policy.paused) {
      pool.paused = view.policy.paused->empty() ? "by a user" : *view.policy.paused;
    }
    pool.time_left = rollout::pool_time_left(std::move(finished[name]), pool.counts, pool.held,
                                             goes_by_waves(watch, name));
    status.pools.push_back(std::move(pool));
  }
  return status;
}

Json to_json(const FleetStatus& status) {
  JsonArray pools;
  for (const auto& pool : status.pools) pools.push_back(json_of(pool));
  JsonObject object{{"at", format_rfc3339(status.at)}, {"pools", std::move(pools)}};
  if (!status.incomplete.empty()) object["incomplete"] = status.incomplete;
  if (status.frozen) object["frozen"] = json_of(*status.frozen);
  return object;
}

}  // namespace lockstep::cli
