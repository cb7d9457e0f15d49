#include "rollout/compatibility_version.h"

#include <gtest/gtest.h>

namespace lockstep::rollout::compatibility_version_test {
namespace {

std::strong_ordering compare(const char* a, const char* b) {
  return compare_versions(parse_version(a).value(), parse_version(b).value());
}

TEST(CompatibilityVersion, NumbersAreComparedOneByOne) {
  EXPECT_TRUE(compare("570.26", "570.124.06") < 0);
  EXPECT_TRUE(compare("580.65.06", "580.65.6") == 0);
  EXPECT_TRUE(compare("570", "570.0.0") == 0);
  EXPECT_TRUE(compare("v24.12.0", "24.9.2") > 0);
  EXPECT_TRUE(compare("1.33.5-eks-3025e55", "1.33.5") == 0);
}

TEST(CompatibilityVersion, WhatIsNoVersionIsNone) {
  for (const char* bad : {"", "v", "latest", "570.", ".5", "570..1", "5 70", "570.x"}) {
    EXPECT_FALSE(parse_version(bad)) << bad;
  }
}

TEST(CompatibilityVersion, ABoundCountsAtItsOwnPrecision) {
  const Version bound = parse_version("1.31").value();
  EXPECT_TRUE(compare_to_bound(parse_version("1.31.9").value(), bound) == 0);
  EXPECT_TRUE(compare_to_bound(parse_version("1.32").value(), bound) > 0);
  EXPECT_TRUE(compare_to_bound(parse_version("1").value(), bound) < 0);
}

}  // namespace
}  // namespace lockstep::rollout::compatibility_version_test
