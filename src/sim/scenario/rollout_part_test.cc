#include "sim/scenario/rollout_part.h"

#include <gtest/gtest.h>

namespace lockstep::sim::rollout_part_test {
namespace {

TEST(RolloutPart, TheDefinitionIsTheOneOfTheChart) {
  Json definition = driver_rollout_definition();
  EXPECT_EQ(text_at(definition, "metadata", "name"), "driverrollouts.lockstep.dev");
}

TEST(RolloutPart, WithoutARolloutThereIsNothingToWaitFor) {
  Scenario scenario;
  Cluster cluster(ClusterOptions{});
  RolloutPart part(cluster, scenario, 1);
  EXPECT_FALSE(part.enabled());
  EXPECT_TRUE(part.at_rest());
}

}  // namespace
}  // namespace lockstep::sim::rollout_part_test
