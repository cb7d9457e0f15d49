#include "sim/scenario/scenario_text.h"

#include <gtest/gtest.h>

#include "sim/explore/random_run.h"

namespace lockstep::sim::scenario_text_test {
namespace {

TEST(ScenarioText, WhatIsPrintedIsReadAgain) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    for (RandomKind kind : {RandomKind::upgrade, RandomKind::rollout}) {
      Scenario drawn = random_scenario(seed, kind);
      std::string text = print_scenario(drawn);
      auto read = read_scenario(text, "random.yaml");
      ASSERT_TRUE(read) << read.error().text() << "\n" << text;
      EXPECT_EQ(print_scenario(*read), text);
    }
  }
}

TEST(ScenarioText, IsTheSameRun) {
  for (uint64_t seed : {2, 5}) {
    Scenario drawn = random_scenario(seed);
    auto read = read_scenario(print_scenario(drawn), "random.yaml");
    ASSERT_TRUE(read);
    EXPECT_EQ(run_scenario(*read, {seed, 0, {}}).digest, run_scenario(drawn, {seed, 0, {}}).digest);
  }
}

}  // namespace
}  // namespace lockstep::sim::scenario_text_test
