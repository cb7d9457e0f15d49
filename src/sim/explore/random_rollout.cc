#include "sim/explore/random_rollout.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "world/random.h"

namespace lockstep::sim {

namespace {

class RolloutDrawer {
 public:
  RolloutDrawer(Scenario scenario, uint64_t seed)
      : scenario_(std::move(scenario)),
        random_(seed * 29 + 5),
        images_random_(seed * 29 + 6),
        outside_(seed * 29 + 7),
        coordination_(seed * 29 + 8) {}

  Scenario draw() {
    scenario_.name += "-rollout";
    // Kubernetes would take the whole fleet past all waves.
    scenario_.fleet.driver_strategy = "OnDelete";
    std::erase_if(scenario_.steps,
                  [](const Interference& step) { return step.action == "setDriverStrategy"; });
    draw_rollout();
    draw_images();
    draw_people();
    draw_spec_changes();
    draw_outsiders();
    add_the_end();
    draw_world();
    draw_coordination();
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
    // Otherwise a bake has no data to analyze.
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

  // A user removes waves from the spec, or renames one, and restores them later.
  void draw_spec_changes() {
    const Json* waves = find(scenario_.rollout, "waves");
    if (waves == nullptr || !chance(0.15)) return;
    const bool renames = chance(0.5);
    JsonArray changed;
    for (const Json& wave : waves->get_array()) {
      bool is_first = &wave == &waves->get_array().front();
      if (is_first && !renames) continue;
      JsonObject copy = wave.get_object();
      if (is_first) copy["name"] = "renamed";
      changed.push_back(std::move(copy));
    }
    int end = static_cast<int>(
        in_seconds(scenario_.steps.empty() ? minutes(10) : scenario_.steps.back().at));
    const Duration when = seconds(number(std::max(end, 1)));
    scenario_.steps.push_back(at(when, "setRollout", JsonObject{{"waves", std::move(changed)}}));
    scenario_.steps.push_back(
        at(when + seconds(number(1200)), "setRollout", JsonObject{{"waves", waves->get_array()}}));
    std::stable_sort(scenario_.steps.begin(), scenario_.steps.end(),
                     [](const auto& left, const auto& right) { return left.at < right.at; });
  }

  // With random numbers of its own, so that older seeds stay what they were.
  void draw_images() {
    auto below = [&](uint64_t most) { return images_random_.below(most); };
    const bool is_renamed = below(2) == 0;
    auto naming = static_cast<ImageNaming>(1 + below(3));
    // Where the image does not have the version, no controller can know that a node's ResourceSlice
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
    static constexpr std::array<std::string_view, 5> verbs = {"promote", "retry", "rollback",
                                                              "abort", "promote --force"};
    // What is appended below comes after what the base drew for its end.
    Duration end = scenario_.steps.empty() ? Duration() : scenario_.steps.back().at;
    auto when = [&] { return seconds(number(static_cast<int>(in_seconds(end)))); };
    std::vector<Interference> steps;
    for (int i = number(4); i > 0; --i) {
      steps.push_back(
          at(when(), "rollout", Json(verbs[static_cast<size_t>(number(chance(0.7) ? 2 : 5))])));
    }
    if (chance(0.15)) steps.push_back(at(when(), "setRollout", JsonObject{{"paused", true}}));
    for (auto& step : steps) scenario_.steps.push_back(std::move(step));
    std::stable_sort(scenario_.steps.begin(), scenario_.steps.end(),
                     [](const auto& left, const auto& right) { return left.at < right.at; });
  }

  // Nodes that get the new driver although their wave is not open: a pod is deleted, or a node is
  // replaced. With random numbers of its own, so that older seeds stay what they were.
  void draw_outsiders() {
    auto below = [&](int most) {
      return static_cast<int>(outside_.below(static_cast<uint64_t>(most)));
    };
    if (below(10) == 0) scenario_.rollout.as_object()["outsideWave"] = "accept";
    const Duration end = scenario_.steps.empty() ? Duration() : scenario_.steps.back().at;
    if (end == Duration()) return;
    for (int i = below(4); i > 0; --i) {
      const bool is_replaced = below(3) == 0;
      Interference step = at(seconds(below(static_cast<int>(in_seconds(end)))),
                             is_replaced ? "recreateNodes" : "deleteDriverPods",
                             is_replaced ? Json("1m") : Json(true));
      step.nodes.numbers.push_back(1 + below(nodes()));
      auto behind =
          std::upper_bound(scenario_.steps.begin(), scenario_.steps.end(), step,
                           [](const auto& left, const auto& right) { return left.at < right.at; });
      scenario_.steps.insert(behind, std::move(step));
    }
  }

  // Users resolve everything: holds are released, failures are retried, and waves that wait for
  // approval get it. Where it ends depends on what failed when; it must not hang on the way.
  void add_the_end() {
    Duration end = scenario_.steps.empty() ? Duration() : scenario_.steps.back().at;
    scenario_.steps.push_back(at(end, "setRollout", JsonObject{{"paused", false}}));
    // Nodes that are out of service until their wave opens leave no place for those before them.
    scenario_.steps.push_back(at(end, "setPolicy", JsonObject{{"maxUnavailable", "100%"}}));
    for (int i = 0; i < 3; ++i) {
      for (std::string_view verb : {"retry", "promote", "promote"}) {
        Interference step = at(end, "rollout", Json(verb));
        step.rest = true;
        scenario_.steps.push_back(std::move(step));
      }
    }
    // It has ended, and the version turns out to be bad: by a command, or set back by hand.
    if (chance(0.3)) {
      bool by_hand = chance(0.4);
      Interference step = by_hand ? at(end, "setVersion", Json(scenario_.fleet.driver_version))
                                  : at(end, "rollout", Json("rollback"));
      step.rest = true;
      scenario_.steps.push_back(std::move(step));
    }
    bool can_end = scenario_.expect.done == "all";
    scenario_.expect = {};
    if (can_end) scenario_.expect.rollout_settled = true;
  }

  // After all else, so that seeds stay what they were. Labels lag, and fatal errors kill the work
  // that they hit, until users have repaired the machines.
  void draw_world() {
    if (chance(0.5)) scenario_.latencies.gpu_labels = {seconds(0), seconds(30 * (1 + number(6)))};
    if (!scenario_.health || !chance(0.3)) return;
    scenario_.xid_rates["*"] = 0.002 * (1 + number(10));
    if (chance(0.5)) scenario_.xid_rates[scenario_.to_version] = 0.02 * (1 + number(10));
    auto first_at_rest = std::find_if(scenario_.steps.begin(), scenario_.steps.end(),
                                      [](const Interference& step) { return step.rest; });
    const Duration end = scenario_.steps.empty() ? Duration() : scenario_.steps.back().at;
    scenario_.steps.insert(first_at_rest, at(end, "setXidRates", JsonObject{}));
  }

  // The nodes' steps are NVIDIA's controller's, and the rollout only holds and releases nodes. That
  // controller never ends some waits and fails nodes without a reason, so that its fleet has no
  // work that stays and no broken machine: what is tried is which nodes have which version.
  void draw_coordination() {
    static constexpr std::array<std::string_view, 17> actions = {
        "setVersion",     "rollout", "setRollout",  "deleteDriverPods", "recreateNodes", "restart",
        "cosmeticChange", "crash",   "outage",      "partition",        "dropWatches",   "calm",
        "silenceWatches", "heal",    "setXidRates", "setPolicy",        "imitate"};
    if (coordination_.below(8) != 0) return;
    scenario_.conduct = true;
    JsonObject policy{{"autoUpgrade", true}};
    for (std::string_view limit : {"maxParallelUpgrades", "maxUnavailable"}) {
      if (const Json* value = find(scenario_.fleet.upgrade_policy, limit)) policy[limit] = *value;
    }
    scenario_.fleet.upgrade_policy = std::move(policy);
    WorkloadOptions work;
    work.deployment_replicas = scenario_.fleet.workloads.deployment_replicas;
    scenario_.fleet.workloads = work;
    scenario_.rollout.as_object().erase("outsideWave");
    std::erase_if(scenario_.machines,
                  [](const auto& machine) { return machine.second.gate_fails.empty(); });
    const Json all_at_once = JsonObject{{"maxUnavailable", "100%"}};
    std::erase_if(scenario_.steps, [&](const Interference& step) {
      if (step.action == "setPolicy") return step.value != all_at_once;
      return std::find(actions.begin(), actions.end(), step.action) == actions.end();
    });
  }

  Scenario scenario_;
  SeededRandom random_;
  SeededRandom images_random_;
  SeededRandom outside_;
  SeededRandom coordination_;
};

}  // namespace

Scenario with_random_rollout(Scenario scenario, uint64_t seed) {
  return RolloutDrawer(std::move(scenario), seed).draw();
}

}  // namespace lockstep::sim
