#include "sim/explore/fault_plan.h"

#include <set>

#include <gtest/gtest.h>

#include "sim/scenario/scenario_run.h"

namespace lockstep::sim::fault_plan_test {
namespace {

FaultScope scope_of(int nodes) {
  FaultScope scope;
  scope.nodes = nodes;
  scope.from_version = "580.105.08";
  scope.to_version = "580.126.20";
  return scope;
}

FaultPlan plan_of(uint64_t seed, double strength = 1.0, const FaultScope& scope = scope_of(6)) {
  SeededRandom random(seed);
  return random_fault_plan(random, strength, scope);
}

TEST(FaultPlan, TheSameSeedGivesTheSamePlan) {
  std::set<std::vector<std::string>> plans;
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    EXPECT_EQ(plan_of(seed).lines(), plan_of(seed).lines());
    EXPECT_FALSE(plan_of(seed).lines().empty());
    plans.insert(plan_of(seed).lines());
  }
  EXPECT_EQ(plans.size(), 50u);
}

TEST(FaultPlan, StrengthZeroIsNothingAtAll) {
  EXPECT_TRUE(plan_of(1, 0).lines().empty());
  EXPECT_TRUE(plan_of(1, 0).steps.empty());
}

TEST(FaultPlan, EveryKindOfFaultIsDrawnSometime) {
  std::set<std::string> actions;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    for (const Interference& step : plan_of(seed).steps) actions.insert(step.action);
  }
  for (auto action :
       {"rebootNodes", "recreateNodes",      "deleteNodes",    "hangKubelets", "notReadyFor",
        "crashDriver", "recreateDriverPods", "pause",          "resume",       "relabel",
        "cordon",      "uncordon",           "skip",           "unskip",       "retry",
        "outage",      "partition",          "silenceWatches", "dropWatches",  "olderReplica",
        "clockStep",   "setVersion"}) {
    EXPECT_TRUE(actions.contains(action)) << action;
  }
}

TEST(FaultPlan, TouchesOnlyWhatItMay) {
  FaultScope scope = scope_of(6);
  scope.users = scope.world = scope.clock = false;
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    FaultPlan plan = plan_of(seed, 1.0, scope);
    EXPECT_TRUE(plan.machines.empty());
    EXPECT_EQ(plan.fleet.reply_lost, 0);
    for (const Interference& step : plan.steps) {
      EXPECT_TRUE(step.nodes.numbers.empty()) << step.action;
      EXPECT_NE(step.action, "clockStep");
      EXPECT_NE(step.action, "setVersion");
    }
  }
}

TEST(FaultPlan, StepsComeInTheOrderOfTheirTimesAndNameNodesThatAreThere) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    FaultPlan plan = plan_of(seed);
    Duration last{0};
    int deleted = 0;
    std::string version;
    for (const Interference& step : plan.steps) {
      EXPECT_GE(step.at, last);
      EXPECT_LE(step.at, hours(1));
      EXPECT_FALSE(step.after.has_value());
      EXPECT_LE(step.nodes.highest(), 6);
      last = step.at;
      deleted += step.action == "deleteNodes" ? 1 : 0;
      if (step.action == "setVersion") version = std::string(as_text(&step.value));
    }
    EXPECT_LE(deleted, 1);
    EXPECT_TRUE(version.empty() || version == "580.126.20") << version;
  }
}

// A plan in a scenario, and its end: whatever came, the fleet gets there or says why.
TEST(FaultPlan, MakesAScenarioHarderAndThenItIsHealed) {
  auto base = read_scenario(R"(
name: test
nodes: 5
to: "580.126.20"
policy: {autoUpgrade: true, maxParallelUpgrades: 2, maxUnavailable: "100%"}
limit: 6h
aftermath: 1h
expect: {version: "580.126.20"}
)",
                            "base");
  ASSERT_TRUE(base) << base.error().text();
  std::set<std::string> seen;
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    FaultPlan plan = plan_of(seed, 0.5, scope_of(5));
    Scenario scenario = *base;
    add_faults(scenario, plan);
    EXPECT_EQ(scenario.machines.size(), plan.machines.size());
    Interference heal;
    heal.at = hours(2);
    heal.action = "heal";
    heal.value = true;
    scenario.steps.push_back(heal);
    RunSummary summary = run_scenario(scenario, {seed, 0});
    EXPECT_EQ(summary.digest, run_scenario(scenario, {seed, 0}).digest);
    EXPECT_EQ(summary.faults.at("heal"), 1u);
    for (const auto& [name, count] : summary.faults) seen.insert(name);
  }
  EXPECT_GT(seen.size(), 8u);
}

}  // namespace
}  // namespace lockstep::sim::fault_plan_test
