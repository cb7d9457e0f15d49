#include "sim/explore/random_rollout.h"

#include <set>

#include <gtest/gtest.h>

#include "base/strings.h"
#include "rollout/rollout_spec.h"
#include "sim/explore/random_run.h"
#include "sim/scenario/scenario_text.h"

namespace lockstep::sim::random_rollout_test {
namespace {

TEST(RandomRollout, IsTheSameForTheSameSeedAndLeavesTheRestAsItWas) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    Scenario one = random_scenario(seed, RandomKind::rollout);
    EXPECT_EQ(print_scenario(one), print_scenario(random_scenario(seed, RandomKind::rollout)));
    Scenario without = random_scenario(seed);
    EXPECT_EQ(one.fleet.nodes, without.fleet.nodes);
    // Beside NVIDIA's controller, only the fields that it knows.
    EXPECT_TRUE(one.conduct || json_equal(one.fleet.upgrade_policy, without.fleet.upgrade_policy));
    EXPECT_GT(one.steps.size(), without.steps.size());
  }
}

TEST(RandomRollout, IsOneThatTheClusterTakes) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    Scenario scenario = random_scenario(seed, RandomKind::rollout);
    rollout::RolloutSpec spec = rollout::read_rollout_spec(
        JsonObject{{"metadata", JsonObject{{"name", "driver"}}}, {"spec", scenario.rollout}});
    EXPECT_TRUE(spec.problems.empty()) << seed << ": " << join(spec.problems, "; ");
    EXPECT_FALSE(scenario.expect.version) << "where it ends depends on what fails";
  }
}

// Not only planned: each of them is drawn.
TEST(RandomRollout, HasAllThatARolloutCanHave) {
  std::set<std::string> seen;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    Scenario scenario = random_scenario(seed, RandomKind::rollout);
    std::string text = print_json(scenario.rollout);
    for (std::string_view word : {"gates", "bake", "approval", "Hold", "percent", "count",
                                  "maxParallelUpgrades", "\"training\"", "accept"}) {
      if (text.find(word) != std::string::npos) seen.emplace(word);
    }
    if (find(scenario.rollout, "waves") == nullptr) seen.emplace("waves of its own");
    if (!scenario.health) seen.emplace("no health");
    if (!scenario.xid_rates.empty()) seen.emplace("errors that kill work");
    if (scenario.latencies.gpu_labels.most > Duration(0)) seen.emplace("labels that lag");
    for (const auto& step : scenario.steps) {
      if (step.action == "deleteDriverPods") seen.emplace(step.action);
      if (step.action == "rollout") seen.emplace(as_text(&step.value));
      if (step.action == "setRollout" && as_bool(find(step.value, "paused"))) seen.emplace("pause");
    }
    const Interference& last = scenario.steps.back();
    if (as_text(&last.value) == "rollback") seen.emplace("rollback after the end");
    if (last.action == "setVersion") seen.emplace("previous version after the end");
    for (const auto& [whom, machine] : scenario.machines) {
      if (!machine.gate_fails.empty()) seen.emplace("a gate that fails");
    }
  }
  EXPECT_EQ(seen, (std::set<std::string>{"gates",
                                         "bake",
                                         "approval",
                                         "Hold",
                                         "percent",
                                         "count",
                                         "maxParallelUpgrades",
                                         "\"training\"",
                                         "waves of its own",
                                         "no health",
                                         "promote",
                                         "retry",
                                         "rollback",
                                         "abort",
                                         "pause",
                                         "a gate that fails",
                                         "promote --force",
                                         "rollback after the end",
                                         "previous version after the end",
                                         "accept",
                                         "deleteDriverPods",
                                         "errors that kill work",
                                         "labels that lag"}));
}

}  // namespace
}  // namespace lockstep::sim::random_rollout_test
