// Nodes that report their GPUs' health, as an agent on them would: counts of events since they came
// up, in an annotation that is written when it changes. The driver version determines how often
// fatal XIDs happen on a busy node.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "sim/actors/kubelets.h"
#include "sim/actors/parts.h"
#include "sim/actors/writer.h"

namespace lockstep::sim {

// What nodes write of their GPUs: counts of events since they came up, as a JSON map.
inline constexpr std::string_view health_annotation = "lockstep.dev/gpu-health";

// Per GPU-hour, by driver version; "*" is any other.
using EventRates = std::map<std::string, double>;
double rate_of(const EventRates& rates, const std::string& version);
// How many events happen when `expected` are expected.
int64_t draw_events(double expected, Random& random);
Json health_patch(const Machine& machine, int64_t fatal_xids);

class HealthReporter {
 public:
  HealthReporter(Parts parts, Kubelets& kubelets, Duration interval, EventRates rates);
  HealthReporter(const HealthReporter&) = delete;
  HealthReporter& operator=(const HealthReporter&) = delete;

  void start() { tick(); }

 private:
  void tick();

  Parts parts_;
  Kubelets& kubelets_;
  Writer writer_;
  Duration interval_;
  EventRates rates_;
  std::map<std::string, int64_t> events_;
  Scope scope_;
};

}  // namespace lockstep::sim
