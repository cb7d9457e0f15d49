#include "sim/fault_reader.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/strings.h"
#include "fleet/keys.h"
#include "sim/strict_reader.h"
#include "sim/world_weights.h"

namespace lockstep::sim {

namespace {

using Errors = std::optional<Error>;
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

// Everything that somebody watches, by its plural; rollouts, their gates and failures included.
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

// A list of them is what helps whoever does not know how kinds are called here.
void refuse_unknown_kinds(const Json& json, StrictReader& reader) {
  std::vector<std::string> known{"default"};
  for (const ResourceType* type : watched) known.push_back(type->plural);
  for (const auto& [name, lag] : json.get_object()) {
    std::string key(name);
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    auto near = nearest(key, known);
    reader.complain(reader.path("watchLag"),
                    fmt::format("has the unknown key {}{} (there are {})", key,
                                near ? "; did you mean " + *near + "?" : "", join(known, ", ")));
  }
}

void read_watch_lag(StrictReader& reader, Weights& weights) {
  const Json* value = reader.get("watchLag");
  if (value == nullptr) return;
  if (!value->is_object()) return reader.duration("watchLag", weights.watch_lag);
  refuse_unknown_kinds(*value, reader);
  StrictReader lags(*value, reader.path("watchLag"), reader.error());
  lags.duration("default", weights.watch_lag);
  for (const ResourceType* type : watched) {
    std::optional<Duration> lag;
    lags.maybe(type->plural, lag, &StrictReader::duration);
    if (lag) weights.watch_lag_of[type->full_name()] = *lag;
  }
}

void read_weights(StrictReader& reader, Weights& weights) {
  for (const auto& [name, field] : chances) {
    reader.chance(std::string(name), weights.*field);
  }
  reader.duration("watchLife", weights.watch_life);
  reader.duration("latency", weights.latency);
  reader.duration("retryAfter", weights.retry_after);
  reader.duration("replicaLag", weights.replica_lag);
  reader.number("pageSize", weights.page_size, 1);
  read_watch_lag(reader, weights);
}

void read_outage(const Json& json, const std::string& path, Scenario& scenario, Errors& error) {
  StrictReader reader(json, path, error);
  Interference step;
  step.action = "outage";
  Duration length{0};
  reader.duration("at", step.at);
  reader.duration("for", length);
  if (length <= Duration(0)) reader.complain(path, "does not say for how long: {at: 10m, for: 3m}");
  step.value = format_duration(length);
  scenario.steps.push_back(std::move(step));
}

}  // namespace

void read_faults(const Json& json, const std::string& path, Scenario& scenario, Errors& error) {
  StrictReader reader(json, path, error);
  Weights weights;
  if (scenario.controller_faults > 0) weights = Weights::everything(scenario.controller_faults);
  read_weights(reader, weights);
  const Json* world = reader.get("world");
  if (world != nullptr) read_world(*world, reader.path("world"), scenario, error);
  // A world that goes wrong is no reason to believe that the API does.
  bool world_alone = world != nullptr && json.get_object().size() == 1;
  if (!world_alone) scenario.controller_weights = std::move(weights);
  if (const Json* fleet = reader.get("fleet")) {
    StrictReader fleet_reader(*fleet, reader.path("fleet"), error);
    Weights fleet_weights;
    if (scenario.fleet_faults > 0) fleet_weights = Weights::everything(scenario.fleet_faults);
    read_weights(fleet_reader, fleet_weights);
    scenario.fleet_weights = std::move(fleet_weights);
  }
  if (const Json* outage = reader.get("outage")) {
    read_outage(*outage, reader.path("outage"), scenario, error);
  }
}

OlderReplica read_replica(const Json& json, const std::string& path, Errors& error) {
  OlderReplica replica;
  StrictReader reader(json, path, error);
  reader.duration("age", replica.age);
  reader.duration("for", replica.period);
  reader.flag("allReads", replica.all_reads);
  if (replica.age <= Duration(0))
    reader.complain(path, "does not say how old: {age: 90s, for: 5m}");
  return replica;
}

void check_replica(const Json& json, const std::string& path, Errors& error) {
  (void)read_replica(json, path, error);
}

Crash read_crash_step(const Json& json, const std::string& path, Errors& error) {
  Crash crash;
  StrictReader reader(json, path, error);
  reader.number("afterWrite", crash.after_write, 1);
  reader.duration("away", crash.away);
  if (crash.after_write == 0) reader.complain(path, "does not say when: {afterWrite: 3}");
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
