#include "sim/scenario/run_controllers.h"

#include <gtest/gtest.h>

#include "sim/actors/sim_test_util.h"

namespace lockstep::sim::run_controllers_test {
namespace {

class RunControllersTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(cluster.start());
    scenario.controllers = 2;
    scenario.heal_plugins = true;
  }
  std::string state_of(const std::string& name) {
    return std::string(text_at(*cluster.get(resource::nodes, {"", name}), "metadata", "labels",
                               fleet::Keys().state));
  }

  Scenario scenario;
  Cluster cluster{fleet_of(2)};
  SeededRandom random{1};
  RolloutPart rollout{cluster, scenario, 1};
  Witness witness{cluster};
  RunControllers controllers{scenario, cluster, cluster.loop, random, rollout};
};

TEST_F(RunControllersTest, WorkAsSoonAsTheyAreStartedAndNoMoreWhenTheyAreGone) {
  EXPECT_TRUE(controllers.empty());
  controllers.start(cluster.api("lockstep"), witness);
  EXPECT_FALSE(controllers.empty());
  cluster.loop.run_for(minutes(1));
  EXPECT_EQ(state_of("gpu-1"), "upgrade-done");
  EXPECT_TRUE(controllers.watch().synced());
  controllers.clear();
  EXPECT_TRUE(controllers.empty());
  ASSERT_TRUE(cluster.set_driver_version("580.126.20", ""));
  cluster.loop.run_for(minutes(10));
  EXPECT_EQ(state_of("gpu-1"), "upgrade-done");
  controllers.start(cluster.api("lockstep"), witness);
  cluster.loop.run_for(minutes(30));
  EXPECT_EQ(cluster.kubelets().machine("gpu-1").version(), "580.126.20");
  EXPECT_EQ(state_of("gpu-2"), "upgrade-done");
  EXPECT_TRUE(witness.violations().empty()) << witness.violations().front();
}

}  // namespace
}  // namespace lockstep::sim::run_controllers_test
