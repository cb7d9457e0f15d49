#include "sim/scenario/fault_reader.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/strings.h"
#include "fleet/keys.h"
#include "sim/scenario/world_weights.h"

namespace lockstep::sim {

namespace {

using Weights = kube::FaultWeights;

constexpr std::array<FaultChance, 14> chances = {{
    {"requestLost", &Weights::request_lost},
    {"requestLate", &Weights::request_late},
    {"replyLost", &Weights::reply_lost},
    {"conflict", &Weights::conflict},
    {"expired", &Weights::expired},
    {"throttled", &Weights::throttled},
    {"serverError", &Weights::server_error},
    {"watchRefused", &Weights::watch_refused},
    {"watchDropped", &Weights::watch_dropped},
    {"watchExpired", &Weights::watch_expired},
    {"watchSilent", &Weights::watch_silent},
    {"staleReplica", &Weights::stale_replica},
    {"staleReads", &Weights::stale_reads},
    {"listCut", &Weights::list_cut},
}};

// Every watched type, by its plural; rollouts, their gates and failures included.
const std::array<const ResourceType*, 16> watched = {
    &resource::nodes,
    &resource::pods,
    &resource::daemon_sets,
    &resource::controller_revisions,
    &resource::resource_claims,
    &resource::resource_slices,
    &resource::pod_disruption_budgets,
    &fleet::cluster_policies,
    &fleet::nvidia_drivers,
    &fleet::driver_rollouts,
    &resource::config_maps,
    &resource::jobs,
    &resource::events,
    &resource::deployments,
    &resource::replica_sets,
    &resource::leases,
};

void read_watch_lag(StrictReader& reader, Weights& weights) {
  if (!reader.json().is_object()) return reader.read(weights.watch_lag, strict::duration);
  reader.as_map([&](StrictReader& lags) {
    lags.duration("default", weights.watch_lag);
    for (const ResourceType* type : watched) {
      std::optional<Duration> lag;
      lags.duration(type->plural, lag);
      if (lag) weights.watch_lag_of[type->full_name()] = *lag;
    }
  });
}

void read_weights(StrictReader& reader, Weights& weights) {
  for (const auto& [name, field] : chances) reader.decimal(name, weights.*field, 0, 1);
  reader.duration("watchLife", weights.watch_life);
  reader.duration("latency", weights.latency);
  reader.duration("retryAfter", weights.retry_after);
  reader.duration("replicaLag", weights.replica_lag);
  reader.number("pageSize", weights.page_size, 1);
  reader.any("watchLag", [&](StrictReader& lag) { read_watch_lag(lag, weights); });
}

void read_outage(StrictReader& reader, Scenario& scenario) {
  Interference step;
  step.action = "outage";
  Duration length{0};
  reader.duration("at", step.at).duration("for", length);
  if (length <= Duration(0)) reader.refuse("needs how long, such as {at: 10m, for: 3m}");
  step.value = format_duration(length);
  scenario.steps.push_back(std::move(step));
}

}  // namespace

void read_faults(StrictReader& reader, Scenario& scenario) {
  Weights weights;
  if (scenario.controller_faults > 0) weights = Weights::everything(scenario.controller_faults);
  read_weights(reader, weights);
  reader.within("world", [&](StrictReader& world) { read_world(world, scenario); });
  // Faults of the world alone do not imply faults of the API.
  bool world_alone = reader.has("world") && reader.json().get_object().size() == 1;
  if (!world_alone) scenario.controller_weights = std::move(weights);
  reader.within("fleet", [&](StrictReader& fleet) {
    Weights fleet_weights;
    if (scenario.fleet_faults > 0) fleet_weights = Weights::everything(scenario.fleet_faults);
    read_weights(fleet, fleet_weights);
    scenario.fleet_weights = std::move(fleet_weights);
  });
  reader.within("outage", [&](StrictReader& outage) { read_outage(outage, scenario); });
}

OlderReplica read_replica(StrictReader& reader) {
  OlderReplica replica;
  reader.as_map([&](StrictReader& map) {
    map.duration("age", replica.age).duration("for", replica.period);
    map.flag("allReads", replica.all_reads);
    if (replica.age <= Duration(0)) map.refuse("needs how old, such as {age: 90s, for: 5m}");
  });
  return replica;
}

Crash read_crash_step(StrictReader& reader) {
  Crash crash;
  reader.as_map([&](StrictReader& map) {
    map.number("afterWrite", crash.after_write, 1).required("afterWrite");
    map.duration("away", crash.away);
  });
  return crash;
}

namespace {

JsonObject weights_json(const Weights& weights) {
  const Weights usual;
  JsonObject json;
  for (const auto& [name, field] : chances) {
    if (weights.*field > 0) json[name] = weights.*field;
  }
  auto length = [&](std::string_view name, Duration value, Duration otherwise) {
    if (value != otherwise) json[name] = format_duration(value);
  };
  length("watchLife", weights.watch_life, usual.watch_life);
  length("latency", weights.latency, usual.latency);
  length("retryAfter", weights.retry_after, usual.retry_after);
  length("replicaLag", weights.replica_lag, usual.replica_lag);
  if (weights.page_size > 0) json["pageSize"] = weights.page_size;
  JsonObject lags;
  if (weights.watch_lag > Duration(0)) lags["default"] = format_duration(weights.watch_lag);
  for (const ResourceType* type : watched) {
    auto lag = weights.watch_lag_of.find(type->full_name());
    if (lag != weights.watch_lag_of.end()) lags[type->plural] = format_duration(lag->second);
  }
  if (!lags.empty()) json["watchLag"] = std::move(lags);
  return json;
}

}  // namespace

Json faults_json(const Scenario& scenario) {
  JsonObject json;
  if (scenario.controller_weights) json = weights_json(*scenario.controller_weights);
  if (scenario.fleet_weights) json["fleet"] = weights_json(*scenario.fleet_weights);
  if (scenario.world) json["world"] = world_json(*scenario.world);
  return json;
}

std::span<const FaultChance> fault_chances() { return chances; }

std::span<const ResourceType* const> lagging_types() { return watched; }

}  // namespace lockstep::sim
