#include "sim/explore/calm_twin.h"

#include <gtest/gtest.h>

#include "base/strings.h"

namespace lockstep::sim::calm_twin_test {
namespace {

Scenario read(const std::string& text) {
  auto scenario = read_scenario("name: s\n" + text, "s");
  EXPECT_TRUE(scenario) << (scenario ? "" : scenario.error().text());
  return scenario ? *scenario : Scenario();
}

// A run that ended well, with these facts.
RunSummary ended(std::map<std::string, std::map<std::string, std::string>> things) {
  RunSummary summary;
  summary.rested = true;
  summary.end.things = std::move(things);
  return summary;
}

TEST(CalmTwin, HasNoFaultBetweenTheControllerAndItsApi) {
  Scenario twin = calm_twin(read(R"(
nodes: 3
controllers: 2
controllerFaults: 0.5
fleetFaults: 0.5
faults: {replyLost: 0.1, fleet: {replyLost: 0.1}}
machines: [{nodes: [1], slowness: 2}]
steps:
  - {at: 1m, outage: 1m}
  - {at: 1m, partition: 1m}
  - {at: 1m, silenceWatches: true}
  - {at: 1m, dropWatches: true}
  - {at: 1m, olderReplica: {age: 1m}}
  - {at: 1m, clockStep: 1h}
  - {at: 1m, crash: {afterWrite: 3}}
  - {at: 1m, restart: true}
  - {at: 2m, nodes: [2], deleteNodes: true}
  - {at: 2m, nodes: [1], crashDriver: true}
  - {at: 2m, setVersion: "580.105.08"}
expect: {done: all}
)"));
  EXPECT_EQ(twin.controllers, 1);
  EXPECT_EQ(twin.controller_faults, 0);
  EXPECT_EQ(twin.fleet_faults, 0);
  EXPECT_FALSE(twin.controller_weights);
  EXPECT_FALSE(twin.fleet_weights);
  EXPECT_EQ(twin.machines.size(), 1u);
  std::vector<std::string> left;
  for (const auto& step : twin.steps) left.push_back(step.action);
  EXPECT_EQ(left, (std::vector<std::string>{"deleteNodes", "crashDriver", "setVersion"}));
}

TEST(CalmTwin, ADisturbedRunEndsAsItsTwin) {
  Scenario disturbed = read(R"(
nodes: 4
to: "580.126.20"
controllerFaults: 0.5
policy: {autoUpgrade: true, maxParallelUpgrades: 2, maxUnavailable: 2}
workloads: {deploymentReplicas: 4, claimPods: 3}
steps:
  - {at: 2m, crash: {afterWrite: 2, away: 3m}}
  - {at: 1h, calm: true}
expect: {done: all}
)");
  RunSummary run = run_scenario(disturbed, {});
  RunSummary twin = run_scenario(calm_twin(disturbed), {});
  EXPECT_EQ(run.faults.at("crash"), 1u);
  EXPECT_NE(run.digest, twin.digest);
  EXPECT_EQ(compare_with_twin(disturbed, run, twin), std::vector<std::string>{});
}

TEST(CalmTwin, AnyOtherEndIsAFinding) {
  Scenario scenario = read("nodes: 1\nexpect: {done: all}\n");
  RunSummary twin = ended({{"node gpu-1", {{"state", "upgrade-done"}, {"driver", "2"}}},
                           {"ReplicaSet a/b", {{"pods that run or find no room", "2"}}}});
  RunSummary run = twin;
  EXPECT_TRUE(compare_with_twin(scenario, run, twin).empty());
  run.end.things["node gpu-1"]["driver"] = "1";
  run.end.things["ReplicaSet a/b"]["pods that run or find no room"] = "1";
  EXPECT_EQ(compare_with_twin(scenario, run, twin),
            (std::vector<std::string>{
                "ReplicaSet a/b: pods that run or find no room is 1, and was 2 in the other run",
                "node gpu-1: driver is 1, and was 2 in the other run"}));
}

TEST(CalmTwin, WhatIsWrongInTheTwinIsAFindingToo) {
  Scenario scenario = read("nodes: 1\nexpect: {done: all}\n");
  RunSummary good = ended({});
  RunSummary bad = good;
  bad.violations = {"a rule was broken"};
  EXPECT_EQ(compare_with_twin(scenario, good, bad),
            std::vector<std::string>{"in the run without faults: a rule was broken"});
  EXPECT_EQ(compare_with_twin(scenario, bad, good), std::vector<std::string>{"a rule was broken"});
}

TEST(CalmTwin, PodsThatNobodyMakesAnewMayHaveGoneOrNot) {
  Scenario scenario = read("nodes: 1\nexpect: {done: all}\n");
  EXPECT_TRUE(compare_with_twin(scenario,
                                ended({{"pod notebook", {{"pods that run or find no room", "1"}}}}),
                                ended({}))
                  .empty());
}

TEST(CalmTwin, PodsThatHaveEndedAreOfNoInterest) {
  Scenario scenario = read("nodes: 1\nexpect: {done: all}\n");
  RunSummary none = ended({{"ReplicaSet a/b", {{"pods that run or find no room", "0"}}}});
  EXPECT_TRUE(compare_with_twin(scenario, none, ended({})).empty());
  RunSummary one = ended({{"ReplicaSet a/b", {{"pods that run or find no room", "1"}}}});
  EXPECT_EQ(compare_with_twin(scenario, none, one).size(), 1u);
}

TEST(CalmTwin, WhenAJobIsOverIsAQuestionOfTime) {
  Scenario scenario = read("nodes: 1\nexpect: {done: all}\n");
  RunSummary runs = ended({{"Job a/b", {{"pods that run or find no room", "1"}}}});
  EXPECT_TRUE(compare_with_twin(scenario, runs, ended({})).empty());
}

TEST(CalmTwin, WhoFailsBehindALastingObstacleIsAQuestionOfTime) {
  RunSummary run = ended({{"node gpu-1", {{"state", "upgrade-failed"}}},
                          {"node gpu-2", {{"state", "upgrade-done"}, {"cordoned", "yes"}}}});
  RunSummary twin = ended({{"node gpu-1", {{"state", "upgrade-done"}}},
                           {"node gpu-2", {{"state", "upgrade-done"}, {"cordoned", "no"}}}});
  std::string difference = "node gpu-2: cordoned is yes, and was no in the other run";
  EXPECT_EQ(compare_with_twin(read("nodes: 2\nexpect: {}\n"), run, twin),
            std::vector<std::string>{difference});
  EXPECT_EQ(compare_with_twin(read("nodes: 2\nexpect: {done: all}\n"), run, twin).size(), 2u)
      << "where all are to be done, it is not";
}

}  // namespace
}  // namespace lockstep::sim::calm_twin_test
