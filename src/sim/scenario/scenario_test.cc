#include "sim/scenario/scenario.h"

#include <gtest/gtest.h>

namespace lockstep::sim::scenario_test {
namespace {

std::string error_of(const std::string& text) {
  auto scenario = read_scenario(text, "s.yaml");
  return scenario ? "" : scenario.error().text();
}

// A whole scenario with one thing more in it.
std::string with(const std::string& more) { return "name: s\n" + more + "\nexpect: {done: all}\n"; }

TEST(Scenario, ReadsWhatItIsMadeOf) {
  auto read = read_scenario(R"(
name: example
about: shows everything
nodes: 6
minNodes: 2
seeds: 3
from: "580.105.08"
to: "580.126.20"
chart: ""
rerollClients: false
annotateDra: true
hook: true
controllers: 2
controllerFaults: 0.5
limit: 2h
policy: {autoUpgrade: true, maxParallelUpgrades: 3}
workloads: {deploymentReplicas: "50%", claimPods: 4, jobSeconds: 60, barePod: true}
latencies: {driverLoad: 60s-90s, podStop: 1s}
machines:
  - {nodes: [2, 3], imagePullFails: "580.126.20"}
  - {nodes: {every: 2}, slowness: 1.5}
steps:
  - {at: 5m, setVersion: "580.105.08"}
  - {after: 1m, state: validation-required, reached: "50%", nodes: {first: 2}, cordon: true}
  - {after: 0s, check: {unchanged: true, waitingFor: Paused}}
expect:
  done: rest
  failedNodes: [2]
  entered: [drain-required]
  makespanAtMost: 1.5
)",
                            "s.yaml");
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->name, "example");
  EXPECT_EQ(read->fleet.nodes, 6);
  EXPECT_EQ(read->min_nodes, 2);
  EXPECT_EQ(read->seeds, 3);
  EXPECT_EQ(read->to_version, "580.126.20");
  EXPECT_EQ(read->to_chart, "");
  EXPECT_FALSE(read->reroll_clients);
  EXPECT_TRUE(read->gpu_operator.annotate_dra);
  EXPECT_TRUE(read->gpu_operator.restart_dra_after_upgrade);
  EXPECT_EQ(read->controllers, 2);
  EXPECT_EQ(read->controller_faults, 0.5);
  EXPECT_EQ(read->limit, hours(2));
  EXPECT_EQ(as_integer(find(read->fleet.upgrade_policy, "maxParallelUpgrades")), 3);
  EXPECT_EQ(read->latencies.driver_load.most, seconds(90));
  EXPECT_EQ(read->latencies.pod_stop.least, seconds(1));
  ASSERT_EQ(read->machines.size(), 2);
  EXPECT_EQ(read->machines[0].second.image_pull_fails, "580.126.20");
  EXPECT_EQ(read->machines[1].second.slowness, 1.5);
  ASSERT_EQ(read->steps.size(), 3);
  EXPECT_EQ(read->steps[0].action, "setVersion");
  EXPECT_EQ(read->steps[0].at, minutes(5));
  EXPECT_EQ(read->steps[1].after, minutes(1));
  EXPECT_EQ(read->steps[1].state, fleet::State::validation);
  EXPECT_EQ(read->steps[1].reached, IntOrPercent::percentage(50));
  EXPECT_EQ(read->steps[1].nodes.first, 2);
  EXPECT_EQ(read->steps[2].check.waiting_for, fleet::Reason::paused);
  EXPECT_EQ(read->expect.done, "rest");
  EXPECT_EQ(read->expect.makespan_at_most, 1.5);
  EXPECT_EQ(read->expect.entered, std::vector{fleet::State::drain});
}

TEST(Scenario, MistakesAreToldWithTheirPlace) {
  struct {
    std::string text;
    std::string expected;
  } const cases[] = {
      {"name: s", "s.yaml:1:1: expect: is missing; say what must hold at the end"},
      {"expect: {done: all}", "s.yaml:1:1: name: is missing; name the scenario as its file"},
      {"- a", "s.yaml:1:1: must be a map, not a list"},
      {with("node: 4"), "s.yaml:2:1: node: unknown field; did you mean \"nodes\"?"},
      {with("nodes: many"),
       "s.yaml:2:1: nodes: must be a whole number from 1 to 200000, not \"many\""},
      {with("nodes: 1000000000"), "s.yaml:2:1: nodes: must be a whole number from 1 to 200000"},
      {with("controllers: 1000"), "s.yaml:2:1: controllers: must be a whole number from 1 to 16"},
      {with("nodes: 0"), "s.yaml:2:1: nodes: must be a whole number from 1 to 200000"},
      {with("to: 580"), "s.yaml:2:1: to: must be a string, not a number; put it in quotes"},
      {with("limit: 5"), "s.yaml:2:1: limit: must be a duration such as 90s or 1h30m, not 5"},
      {with("policy: true"), "s.yaml:2:1: policy: must be a map, not a boolean"},
      {with("policy: {maxParalelUpgrades: 2}"),
       "s.yaml:2:1: policy: upgradePolicy.maxParalelUpgrades: unknown field; did you mean "
       "\"maxParallelUpgrades\"?"},
      {with("policy: {maxParallelUpgrades: two}"),
       "s.yaml:2:1: policy: upgradePolicy.maxParallelUpgrades: must be a whole number, 0 or more"},
      {with("workloads: {claimPod: 1}"),
       "s.yaml:2:13: workloads.claimPod: unknown field; did you mean \"claimPods\"?"},
      {with("latencies: {driverLoad: 90}"),
       "s.yaml:2:13: latencies.driverLoad: must be a duration or a range such as 60s-120s, not 90"},
      {with("machines: {nodes: [1]}"), "s.yaml:2:1: machines: must be a list, not a map"},
      {with("machines: [{driverCrashes: x}]"), "s.yaml:2:12: machines[0].nodes: is missing"},
      {with("machines: [{nodes: [0]}]"),
       "s.yaml:2:21: machines[0].nodes[0]: must be a whole number from 1 to 1000000, not 0"},
      {with("machines: [{nodes: [1], hangz: true}]"),
       "s.yaml:2:25: machines[0].hangz: unknown field"},
      {with("steps: {at: 5m}"), "s.yaml:2:1: steps: must be a list"},
      {with("steps: [{at: 5m}]"), "s.yaml:2:9: steps[0]: says nothing to do"},
      {with("steps: [{setVersoin: x}]"),
       "s.yaml:2:10: steps[0].setVersoin: unknown field; did you mean \"setVersion\"?"},
      {with("steps: [{setVersion: 5}]"),
       "s.yaml:2:10: steps[0].setVersion: must be a string, not a number; put it in quotes"},
      {with("steps: [{restart: false}]"), "s.yaml:2:10: steps[0].restart: must be true, not false"},
      {with("steps: [{cordon: true}]"), "s.yaml:2:10: steps[0].cordon: needs nodes: which ones"},
      {with("steps: [{restart: true, nodes: all}]"),
       "s.yaml:2:25: steps[0].nodes: means nothing to restart; remove it"},
      {with("steps: [{restart: true, calm: true}]"),
       "s.yaml:2:9: steps[0]: does two things, restart and calm"},
      {with("steps: [{after: 5m, restart: true}]"),
       "s.yaml:2:10: steps[0].after: needs a step before it"},
      {with("steps: [{state: validation, restart: true}]"),
       "s.yaml:2:10: steps[0].state: unknown value \"validation\""},
      {with("steps: [{setPolicy: {autoUpgrad: true}}]"),
       "s.yaml:2:10: steps[0].setPolicy: upgradePolicy.autoUpgrad: unknown field; did you mean "
       "\"autoUpgrade\"?"},
      {with("steps: [{check: {dome: all}}]"),
       "s.yaml:2:18: steps[0].check.dome: unknown field; did you mean \"done\"?"},
      {with("controllerFaults: 7"),
       "s.yaml:2:1: controllerFaults: must be a number from 0 to 1, not 7"},
      {with("fleetFaults: -1"), "s.yaml:2:1: fleetFaults: must be a number from 0 to 1, not -1"},
      {with("xidRates: {\"*\": -1}"),
       "s.yaml:2:12: xidRates.*: must be a number, 0 or more, not -1"},
      {with("machines: [{nodes: [], driverLoad: 1h}]"),
       "s.yaml:2:13: machines[0].nodes: names no node; write which, or all"},
      {with("machines: [{nodes: [1], slowness: -1}]"),
       "s.yaml:2:25: machines[0].slowness: must be a number, 0 or more, not -1"},
      {with("labels: [{nodes: [1], set: {rack: 7}}]"),
       "s.yaml:2:29: labels[0].set.rack: must be a string, not a number; put it in quotes"},
      {with("labels: [{nodes: [1]}]"), "s.yaml:2:10: labels[0].set: is missing"},
      {with("workloads:"), "s.yaml:2:1: workloads: must be a map, not null"},
      {with("dra:"), "s.yaml:2:1: dra: must be true or false, not null"},
      {with("minNodes: 9"), "s.yaml: s needs at least 9 nodes"},
  };
  for (const auto& [text, expected] : cases) {
    std::string error = error_of(text);
    EXPECT_TRUE(error.starts_with(expected)) << text << "\n  said " << error;
  }
}

TEST(Scenario, APolicyMayBecomeInvalidLater) {
  EXPECT_EQ(error_of(with("steps: [{setPolicy: {maxUnavailable: a quarter}}]")), "");
}

TEST(Scenario, RefusesFewerNodesThanItsStoryNeeds) {
  auto scenario = read_scenario(with("nodes: 6\nminNodes: 3"), "s.yaml");
  ASSERT_TRUE(scenario);
  EXPECT_TRUE(check_nodes(*scenario, 0));
  EXPECT_TRUE(check_nodes(*scenario, 3));
  auto refused = check_nodes(*scenario, 2);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "s needs at least 3 nodes to show what it is about, not 2");
}

TEST(Scenario, NeedsTheNodesThatItNames) {
  auto scenario = read_scenario(with("nodes: 6\nmachines: [{nodes: [4], driverLoad: 1h}]"), "s");
  ASSERT_TRUE(scenario);
  EXPECT_FALSE(check_nodes(*scenario, 3));
  EXPECT_TRUE(check_nodes(*scenario, 4));
  EXPECT_EQ(error_of(with("nodes: 2\nsteps: [{restart: true}, {nodes: [3], cordon: true}]")),
            "s.yaml: steps[1].nodes: names node 3, and there are 2 nodes");
  EXPECT_EQ(error_of(with("nodes: 2\nlabels: [{nodes: [3], set: {a: b}}]")),
            "s.yaml: labels[0].nodes: names node 3, and there are 2 nodes");
}

TEST(Scenario, WorkGrowsWithTheFleet) {
  auto scenario = read_scenario(
      with("nodes: 6\nworkloads: {claimPods: \"150%\", jobPods: 2, minAvailable: \"50%\"}"), "s");
  ASSERT_TRUE(scenario);
  WorkloadOptions small = workloads_of(*scenario, 3);
  EXPECT_EQ(small.claim_pods, 5);
  EXPECT_EQ(small.job_pods, 2);
  EXPECT_EQ(small.min_available, 2);
  EXPECT_EQ(workloads_of(*scenario, 100).claim_pods, 150);
}

TEST(NodeChoice, NamesTheNodes) {
  NodeChoice choice;
  EXPECT_TRUE(choice.names(5).empty());
  choice.numbers = {5, 2};
  EXPECT_EQ(choice.names(4), std::vector<std::string>{"gpu-2"});
  EXPECT_EQ(choice.highest(), 5);
  choice.first = 1;
  choice.every = 3;
  EXPECT_EQ(choice.names(6),
            (std::vector<std::string>{"gpu-1", "gpu-2", "gpu-3", "gpu-5", "gpu-6"}));
}

}  // namespace
}  // namespace lockstep::sim::scenario_test
