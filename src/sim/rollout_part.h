// What a scenario with a rollout adds to its world: the definition of DriverRollout, the rollout
// itself, what people ask of it, and nodes that tell of their GPUs' health.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "rollout/rollout_status.h"
#include "rollout/window.h"
#include "sim/cluster.h"
#include "sim/scenario.h"

namespace lockstep::sim {

inline constexpr std::string_view rollout_name = "driver";

// What nodes write of their GPUs: counts of events since they came up, as a JSON map.
inline constexpr std::string_view health_annotation = "lockstep.dev/gpu-health";

class RolloutPart {
 public:
  RolloutPart(Cluster& cluster, const Scenario& scenario, uint64_t seed);
  RolloutPart(const RolloutPart&) = delete;
  RolloutPart& operator=(const RolloutPart&) = delete;

  bool enabled() const { return !scenario_.rollout.is_null(); }
  // Before the controllers begin.
  Result<void> start();
  const rollout::RolloutStatus& status() const;
  // It waits for nothing but people.
  bool at_rest() const;
  // "promote", "abort", …
  Result<void> command(const std::string& verb);
  Result<void> change_spec(const Json& patch);
  void set_xid_rates(std::map<std::string, double> rates) { rates_ = std::move(rates); }

 private:
  void tick();
  double rate_of(const std::string& version) const;

  Cluster& cluster_;
  const Scenario& scenario_;
  // Of the object as it was last read: it is asked for every second of days.
  mutable Document last_read_;
  mutable rollout::RolloutStatus last_status_;
  SeededRandom random_;
  std::map<std::string, double> rates_;
  std::map<std::string, int64_t> events_;  // fatal XIDs by node
  int commands_ = 0;
  Scope scope_;
};

// The zones that scenarios use, by rules written here: a run must not depend on the machine's
// files.
rollout::TimeZones rollout_time_zones();

// The definition as our chart installs it.
Json driver_rollout_definition();

}  // namespace lockstep::sim
