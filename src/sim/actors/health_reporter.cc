#include "sim/actors/health_reporter.h"

#include <cmath>
#include <utility>

namespace lockstep::sim {

double rate_of(const EventRates& rates, const std::string& version) {
  auto at = rates.find(version);
  if (at == rates.end()) at = rates.find("*");
  return at == rates.end() ? 0 : at->second;
}

// By the gaps between them.
int64_t draw_events(double expected, Random& random) {
  int64_t events = 0;
  double passed = 0;
  while (true) {
    passed -= std::log(1 - random.fraction());
    if (passed > expected) return events;
    ++events;
  }
}

Json health_patch(const Machine& machine, int64_t fatal_xids) {
  Json health = JsonObject{{"gpus", machine.gpus()}, {"FatalXid", fatal_xids}};
  return JsonObject{
      {"metadata",
       JsonObject{{"annotations", JsonObject{{health_annotation, print_json(health)}}}}}};
}

HealthReporter::HealthReporter(Parts parts, Kubelets& kubelets, Duration interval, EventRates rates)
    : parts_(parts),
      kubelets_(kubelets),
      writer_(parts),
      interval_(interval),
      rates_(std::move(rates)) {}

void HealthReporter::tick() {
  double hours_passed = in_seconds(interval_) / 3600;
  for (const std::string& node : kubelets_.node_names()) {
    if (!kubelets_.is_there(node)) continue;
    const Machine& machine = kubelets_.machine(node);
    auto [at, is_new] = events_.try_emplace(node, 0);
    int64_t events = 0;
    double rate = rate_of(rates_, machine.version());
    if (rate > 0 && machine.loaded() && kubelets_.is_busy(node)) {
      events = draw_events(rate * machine.gpus() * hours_passed, parts_.random);
    }
    if (events > 0) kubelets_.break_gpus(node);
    if (!is_new && events == 0) continue;
    at->second += events;
    writer_.send(merge_patch(resource::nodes, {"", node}, health_patch(machine, at->second)));
  }
  parts_.loop.after(interval_, scope_.bind([this] { tick(); }));
}

}  // namespace lockstep::sim
