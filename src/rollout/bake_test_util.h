// Steps of a bake, and random bakes, for the tests of its analysis and for bench/.
#pragma once

#include <cmath>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "fleet/reason_test_util.h"
#include "rollout/bake.h"

namespace lockstep::rollout {

inline const Time began = Time::from_unix(1'800'000'000);

inline ModelStep hours_of(double upgraded, double control) { return {"H100", upgraded, control}; }

inline BakeStep step_at(Duration after, ModelStep model) {
  BakeStep step;
  step.at = began + after;
  step.elapsed = after;
  step.upgraded_nodes = 8;
  step.models.push_back(std::move(model));
  return step;
}

// A fleet in which some nodes break far more often than others, whatever their driver, and in which
// what breaks reports several errors.
struct DrawnBake {
  int upgraded = 64;
  int control = 200;
  int days = 2;
  double per_gpu_hour = 1.0 / 79000;  // incidents, with the old driver
  double ratio = 1;                   // with the new one
  double fragile_share = 0;           // of the nodes, which break
  double fragile_factor = 1;          // how many times as often as the others
  int most_events = 1;                // of an incident: the maximum, within ten minutes
};

// Analyzed every five minutes, up to the first finding or the end.
template <typename Generator>
BakeVerdict draw_bake(const DrawnBake& drawn, Generator& random, BakeRules rules = {}) {
  constexpr int gpus = 8;
  const Duration look = minutes(5);
  static const char* const kinds[] = {"FatalXid", "GpuLost", "UncorrectableEcc"};
  rules.duration = hours(24 * drawn.days);
  rules.max_duration = 2 * rules.duration;
  std::uniform_real_distribution<double> fraction(0, 1);
  const double ordinary =
      1 / (1 + drawn.fragile_share * (drawn.fragile_factor - 1));  // so that the mean stays
  // By step, node and kind.
  std::map<int64_t, std::map<std::string, EventCounts>> events;
  for (int i = 0; i < drawn.upgraded + drawn.control; ++i) {
    const bool is_upgraded = i < drawn.upgraded;
    const std::string node = fmt::format("{}-{:04}", is_upgraded ? "new" : "old", i);
    double rate = drawn.per_gpu_hour * gpus * ordinary * (is_upgraded ? drawn.ratio : 1);
    if (fraction(random) < drawn.fragile_share) rate *= drawn.fragile_factor;
    double hour = 0;
    while (true) {
      hour -= std::log(1 - fraction(random)) / rate;
      if (hour >= 24.0 * drawn.days) break;
      const int bursts = 1 + static_cast<int>(fraction(random) * drawn.most_events);
      for (int event = 0; event < bursts; ++event) {
        const double minute = 60 * hour + (event == 0 ? 0 : 10 * fraction(random));
        ++events[static_cast<int64_t>(minute / 5)][node][kinds[random() % 3]];
      }
    }
  }
  BakeJudge judge(rules);
  Incidents incidents;
  std::set<std::string> hit;
  int64_t last = 0;
  auto step_to = [&](int64_t looks, const std::map<std::string, EventCounts>& seen) {
    const double hours_passed = static_cast<double>(looks - last) / 12;
    ModelStep model =
        hours_of(drawn.upgraded * gpus * hours_passed, drawn.control * gpus * hours_passed);
    for (const std::string& node : hit) {
      auto& repeated =
          node.starts_with("new") ? model.upgraded_repeat_hours : model.control_repeat_hours;
      const auto before = static_cast<size_t>(incidents.count(node));
      repeated[std::min(before, compared_incidents) - 1] += gpus * hours_passed;
    }
    for (const auto& [node, of_node] : seen) {
      (node.starts_with("new") ? model.upgraded_events : model.control_events)[node] = of_node;
      hit.insert(node);
    }
    BakeStep step = step_at(look * looks, std::move(model));
    step.upgraded_nodes = drawn.upgraded;
    count_incidents(step, look * last, incidents);
    judge.add(step);
    last = looks;
  };
  const int64_t looks_in_all = rules.duration / look;
  for (const auto& [index, seen] : events) {
    if (index >= looks_in_all) break;
    if (index > last) step_to(index, {});
    step_to(index + 1, seen);
    if (judge.is_decided()) return judge.verdict();
  }
  if (last < looks_in_all) step_to(looks_in_all, {});
  return judge.verdict();
}

}  // namespace lockstep::rollout
