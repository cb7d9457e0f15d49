#include "sim/rollout_part.h"

#include <gtest/gtest.h>

namespace lockstep::sim::rollout_part_test {
namespace {

TEST(RolloutPart, TheDefinitionIsTheOneOfTheChart) {
  Json definition = driver_rollout_definition();
  EXPECT_EQ(text_at(definition, "metadata", "name"), "driverrollouts.lockstep.dev");
}

TEST(RolloutPart, BerlinHasSummerTime) {
  auto berlin = rollout_time_zones()("Europe/Berlin");
  ASSERT_TRUE(berlin);
  EXPECT_EQ(berlin->offset_seconds(*parse_rfc3339("2026-07-01T00:00:00Z")), 7200);
  EXPECT_EQ(berlin->offset_seconds(*parse_rfc3339("2026-01-01T00:00:00Z")), 3600);
  EXPECT_FALSE(rollout_time_zones()("Mars/Olympus"));
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
