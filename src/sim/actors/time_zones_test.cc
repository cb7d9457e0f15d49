#include "sim/actors/time_zones.h"

#include <gtest/gtest.h>

namespace lockstep::sim::time_zones_test {
namespace {

TEST(TimeZones, BerlinHasSummerTime) {
  auto berlin = rollout_time_zones()("Europe/Berlin");
  ASSERT_TRUE(berlin);
  EXPECT_EQ(berlin->offset_seconds(*parse_rfc3339("2026-07-01T00:00:00Z")), 7200);
  EXPECT_EQ(berlin->offset_seconds(*parse_rfc3339("2026-01-01T00:00:00Z")), 3600);
  EXPECT_FALSE(rollout_time_zones()("Mars/Olympus"));
}

}  // namespace
}  // namespace lockstep::sim::time_zones_test
