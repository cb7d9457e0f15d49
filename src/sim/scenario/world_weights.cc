#include "sim/scenario/world_weights.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "sim/actors/health_reporter.h"
#include "sim/scenario/fault_steps.h"
#include "world/random.h"

namespace lockstep::sim {

namespace {

// More than one a minute leaves no time in which anything happens.
constexpr double most_an_hour = 60;

// Of one kind, with random numbers of its own.
class KindDrawer {
 public:
  KindDrawer(uint64_t seed, const FaultStepScope& scope, Duration until)
      : random_(seed), scope_(scope), until_(until), steps_(random_, scope) {}

  std::vector<Interference> draw(const FaultStepKind& kind, double weight) {
    double expected = weight * in_seconds(until_) / 3600 * (kind.on_node ? scope_.nodes : 1);
    int64_t count = draw_events(expected, random_);
    // A fleet that is all gone shows nothing.
    if (kind.name == "deleteNodes") count = std::min<int64_t>(count, scope_.nodes / 3);
    std::vector<Interference> drawn;
    for (int64_t i = 0; i < count; ++i) {
      Interference step = steps_.draw(kind.name);
      step.at = steps_.up_to(until_);
      drawn.push_back(std::move(step));
    }
    return drawn;
  }

 private:
  SeededRandom random_;
  const FaultStepScope& scope_;
  Duration until_;
  FaultSteps steps_;
};

}  // namespace

void read_world(StrictReader& reader, Scenario& scenario) {
  WorldWeights world;
  for (const FaultStepKind& kind : fault_step_kinds()) {
    double weight = 0;
    reader.decimal(kind.name, weight, 0, most_an_hour);
    if (weight > 0) world.weights[std::string(kind.name)] = weight;
  }
  reader.duration("until", world.until);
  if (world.weights.contains("setVersion") && scenario.to_version.empty()) {
    reader.refuse("setVersion", "needs to: the version that has the last word");
  }
  if (world.until > scenario.limit) {
    reader.refuse("until", fmt::format("must come before the limit, which is {}",
                                       format_duration(scenario.limit)));
  }
  scenario.world = std::move(world);
}

Json world_json(const WorldWeights& world) {
  JsonObject json;
  for (const auto& [name, weight] : world.weights) json[name] = weight;
  json["until"] = format_duration(world.until);
  return json;
}

Scenario with_world_drawn(const Scenario& scenario, uint64_t seed, int nodes) {
  Scenario drawn = scenario;
  const WorldWeights world = *std::exchange(drawn.world, std::nullopt);
  const FaultStepScope scope{nodes, scenario.fleet.driver_version, scenario.to_version};
  std::vector<Interference> steps;
  uint64_t index = 0;
  for (const FaultStepKind& kind : fault_step_kinds()) {
    ++index;
    auto weight = world.weights.find(std::string(kind.name));
    if (weight == world.weights.end()) continue;
    KindDrawer drawer(seed * 101 + index, scope, world.until);
    for (Interference& step : drawer.draw(kind, weight->second)) steps.push_back(std::move(step));
  }
  std::stable_sort(steps.begin(), steps.end(),
                   [](const Interference& a, const Interference& b) { return a.at < b.at; });
  if (world.weights.contains("setVersion")) {
    Interference last_word;
    last_word.action = "setVersion";
    last_word.value = Json(scenario.to_version);
    last_word.at = world.until;
    steps.push_back(std::move(last_word));
  }
  for (Interference& step : end_of_troubles(world.until)) steps.push_back(std::move(step));
  // Behind the scenario's own, each of which may build on the one before it.
  for (Interference& step : steps) drawn.steps.push_back(std::move(step));
  return drawn;
}

}  // namespace lockstep::sim
