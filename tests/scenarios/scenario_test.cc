// Every file in scenarios/ is a test: it must hold for every seed. SCENARIO_SEEDS=500 explores more
// of them than the few that a build can wait for; SCENARIO_NODES=48 tries another size of fleet.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/strings.h"
#include "sim/scenario/observed_api.h"
#include "sim/scenario/scenario_run.h"

namespace lockstep::sim::scenario_test {
namespace {

constexpr int usual_seeds = 3;

std::filesystem::path folder() { return LOCKSTEP_SCENARIO_DIR; }

std::vector<std::string> names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder())) {
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

Result<Scenario> read(const std::string& name) {
  std::ifstream file(folder() / (name + ".yaml"));
  std::stringstream text;
  text << file.rdbuf();
  return read_scenario(text.str(), name + ".yaml");
}

int number_from(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe): no thread yet
  auto number = text == nullptr ? std::nullopt : parse_integer(text);
  return number && *number > 0 ? static_cast<int>(*number) : otherwise;
}

class Scenarios : public ::testing::TestWithParam<std::string> {};

TEST_P(Scenarios, HoldsForEverySeed) {
  auto scenario = read(GetParam());
  ASSERT_TRUE(scenario) << scenario.error().text();
  EXPECT_EQ(scenario->name, GetParam()) << "a scenario is called as its file is";
  EXPECT_FALSE(scenario->about.empty()) << "a scenario says what it shows";
  int nodes = number_from("SCENARIO_NODES", 0);
  if (!check_nodes(*scenario, nodes)) GTEST_SKIP() << "needs more nodes";
  int usual = scenario->seeds > 0 ? std::min(scenario->seeds, usual_seeds) : usual_seeds;
  int seeds = number_from("SCENARIO_SEEDS", usual);
  for (int seed = 1; seed <= seeds; ++seed) {
    RunSummary summary = run_scenario(*scenario, {static_cast<uint64_t>(seed), nodes});
    EXPECT_TRUE(summary.ok()) << "lockstep simulate scenarios/" << GetParam() << ".yaml --seed "
                              << seed << " --nodes " << summary.nodes << "\n  "
                              << join(summary.violations, "\n  ") << "\n  "
                              << join(summary.disappointments, "\n  ");
  }
}

std::string test_name(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Files, Scenarios, ::testing::ValuesIn(names()), test_name);

// The names that the project promised.
TEST(Scenarios, AreAllThere) {
  auto found = names();
  for (const char* name :
       {"stale-nvml", "stale-nvml-annotation", "timing-race", "timing-race-hook", "per-node-reroll",
        "pdb-blocked", "image-pull-error", "crash-loop", "rollback-midway", "cosmetic-change",
        "admin-cordon", "pause-resume", "failure-budget", "one-bad-node"}) {
    EXPECT_NE(std::find(found.begin(), found.end(), name), found.end()) << name;
  }
}

// The controller is killed after each of its writes, its Jobs and the ConfigMap of the baseline
// among them: a slow driver is found anyway, and never passes for want of a baseline.
TEST(Scenarios, ABaselineSurvivesACrashAfterAnyWrite) {
  auto scenario = read_scenario(R"(
name: test
nodes: 3
to: "580.126.20"
policy: {autoUpgrade: true, maxParallelUpgrades: 1, maxUnavailable: 1}
rollout:
  driver: {kind: ClusterPolicy, name: cluster-policy}
  waves:
    - {name: canary, nodes: {count: 1}, gates: [inference]}
    - {name: rest, nodes: {rest: true}}
machines: [{nodes: all, gateSpeeds: {"580.126.20": 640, "*": 800}}]
expect: {done: all, version: "580.105.08", rolloutPhase: RolledBack, wavesOpened: 1,
         rolloutSays: 0.95 x before the upgrade}
)",
                                "baseline");
  ASSERT_TRUE(scenario) << scenario.error().text();
  const uint64_t writes = run_scenario(*scenario, {}).writes;
  ASSERT_GT(writes, 20U);
  for (uint64_t after = 1; after <= writes; ++after) {
    for (Duration away : {Duration(0), Duration(minutes(7))}) {
      RunOptions options;
      options.disturbances.crashes = {{after, away}};
      RunSummary summary = run_scenario(*scenario, options);
      EXPECT_TRUE(summary.ok()) << "after write " << after << ", away for " << format_duration(away)
                                << "\n  " << join(summary.violations, "\n  ") << "\n  "
                                << join(summary.disappointments, "\n  ");
    }
  }
}

// What the canary's bake had seen is in the record of the next wave's, and in that of the first is
// nothing.
TEST(Scenarios, ABakeGoesOnFromTheWavesBefore) {
  auto scenario = read_scenario(R"(
name: test
nodes: 4
to: "580.126.20"
policy: {autoUpgrade: true, maxParallelUpgrades: 4, maxUnavailable: 4}
workloads: {deploymentReplicas: "100%", deploymentGpus: 8}
health: true
rollout:
  driver: {kind: ClusterPolicy, name: cluster-policy}
  waves:
    - {name: canary, nodes: {count: 1}, bake: {duration: 1h}}
    - {name: rest, nodes: {rest: true}, bake: {duration: 1h}}
expect: {done: all, version: "580.126.20", rolloutPhase: Complete, wavesOpened: 2}
)",
                                "pooled");
  ASSERT_TRUE(scenario) << scenario.error().text();
  std::map<std::string, size_t> carried;  // by ConfigMap, in its last record
  RunOptions options;
  options.wrap = [&](kube::Api& inner) -> std::unique_ptr<kube::Api> {
    return std::make_unique<ObservedApi>(inner, [&](const kube::Request& request) {
      if (request.type.plural != "configmaps" || !request.body) return;
      std::string name(text_at(*request.body, "metadata", "name"));
      if (name.find("lockstep-bake-") != 0) return;
      const std::string record(text_at(*request.body, "data", "record"));
      size_t& count = carried[name.substr(name.rfind('-') + 1)] = 0;
      const std::string mark = "\"earlier\":true";
      for (size_t at = record.find(mark); at != std::string::npos; at = record.find(mark, at + 1)) {
        ++count;
      }
    });
  };
  RunSummary summary = run_scenario(*scenario, options);
  EXPECT_TRUE(summary.ok()) << join(summary.violations, "\n")
                            << join(summary.disappointments, "\n");
  EXPECT_EQ(carried, (std::map<std::string, size_t>{{"0", 0}, {"1", 1}}));
}

// Beside NVIDIA's controller only Lockstep says it of the node.
TEST(Scenarios, ANodeThatIsUpgradedOutsideItsWaveGetsAWarning) {
  auto scenario = read("coordinate-replaced");
  ASSERT_TRUE(scenario) << scenario.error().text();
  std::multiset<std::string> warned;
  RunOptions options;
  options.wrap = [&](kube::Api& inner) -> std::unique_ptr<kube::Api> {
    return std::make_unique<ObservedApi>(inner, [&](const kube::Request& request) {
      if (request.type.plural != "events" || !request.body) return;
      const std::string note(text_at(*request.body, "message"));
      if (note.find("UpgradedOutsideWave: ") != 0) return;
      EXPECT_EQ(text_at(*request.body, "type"), "Warning");
      EXPECT_NE(note.find("580.126.20"), std::string::npos) << note;
      warned.emplace(text_at(*request.body, "involvedObject", "name"));
    });
  };
  RunSummary summary = run_scenario(*scenario, options);
  EXPECT_TRUE(summary.ok()) << join(summary.violations, "\n")
                            << join(summary.disappointments, "\n");
  EXPECT_EQ(warned, (std::multiset<std::string>{"gpu-3", "gpu-5"}));
}

// A scenario whose expectation is wrong fails: what the protection does is what makes the
// difference, not a check that cannot fail.
TEST(Scenarios, FailWhenWhatTheyExpectIsWrong) {
  auto unprotected = read("per-node-reroll");
  ASSERT_TRUE(unprotected);
  unprotected->reroll_clients = false;
  RunSummary summary = run_scenario(*unprotected, {});
  EXPECT_FALSE(summary.ok());
  EXPECT_NE(join(summary.disappointments, "\n").find("Driver/library version mismatch"),
            std::string::npos);

  auto protected_after_all = read("stale-nvml");
  ASSERT_TRUE(protected_after_all);
  protected_after_all->reroll_clients = true;
  EXPECT_FALSE(run_scenario(*protected_after_all, {}).ok());

  auto healthy = read("image-pull-error");
  ASSERT_TRUE(healthy);
  healthy->machines.clear();
  EXPECT_FALSE(run_scenario(*healthy, {}).ok());

  auto wrong_count = read("failure-budget");
  ASSERT_TRUE(wrong_count);
  wrong_count->expect.failed = 3;
  EXPECT_EQ(run_scenario(*wrong_count, {}).disappointments,
            std::vector<std::string>{"failed: expected 3, saw 2"});
}

}  // namespace
}  // namespace lockstep::sim::scenario_test
