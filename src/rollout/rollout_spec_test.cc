#include "rollout/rollout_spec.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/gate_checks.h"
#include "data/yaml.h"

namespace lockstep::rollout::rollout_spec_test {
namespace {

RolloutSpec read(const std::string& yaml) {
  auto json = parse_yaml("spec:\n" + yaml, "test");
  EXPECT_TRUE(json) << (json ? "" : json.error().text());
  return read_rollout_spec(*json);
}

constexpr const char* driver = "  driver: {kind: ClusterPolicy, name: cluster-policy}\n";

TEST(BuiltInGates, AreTheChecksOfTheGate) {
  for (const GateCheck& check : gate_checks) {
    Json object = *parse_json(fmt::format(
        R"({{"spec":{{"driver":{{"kind":"ClusterPolicy","name":"p"}},"waves":[
            {{"name":"a","nodes":{{"rest":true}},"gates":["{}"]}}]}}}})",
        check.name));
    EXPECT_EQ(read_rollout_spec(object).problems, std::vector<std::string>{}) << check.name;
  }
}

TEST(RolloutSpec, ApproversMakeAnApprovalRequired) {
  RolloutSpec spec = read(std::string(driver) +
                          "  waves: [{name: a, nodes: {count: 1}, approvers: {groups: [sre], "
                          "notAuthor: true}}]\n");
  EXPECT_TRUE(spec.problems.empty()) << spec.problems.front();
  EXPECT_TRUE(spec.waves[0].needs_approval);
  EXPECT_EQ(spec.waves[0].approvers, (Approvers{{"sre"}, true}));
  EXPECT_EQ(spec.author, "");
  EXPECT_EQ(read_rollout_spec(
                *parse_json(R"({"metadata":{"annotations":{"lockstep.dev/spec-by":"ann"}}})"))
                .author,
            "ann");
}

TEST(RolloutSpec, ReadsTheExampleOfTheContract) {
  RolloutSpec spec = read(std::string(driver) + R"(
  matrix: {repo: "https://git.example/m", branch: main, path: gpu-version-matrix.yaml}
  policy: {maxUnavailable: 2}
  waves:
    - name: canary
      nodes: {matchLabels: {gpu-canary: "true"}}
      stratify: [nvidia.com/gpu.product]
      maxParallelUpgrades: 1
      gates:
        - driver
        - training
        - {name: my-job, dryRun: true, job: {template: {spec: {containers: [{name: c, image: i}]}}}}
      bake: {duration: 48h, minGpuHours: 300, maxDuration: 96h}
      approval: required
    - {name: tenth, nodes: {percent: 10}, spreadBy: topology.kubernetes.io/zone}
    - {name: rest, nodes: {rest: true}}
  groups: {by: nvidia.com/gpu.clique}
  windows: [{days: [Sat, Sun], from: "22:00", to: "06:00", timeZone: Europe/Berlin}]
  onFailure: Hold
  paused: true
)");
  EXPECT_TRUE(spec.problems.empty()) << spec.problems.front();
  ASSERT_EQ(spec.waves.size(), 3U);
  EXPECT_EQ(spec.waves[0].nodes.text(), "gpu-canary=true");
  EXPECT_EQ(spec.waves[0].max_parallel, 1);
  EXPECT_TRUE(spec.waves[0].needs_approval);
  ASSERT_EQ(spec.waves[0].gates.size(), 3U);
  EXPECT_EQ(spec.waves[0].gates[2].kind, GateKind::job);
  EXPECT_TRUE(spec.waves[0].gates[2].dry_run);
  EXPECT_EQ(spec.waves[0].bake->max_duration, hours(96));
  EXPECT_EQ(spec.waves[1].nodes.text(), "10% of all");
  EXPECT_EQ(spec.waves[1].spread_by, "topology.kubernetes.io/zone");
  EXPECT_EQ(spec.group_by, "nvidia.com/gpu.clique");
  EXPECT_EQ(spec.on_failure, OnFailure::hold);
  EXPECT_TRUE(spec.paused);
  ASSERT_TRUE(spec.matrix);
  EXPECT_EQ(spec.matrix->branch, "main");
  EXPECT_EQ(spec.matrix->path, "gpu-version-matrix.yaml");
}

TEST(RolloutSpec, WithoutWavesTheyAreSafe) {
  RolloutSpec spec = read(driver);
  EXPECT_TRUE(spec.problems.empty());
  ASSERT_EQ(spec.waves.size(), 3U);
  EXPECT_EQ(spec.waves[0].stratify, std::vector<std::string>{"nvidia.com/gpu.product"});
  EXPECT_EQ(spec.waves[0].nodes.number, 1);
  EXPECT_EQ(spec.waves[1].nodes.text(), "10% of all");
  EXPECT_EQ(spec.waves[2].nodes.text(), "the rest");
  EXPECT_EQ(spec.on_failure, OnFailure::roll_back);
}

TEST(RolloutSpec, WhoeverIsLeftGetsAWave) {
  RolloutSpec spec = read(std::string(driver) + "  waves: [{name: one, nodes: {count: 1}}]\n");
  ASSERT_EQ(spec.waves.size(), 2U);
  EXPECT_EQ(spec.waves[1].name, "rest");
  EXPECT_EQ(spec.waves[1].nodes.kind, NodeSelection::Kind::rest);
}

TEST(RolloutSpec, WhatIsWrongIsNamedByItsPath) {
  struct Case {
    std::string yaml;
    const char* problem;
  };
  std::string d = driver;
  for (const Case& each : {
           Case{"  paused: false\n", "spec.driver: is missing"},
           Case{"  driver: {kind: Pod, name: x}\n",
                "spec.driver.kind: unknown value \"Pod\"; expected one of: ClusterPolicy"},
           Case{"  driver: {kind: ClusterPolicy}\n", "spec.driver.name: is missing"},
           Case{d + "  onfailure: Hold\n",
                "spec.onfailure: unknown field; did you mean \"onFailure\"?"},
           Case{d + "  onFailure: Panic\n",
                "spec.onFailure: unknown value \"Panic\"; expected one of: RollBack, Hold"},
           Case{d + "  outsideWave: ignore\n",
                "spec.outsideWave: unknown value \"ignore\"; expected one of: contain, accept"},
           Case{d + "  waves: [{name: a, nodes: {percent: 0}}]\n",
                "spec.waves[0].nodes.percent: must be a whole number from 1 to 100, not 0"},
           Case{d + "  waves: [{name: a, nodes: {percent: 5, rest: true}}]\n",
                "spec.waves[0].nodes: must have one of"},
           Case{d + "  waves: [{name: a, nodes: {rest: true}}, {name: b, nodes: {count: 1}}]\n",
                "spec.waves[0]: takes the rest"},
           Case{d + "  waves: [{name: a, nodes: {count: 1}}, {name: a, nodes: {rest: true}}]\n",
                "spec.waves[1].name: \"a\" is already the name of another wave"},
           Case{d + "  waves: [{name: a, nodes: {count: 1}, gates: [trianing]}]\n",
                "spec.waves[0].gates[0]: unknown gate \"trianing\"; did you mean \"training\"?"},
           Case{d + "  waves: [{name: a, nodes: {count: 1}, approval: maybe}]\n",
                "spec.waves[0].approval: unknown value \"maybe\""},
           Case{d + "  waves: [{name: a, nodes: {count: 1}, bake: {duration: 2h, maxDuration: "
                    "1h}}]\n",
                "spec.waves[0].bake.maxDuration: must not be shorter"},
           Case{d + "  windows: [{days: [Someday]}]\n",
                "spec.windows[0].days[0]: unknown value \"Someday\""},
           Case{d + "  waves: [{name: a, nodes: {count: 1}, approvers: {}}]\n",
                "spec.waves[0].approvers: must have groups or notAuthor: true"},
           Case{d + "  waves: [{name: a, nodes: {count: 1}, approvers: {groups: [7]}}]\n",
                "spec.waves[0].approvers.groups[0]: must be a string, not a number"},
           Case{d + "  waves: [{name: a, nodes: {count: 1}, approvers: {group: [sre]}}]\n",
                "spec.waves[0].approvers.group: unknown field; did you mean \"groups\"?"},
           Case{d + "  waves: [{name: a, nodes: {matchLabels: {'a b': c}}}]\n",
                "spec.waves[0].nodes.matchLabels: Invalid value"},
           Case{d + "  waves: [{name: a, nodes: {count: 1}, gates: [{name: mine, job: 5}]}]\n",
                "spec.waves[0].gates[0].job: must be a map, not a number"},
           Case{d + "  waves: [5]\n", "spec.waves[0]: must be a map, not a number"},
       }) {
    RolloutSpec spec = read(each.yaml);
    ASSERT_FALSE(spec.problems.empty()) << each.yaml;
    bool found = false;
    for (const auto& problem : spec.problems) found |= problem.find(each.problem) == 0;
    EXPECT_TRUE(found) << each.yaml << spec.problems.front();
  }
}

}  // namespace
}  // namespace lockstep::rollout::rollout_spec_test
