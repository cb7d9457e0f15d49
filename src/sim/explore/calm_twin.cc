#include "sim/explore/calm_twin.h"

#include <algorithm>
#include <set>

#include "sim/explore/exhaustive.h"

namespace lockstep::sim {

namespace {

bool is_between_controller_and_api(std::string_view action) {
  static const std::set<std::string_view> names = {"outage",      "partition",    "silenceWatches",
                                                   "dropWatches", "olderReplica", "clockStep",
                                                   "crash",       "restart"};
  return names.contains(action);
}

bool is_done(const EndFacts& end, const std::string& thing) {
  auto at = end.things.find(thing);
  if (at == end.things.end()) return false;
  auto state = at->second.find("state");
  return state != at->second.end() && state->second == fleet::display_name(fleet::State::done);
}

EndFacts comparable(const Scenario& scenario, const EndFacts& end, const EndFacts& other) {
  EndFacts left = end;
  bool all_done = scenario.expect.done == "all";
  std::erase_if(left.things, [&](const auto& entry) {
    const std::string& thing = entry.first;
    // A job that was evicted once more than in the other run is over later.
    if (thing.starts_with("pod ") || thing.starts_with("Job ")) return true;
    // Pods that have ended go with their node, if it goes.
    auto running = entry.second.find(std::string(fact_of_work));
    if (running != entry.second.end() && running->second == "0") return true;
    bool is_node = thing.starts_with("node ");
    return is_node && !all_done && !(is_done(end, thing) && is_done(other, thing));
  });
  return left;
}

}  // namespace

Scenario calm_twin(const Scenario& scenario) {
  Scenario twin = scenario;
  twin.controllers = 1;
  twin.controller_faults = twin.fleet_faults = 0;
  twin.controller_weights.reset();
  twin.fleet_weights.reset();
  std::erase_if(twin.steps, [](const Interference& step) {
    return is_between_controller_and_api(step.action);
  });
  if (twin.world) {
    std::erase_if(twin.world->weights,
                  [](const auto& weight) { return is_between_controller_and_api(weight.first); });
  }
  return twin;
}

std::vector<std::string> compare_with_twin(const Scenario& scenario, const RunSummary& run,
                                           const RunSummary& twin) {
  std::vector<std::string> wrong = compare_with_calm(run, run);
  for (const auto& text : compare_with_calm(twin, twin)) {
    wrong.push_back("in the run without faults: " + text);
  }
  // Two goals that were missed are two findings already.
  if (!wrong.empty()) return wrong;
  // Where a rollout ends depends on what failed in which wave, and when.
  if (!scenario.rollout.is_null()) return wrong;
  return differences(comparable(scenario, run.end, twin.end),
                     comparable(scenario, twin.end, run.end));
}

}  // namespace lockstep::sim
