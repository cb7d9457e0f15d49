#include "sim/scenario/scenario_run.h"

#include <set>

#include <gtest/gtest.h>

#include "base/strings.h"
#include "sim/actors/writer.h"
#include "sim/oracle/witness.h"
#include "sim/scenario/observed_api.h"

namespace lockstep::sim::scenario_run_test {
namespace {

Scenario scenario(const std::string& text) {
  auto read = read_scenario(text, "test.yaml");
  EXPECT_TRUE(read) << (read ? "" : read.error().text());
  return read ? *read : Scenario();
}

Scenario small_upgrade() {
  return scenario(R"(
name: small
nodes: 3
to: "580.126.20"
policy: {autoUpgrade: true, maxParallelUpgrades: 2, maxUnavailable: "100%"}
workloads: {claimPods: "100%"}
expect: {done: all, cordoned: [], version: "580.126.20", claimsHealthy: true}
)");
}

TEST(ScenarioRun, SumsUpWhatHappened) {
  RunSummary summary = run_scenario(small_upgrade(), {});
  EXPECT_TRUE(summary.ok()) << join(summary.violations, "; ")
                            << join(summary.disappointments, "; ");
  EXPECT_EQ(summary.scenario, "small");
  EXPECT_EQ(summary.seed, 1);
  EXPECT_EQ(summary.nodes, 3);
  EXPECT_EQ(summary.done, 3);
  EXPECT_EQ(summary.failed, 0);
  EXPECT_GT(summary.ideal_seconds, 60);
  EXPECT_GE(summary.virtual_seconds, 0.9 * summary.ideal_seconds);
  EXPECT_EQ(summary.states.at("upgrade-done"), 3);
  EXPECT_GE(summary.evictions, 3);
  EXPECT_GE(summary.node_writes, 3 * 7);
  EXPECT_GE(summary.api_calls.at("patch"), 3 * 7);
  EXPECT_TRUE(summary.reasons.empty());
}

TEST(ScenarioRun, TheSameSeedGivesTheSameRun) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    RunSummary first = run_scenario(small_upgrade(), {seed, 0});
    RunSummary second = run_scenario(small_upgrade(), {seed, 0});
    EXPECT_EQ(first.digest, second.digest);
    EXPECT_EQ(first.virtual_seconds, second.virtual_seconds);
    EXPECT_EQ(first.api_calls, second.api_calls);
  }
}

TEST(ScenarioRun, WhoeverWrapsTheApiSeesTheControllersCallsAndChangesNothing) {
  uint64_t patches = 0;
  RunOptions options;
  options.wrap = [&](kube::Api& inner) {
    return std::make_unique<ObservedApi>(inner, [&](const kube::Request& request) {
      patches += request.verb == kube::Verb::patch && request.type == resource::nodes ? 1 : 0;
    });
  };
  RunSummary summary = run_scenario(small_upgrade(), options);
  EXPECT_GE(patches, 3 * 7);
  EXPECT_EQ(summary.digest, run_scenario(small_upgrade(), {}).digest);
}

// Where nothing takes time, the next second never comes.
TEST(ScenarioRun, ACommotionWithoutEndEndsTheRun) {
  RunOptions options;
  std::function<void()> go_on;
  bool begun = false;
  options.wrap = [&](kube::Api& inner) {
    go_on = [&inner, &go_on, to = false]() mutable {
      to = !to;
      Json labels = JsonObject{
          {fleet::Keys().state, to_string(to ? fleet::State::required : fleet::State::uncordon)}};
      inner.call(merge_patch(resource::nodes, {"", "gpu-1"},
                             JsonObject{{"metadata", JsonObject{{"labels", std::move(labels)}}}}),
                 [&](const kube::Reply&) { go_on(); });
    };
    return std::make_unique<ObservedApi>(inner, [&](const kube::Request& request) {
      if (request.verb != kube::Verb::patch || request.type != resource::nodes) return;
      if (!std::exchange(begun, true)) go_on();
    });
  };
  RunSummary summary = run_scenario(small_upgrade(), options);
  EXPECT_EQ(summary.violations.size(), Witness::most_violations);
  EXPECT_FALSE(summary.ok());
}

TEST(ScenarioRun, OtherSeedsGiveOtherRuns) {
  std::set<std::string> digests;
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    digests.insert(run_scenario(small_upgrade(), {seed, 0}).digest);
  }
  EXPECT_EQ(digests.size(), 10);
}

TEST(ScenarioRun, FaultsAreTheSeedsToo) {
  Scenario bad_day = small_upgrade();
  bad_day.controller_faults = 0.5;
  bad_day.fleet_faults = 0.2;
  bad_day.controllers = 2;
  RunSummary first = run_scenario(bad_day, {3, 0});
  EXPECT_EQ(first.digest, run_scenario(bad_day, {3, 0}).digest);
  EXPECT_TRUE(first.violations.empty());
  EXPECT_EQ(first.done, 3);
}

TEST(ScenarioRun, RunsWithAsManyNodesAsAsked) {
  RunSummary summary = run_scenario(small_upgrade(), {1, 7});
  EXPECT_TRUE(summary.ok());
  EXPECT_EQ(summary.done, 7);
}

TEST(ScenarioRun, RefusesTooFewNodes) {
  Scenario needs_three = small_upgrade();
  needs_three.min_nodes = 3;
  RunSummary summary = run_scenario(needs_three, {1, 2});
  EXPECT_FALSE(summary.ok());
  EXPECT_EQ(summary.done, 0);
  EXPECT_EQ(join(summary.disappointments, "; "),
            "small needs at least 3 nodes to show what it is about, not 2");
}

TEST(ScenarioRun, StepsAreTakenInTheirTime) {
  // The check comes ten minutes after the cordon, and before the upgrade of an hour later.
  RunSummary summary = run_scenario(scenario(R"(
name: test
nodes: 2
policy: {autoUpgrade: true, maxUnavailable: 2}
steps:
  - {at: 1m, nodes: [2], cordon: true}
  - {after: 10m, check: {cordoned: [2], unchanged: true, version: "580.105.08"}}
  - {after: 1h, setVersion: "580.126.20"}
expect: {done: all, cordoned: [2], version: "580.126.20"}
)"),
                                    {});
  EXPECT_TRUE(summary.ok()) << join(summary.disappointments, "; ");
  EXPECT_GT(summary.virtual_seconds, 71 * 60);
}

TEST(ScenarioRun, ACheckInBetweenCanFail) {
  RunSummary summary = run_scenario(scenario(R"(
name: test
nodes: 2
steps:
  - {check: {cordoned: [1]}}
expect: {done: all}
)"),
                                    {});
  EXPECT_EQ(summary.disappointments,
            std::vector<std::string>{"steps[0]: cordoned nodes: expected gpu-1, saw none"});
}

TEST(ScenarioRun, AStepWhoseTimeNeverComesIsADisappointment) {
  RunSummary summary = run_scenario(scenario(R"(
name: test
nodes: 1
limit: 30m
steps:
  - {state: upgrade-failed, restart: true}
expect: {done: all}
)"),
                                    {});
  EXPECT_EQ(summary.disappointments, std::vector<std::string>{"steps[0]: its time never came"});
}

TEST(ScenarioRun, EveryRunMustComeToRestAtItsGoalWhateverItExpects) {
  RunSummary summary = run_scenario(scenario(R"(
name: short
nodes: 3
to: "580.126.20"
policy: {autoUpgrade: true, maxParallelUpgrades: 1}
limit: 3m
aftermath: 1s
expect: {failed: 0}
)"),
                                    {});
  EXPECT_FALSE(summary.ok());
  const std::string missed = join(summary.disappointments, "; ");
  EXPECT_NE(missed.find("it did not come to rest within 3m"), std::string::npos) << missed;
  EXPECT_NE(missed.find(", and no controller works on it"), std::string::npos) << missed;
}

TEST(ScenarioRun, WhoHasComeToRestIsSilent) {
  // Long after the node failed its driver loads after all, and the controller goes on with it.
  RunSummary summary = run_scenario(scenario(R"(
name: late
nodes: 1
to: "580.126.20"
policy: {autoUpgrade: true, maxUnavailable: 1, maxFailures: 2, deadlines: {containerRestarts: 5}}
machines: [{nodes: [1], driverCrashes: "580.126.20", driverCrashCount: 8}]
aftermath: 30m
expect: {done: all}
)"),
                                    {});
  ASSERT_EQ(summary.disappointments.size(), 1U) << join(summary.disappointments, "; ");
  EXPECT_NE(summary.disappointments[0].find("writes after it had come to rest"), std::string::npos)
      << summary.disappointments[0];
}

TEST(ScenarioRun, NobodyUpgradesWhileTheControllerIsAway) {
  RunSummary summary = run_scenario(scenario(R"(
name: test
nodes: 2
steps:
  - {stop: true}
  - {after: 1s, setVersion: "580.126.20"}
  - {after: 1h, check: {unchanged: true, version: "580.105.08", done: all}}
  - {after: 0s, start: true}
expect: {done: all, version: "580.126.20"}
)"),
                                    {});
  EXPECT_TRUE(summary.ok()) << join(summary.disappointments, "; ");
}

}  // namespace
}  // namespace lockstep::sim::scenario_run_test
