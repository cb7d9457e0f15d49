#include "sim/step_reader.h"

#include <gtest/gtest.h>

#include "data/yaml.h"

namespace lockstep::sim::step_reader_test {
namespace {

std::string complaint(const std::string& text) {
  auto json = parse_yaml(text);
  EXPECT_TRUE(json) << text;
  std::optional<Error> error;
  read_step(*json, "steps[2]", false, error);
  return error ? error->text() : "";
}

TEST(StepReader, MistakesAreToldWithTheirPlace) {
  struct {
    std::string text;
    std::string expected;
  } const cases[] = {
      {"{nodes: [], cordon: true}", "steps[2].nodes: names no node: say which, or all"},
      {"{nodes: [1], relabel: {a: 5}}",
       "steps[2].relabel.a: must be a text, in quotes, or null to take it away"},
      {"{cosmeticChange: {a: true}}",
       "steps[2].cosmeticChange.a: must be a text, in quotes, or null to take it away"},
      {"{nodes: [1], relabel: a}", "steps[2].relabel: must be a map"},
      {"{phase: Nonsense, restart: true}",
       "steps[2].phase: Nonsense is no phase of a rollout; there are Pending, Upgrading, Gating, "
       "Baking, AwaitingApproval, Promoting, Complete, Held, RollingBack, RolledBack"},
      {"{phase: Bakin, restart: true}",
       "steps[2].phase: Bakin is no phase of a rollout; did you mean Baking?"},
      {"{rollout: dance}",
       "steps[2].rollout: dance is no command to a rollout; there are abort, promote, promote "
       "--force, retry, "
       "rollback"},
      {"{setXidRates: {\"*\": -1}}", "steps[2].setXidRates.*: must be 0 or more"},
      {"{clockStep: 5}",
       "steps[2].clockStep: must be a length of time such as 90s, or -1h30m to set it back"},
      {"{outage: 5}", "steps[2].outage: must be a length of time such as 90s or 1h30m"},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(complaint(text), expected) << text;
  for (const char* right : {"{nodes: [1], relabel: {a: null, b: c}}", "{clockStep: -1h30m}",
                            "{rollout: promote}", "{phase: Held, restart: true}"}) {
    EXPECT_EQ(complaint(right), "") << right;
  }
}

TEST(StepReader, WhatIsAboutARolloutNeedsOne) {
  const std::string text =
      "name: s\nnodes: 3\nsteps: [{restart: true}, {rollout: retry}]\nexpect: {done: all}\n";
  auto without = read_scenario(text, "s.yaml");
  ASSERT_FALSE(without);
  EXPECT_EQ(without.error().text(), "s.yaml: steps[1]: needs a rollout: the scenario has none");
  auto with = read_scenario(
      "rollout: {driver: {kind: ClusterPolicy, name: cluster-policy}}\n" + text, "s.yaml");
  EXPECT_TRUE(with) << with.error().text();
}

}  // namespace
}  // namespace lockstep::sim::step_reader_test
