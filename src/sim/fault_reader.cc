#include "sim/fault_reader.h"

#include <array>
#include <utility>

#include <fmt/format.h>

#include "sim/strict_reader.h"

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

// What a controller watches, in short and as ResourceType::full_name() has it.
constexpr std::array<std::pair<std::string_view, std::string_view>, 7> watched = {{
    {"nodes", "nodes"},
    {"pods", "pods"},
    {"daemonsets", "daemonsets.apps"},
    {"controllerrevisions", "controllerrevisions.apps"},
    {"clusterpolicies", "clusterpolicies.nvidia.com"},
    {"nvidiadrivers", "nvidiadrivers.nvidia.com"},
    {"leases", "leases.coordination.k8s.io"},
}};

void read_watch_lag(StrictReader& reader, Weights& weights) {
  const Json* value = reader.get("watchLag");
  if (value == nullptr) return;
  if (!value->is_object()) return reader.duration("watchLag", weights.watch_lag);
  StrictReader lags(*value, reader.path("watchLag"), reader.error());
  lags.duration("default", weights.watch_lag);
  for (const auto& [name, full_name] : watched) {
    std::optional<Duration> lag;
    lags.maybe(std::string(name), lag, &StrictReader::duration);
    if (lag) weights.watch_lag_of[std::string(full_name)] = *lag;
  }
}

void read_weights(StrictReader& reader, Weights& weights) {
  for (const auto& [name, field] : chances) {
    std::string key(name);
    reader.decimal(key, weights.*field);
    if (weights.*field < 0 || weights.*field > 1) {
      reader.complain(reader.path(key), "must be a chance from 0 to 1");
    }
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
  scenario.controller_weights = std::move(weights);
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
  for (const auto& [name, full_name] : watched) {
    auto lag = weights.watch_lag_of.find(std::string(full_name));
    if (lag != weights.watch_lag_of.end()) lags[name] = format_duration(lag->second);
  }
  if (!lags.empty()) json["watchLag"] = std::move(lags);
  return json;
}

}  // namespace

Json faults_json(const Scenario& scenario) {
  JsonObject json;
  if (scenario.controller_weights) json = weights_json(*scenario.controller_weights);
  if (scenario.fleet_weights) json["fleet"] = weights_json(*scenario.fleet_weights);
  return json;
}

std::span<const FaultChance> fault_chances() { return chances; }

}  // namespace lockstep::sim
