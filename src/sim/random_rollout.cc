#include "sim/random_rollout.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "world/random.h"

namespace lockstep::sim {

namespace {

class RolloutDrawer {
 public:
  RolloutDrawer(Scenario scenario, uint64_t seed)
      : scenario_(std::move(scenario)), random_(seed * 29 + 5), images_random_(seed * 29 + 6) {}

  Scenario draw() {
    scenario_.name += "-rollout";
    draw_rollout();
    draw_images();
    draw_people();
    add_the_end();
    return std::move(scenario_);
  }

 private:
  int number(int below) { return static_cast<int>(random_.below(static_cast<uint64_t>(below))); }
  bool chance(double probability) { return random_.fraction() < probability; }
  int nodes() const { return scenario_.fleet.nodes; }

  void draw_rollout() {
    JsonObject rollout{
        {"driver", JsonObject{{"kind", "ClusterPolicy"}, {"name", "cluster-policy"}}}};
    // Otherwise those that it has by itself.
    if (chance(0.85)) rollout["waves"] = draw_waves();
    if (chance(0.4)) rollout["onFailure"] = "Hold";
    scenario_.rollout = std::move(rollout);
    // Otherwise no bake has anything to judge by.
    scenario_.health = chance(0.8);
    // Those whose gates fail with the new driver.
    if (chance(0.2)) {
      NodeBehaviour bad;
      bad.gate_fails = scenario_.to_version;
      NodeChoice whom;
      whom.numbers.push_back(1 + number(nodes()));
      scenario_.machines.emplace_back(std::move(whom), std::move(bad));
    }
  }

  JsonArray draw_waves() {
    JsonArray waves;
    waves.push_back(draw_wave("canary", JsonObject{{"count", 1 + number(3)}}));
    if (chance(0.4)) {
      waves.push_back(draw_wave("some", JsonObject{{"percent", 10 * (1 + number(5))}}));
    }
    waves.push_back(draw_wave("rest", JsonObject{{"rest", true}}));
    return waves;
  }

  // By lots of its own: what a seed has been so far, it stays.
  void draw_images() {
    auto below = [&](uint64_t most) { return images_random_.below(most); };
    const bool is_renamed = below(2) == 0;
    auto naming = static_cast<ImageNaming>(1 + below(3));
    // Where the image does not say the version, no controller can tell that a node's ResourceSlice
    // is old: fleets of such images have no DRA driver here.
    if (naming != ImageNaming::suffix && scenario_.fleet.workloads.claim_pods > 0) {
      naming = ImageNaming::suffix;
    }
    if (is_renamed) {
      scenario_.fleet.image_naming = naming;
      scenario_.fleet.dra = naming == ImageNaming::suffix;
    }
    if (below(4) != 0) return;
    // Sooner than what counts as rest.
    scenario_.self_heal = seconds(5 + static_cast<int64_t>(below(230)));
  }

  Json draw_wave(std::string_view name, JsonObject whom) {
    static constexpr std::array<std::string_view, 4> lengths = {"2m", "10m", "30m", "2h"};
    JsonObject wave{{"name", name}, {"nodes", std::move(whom)}};
    if (chance(0.3)) wave["maxParallelUpgrades"] = 1 + number(3);
    if (chance(0.4)) {
      JsonArray gates{"driver"};
      if (chance(0.5)) gates.push_back("training");
      wave["gates"] = std::move(gates);
    }
    if (chance(0.5)) {
      wave["bake"] =
          JsonObject{{"duration", lengths[static_cast<size_t>(number(4))]}, {"maxDuration", "4h"}};
    }
    if (chance(0.15)) wave["approval"] = "required";
    return wave;
  }

  Interference at(Duration when, std::string action, Json value) {
    Interference step;
    step.at = when;
    step.action = std::move(action);
    step.value = std::move(value);
    return step;
  }

  void draw_people() {
    static constexpr std::array<std::string_view, 4> verbs = {"promote", "retry", "rollback",
                                                              "abort"};
    // What is appended below stands behind what the base drew for its end.
    Duration end = scenario_.steps.empty() ? Duration() : scenario_.steps.back().at;
    auto when = [&] { return seconds(number(static_cast<int>(in_seconds(end)))); };
    std::vector<Interference> steps;
    for (int i = number(4); i > 0; --i) {
      steps.push_back(
          at(when(), "rollout", Json(verbs[static_cast<size_t>(number(chance(0.7) ? 2 : 4))])));
    }
    if (chance(0.15)) steps.push_back(at(when(), "setRollout", JsonObject{{"paused", true}}));
    for (auto& step : steps) scenario_.steps.push_back(std::move(step));
    std::stable_sort(scenario_.steps.begin(), scenario_.steps.end(),
                     [](const auto& left, const auto& right) { return left.at < right.at; });
  }

  // Everybody sees reason: whoever held it lets go, what failed is tried again, what waits for
  // approval gets it. Where it ends depends on what failed when; it must not hang on the way.
  void add_the_end() {
    Duration end = scenario_.steps.empty() ? Duration() : scenario_.steps.back().at;
    scenario_.steps.push_back(at(end, "setRollout", JsonObject{{"paused", false}}));
    for (int i = 0; i < 3; ++i) {
      for (std::string_view verb : {"retry", "promote", "promote"}) {
        Interference step = at(end, "rollout", Json(verb));
        step.rest = true;
        scenario_.steps.push_back(std::move(step));
      }
    }
    bool can_end = scenario_.expect.done == "all";
    scenario_.expect = {};
    if (can_end) scenario_.expect.rollout_settled = true;
  }

  Scenario scenario_;
  SeededRandom random_;
  SeededRandom images_random_;
};

}  // namespace

Scenario with_random_rollout(Scenario scenario, uint64_t seed) {
  return RolloutDrawer(std::move(scenario), seed).draw();
}

}  // namespace lockstep::sim
