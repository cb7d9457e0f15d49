#include "sim/explore/random_run.h"

#include <set>

#include <gtest/gtest.h>

#include "base/strings.h"

namespace lockstep::sim::random_run_test {
namespace {

TEST(RandomRun, ASeedGivesOneScenarioAndOneRun) {
  Scenario scenario = random_scenario(3);
  RandomResult first = run_random(scenario, {3, 0, {}});
  RandomResult second = run_random(random_scenario(3), {3, 0, {}});
  EXPECT_EQ(first.summary.digest, second.summary.digest);
  EXPECT_EQ(first.wrong, second.wrong);
  EXPECT_EQ(random_command(3), "lockstep simulate --random --seed 3");
}

TEST(RandomRun, SeedsReachAllThatPeopleDo) {
  std::set<std::string> actions;
  std::set<int> sizes;
  int with_faults = 0;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    Scenario scenario = random_scenario(seed);
    sizes.insert(scenario.fleet.nodes);
    EXPECT_TRUE(check_nodes(scenario, 0));
    EXPECT_GE(scenario.fleet.nodes, 5);
    EXPECT_LE(scenario.fleet.nodes, 50);
    with_faults += scenario.controller_weights ? 1 : 0;
    for (const auto& step : scenario.steps) actions.insert(step.action);
  }
  for (const char* action : {"setVersion", "pause",    "resume",   "restart", "cosmeticChange",
                             "setPolicy",  "cordon",   "uncordon", "retry",   "skip",
                             "unskip",     "notReady", "ready",    "repair",  "crashDriver",
                             "calm",       "heal",     "giveWay",  "crash",   "recreateDaemonSet",
                             "imitate"}) {
    EXPECT_TRUE(actions.contains(action)) << action;
  }
  EXPECT_GE(sizes.size(), 25u);
  EXPECT_GT(with_faults, 200);
}

TEST(RandomRun, TheKindOfAFailureHasNeitherTimesNorNames) {
  std::string kind = kind_of_failure(
      "at 5m27.478125885s: gpu-1 was taken out of service as number 2 by our doing, and "
      "maxUnavailable is 1 of 10 nodes");
  EXPECT_EQ(kind,
            "was taken out of service as number by our doing, and maxUnavailable is of nodes");
  EXPECT_EQ(kind_of_failure("ml-training/notebook was evicted from gpu-12"), "was evicted from");
  EXPECT_EQ(kind_of_failure("it did not come to rest"), "it did not come to rest");
}

TEST(RandomRun, AGoalThatIsNotReachedIsFound) {
  Scenario scenario = random_scenario(1);
  scenario.expect.version = "1.2.3";
  EXPECT_FALSE(run_random(scenario, {1, 0, {}}).wrong.empty());
}

}  // namespace
}  // namespace lockstep::sim::random_run_test
