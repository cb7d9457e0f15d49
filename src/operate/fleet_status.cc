#include "operate/fleet_status.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "base/strings.h"
#include "rollout/pace.h"
#include "upgrade/decide.h"
#include "upgrade/deciding.h"

namespace lockstep::operate {

namespace {

using fleet::State;

// What came to its end before says little about how fast it goes now.
constexpr Duration pace_window = hours(6);

NodeStatus look_at_node(const view::FleetWatch& watch, const fleet::NodeView& view, Time now) {
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
  status.gpu_pods = fleet::gpu_pods_on(view);
  status.reason = upgrade::decide(view, watch.pool(view.pool), watch.rules(), now).reason;
  return status;
}

bool goes_by_waves(const view::FleetWatch& watch, const std::string& pool) {
  const auto& all = watch.rollouts().all();
  return std::any_of(all.begin(), all.end(), [&](const auto& rollout) {
    return rollout.second.is_active() && rollout.second.covers(pool, "");
  });
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
                    {"reason", fleet::to_json(node.reason)}};
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
  if (pool.held) object["held"] = fleet::to_json(*pool.held);
  if (pool.time_left) object["secondsLeft"] = in_seconds(*pool.time_left);
  return object;
}

}  // namespace

bool FleetStatus::at_rest() const {
  return std::all_of(pools.begin(), pools.end(), [](const PoolStatus& pool) {
    return pool.counts.waiting == 0 && pool.counts.active == 0;
  });
}

void PoolSums::add(bool runs_newest, bool is_upgraded, Duration in_state) {
  if (runs_newest) ++running;
  if (!is_upgraded) return;
  ++upgraded;
  if (in_state > Duration::zero() && in_state < pace_window) finished.push_back(in_state);
}

PoolStatus look_at_pool(const view::FleetWatch& watch, const std::string& name, PoolSums sums) {
  const upgrade::PoolView view = watch.pool(name);
  PoolStatus pool;
  pool.name = name;
  pool.source = view.policy->source;
  pool.target = std::move(sums.target);
  pool.upgraded = sums.upgraded;
  pool.running = sums.running;
  pool.warnings = view.policy->warnings;
  pool.counts = view.counts;
  pool.limits = upgrade::limits_of(*view.policy, view.counts.total);
  pool.held = upgrade::held_back(view, false);
  if (view.policy->paused) {
    pool.paused = view.policy->paused->empty() ? "by a user" : *view.policy->paused;
  }
  pool.time_left = rollout::pool_time_left(std::move(sums.finished), pool.counts, pool.held,
                                           goes_by_waves(watch, name));
  return pool;
}

FleetStatus look_at_fleet(view::FleetWatch& watch, Time now) {
  watch.count_changed();
  FleetStatus status;
  status.at = now;
  status.frozen = watch.conflicting_controller();
  status.incomplete = watch.caches().unreadable_notes();
  status.driver_namespaces = watch.options().drivers.namespaces;
  struct Nodes {
    PoolSums sums;
    std::string warning;
    std::vector<NodeStatus> nodes;
  };
  std::map<std::string, Nodes> pools;
  for (const auto& name : watch.nodes()) {
    auto view = watch.view(name);
    if (!view) continue;
    Nodes& pool = pools[view->pool];
    if (view->driver.is_rolled_by_kubernetes() && pool.warning.empty()) {
      pool.warning = upgrade::rolling_update_driver(*view).line();
    }
    if (pool.sums.target.empty()) pool.sums.target = view->driver.newest_version();
    NodeStatus node = look_at_node(watch, *view, now);
    pool.sums.add(view->driver.is_settled(), node.state == State::done && node.in_sync,
                  node.in_state);
    pool.nodes.push_back(std::move(node));
  }
  for (auto& [name, nodes] : pools) {
    PoolStatus pool = look_at_pool(watch, name, std::move(nodes.sums));
    if (!nodes.warning.empty()) pool.warnings.insert(pool.warnings.begin(), nodes.warning);
    pool.nodes = std::move(nodes.nodes);
    status.pools.push_back(std::move(pool));
  }
  return status;
}

Json to_json(const FleetStatus& status) {
  JsonArray pools;
  for (const auto& pool : status.pools) pools.push_back(json_of(pool));
  JsonObject object{{"at", format_rfc3339(status.at)}, {"pools", std::move(pools)}};
  if (!status.incomplete.empty()) object["incomplete"] = status.incomplete;
  if (status.frozen) object["frozen"] = fleet::to_json(*status.frozen);
  return object;
}

}  // namespace lockstep::operate
