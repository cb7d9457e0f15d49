#include "sim/scenario/step_reader.h"

#include <gtest/gtest.h>

#include "data/yaml.h"

namespace lockstep::sim::step_reader_test {
namespace {

std::string complaint(const std::string& text) {
  auto json = parse_yaml(text);
  EXPECT_TRUE(json) << text;
  Reading reading("steps[2]", {.refuse_null = true});
  reading.any(*json, [](StrictReader& step) { (void)read_step(step, false); });
  return reading.mistakes().empty() ? "" : reading.texts().front();
}

TEST(StepReader, MistakesAreToldWithTheirPlace) {
  struct {
    std::string text;
    std::string expected;
  } const cases[] = {
      {"{nodes: [], cordon: true}", "steps[2].nodes: names no node; write which, or all"},
      {"{nodes: [1], relabel: {a: 5}}",
       "steps[2].relabel.a: must be a string, not a number; put it in quotes"},
      {"{cosmeticChange: {a: true}}",
       "steps[2].cosmeticChange.a: must be a string, not a boolean; put it in quotes"},
      {"{nodes: [1], relabel: a}", "steps[2].relabel: must be a map, not a string"},
      {"{phase: Nonsense, restart: true}",
       "steps[2].phase: unknown value \"Nonsense\"; expected one of: Pending, Upgrading, Gating, "
       "Baking, AwaitingApproval, Promoting, Complete, Held, RollingBack, RolledBack"},
      {"{phase: Bakin, restart: true}",
       "steps[2].phase: unknown value \"Bakin\"; did you mean \"Baking\"?"},
      {"{rollout: dance}",
       "steps[2].rollout: unknown value \"dance\"; expected one of: abort, promote, promote "
       "--force, retry, "
       "rollback"},
      {"{setXidRates: {\"*\": -1}}", "steps[2].setXidRates.*: must be a number, 0 or more, not -1"},
      {"{clockStep: 5}",
       "steps[2].clockStep: must be a duration such as 90s, or -1h30m to set the clock back, not "
       "5"},
      {"{outage: 5}", "steps[2].outage: must be a duration such as 90s or 1h30m, not 5"},
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
  EXPECT_EQ(without.error().text(),
            "s.yaml:3:26: steps[1]: needs a rollout: the scenario has none");
  auto with = read_scenario(
      "rollout: {driver: {kind: ClusterPolicy, name: cluster-policy}}\n" + text, "s.yaml");
  EXPECT_TRUE(with) << with.error().text();
}

}  // namespace
}  // namespace lockstep::sim::step_reader_test
