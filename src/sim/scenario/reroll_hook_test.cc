#include "sim/scenario/reroll_hook.h"

#include "sim/actors/sim_test_util.h"

namespace lockstep::sim::reroll_hook_test {
namespace {

TEST(RerollHook, RunsOnlyWhereTheScenarioHasOne) {
  Cluster cluster(fleet_of(2, 1));
  ASSERT_TRUE(cluster.start());
  Scenario scenario;
  RerollHook none(scenario, cluster, 1);
  none.start();
  EXPECT_TRUE(none.is_over());
  EXPECT_EQ(none.end(), "");
}

TEST(RerollHook, IsRunningUntilTheDriverIsThereAndSaysHowItEnded) {
  Cluster cluster(fleet_of(2, 1));
  ASSERT_TRUE(cluster.start());
  Scenario scenario;
  scenario.reroll_timeout = minutes(5);
  scenario.to_version = std::string(new_version);
  RerollHook hook(scenario, cluster, 1);
  hook.start();
  cluster.loop.run_for(minutes(1));
  EXPECT_FALSE(hook.is_over());
  EXPECT_EQ(hook.end(), "running");
  EXPECT_EQ(hook.text(), "");
  // The version does not change.
  cluster.loop.run_for(minutes(5));
  EXPECT_TRUE(hook.is_over());
  EXPECT_EQ(hook.end(), "failed");
  EXPECT_NE(hook.text().find("580.126.20 is expected"), std::string::npos) << hook.text();
}

}  // namespace
}  // namespace lockstep::sim::reroll_hook_test
