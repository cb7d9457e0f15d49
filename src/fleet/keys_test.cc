#include "fleet/keys.h"

#include <gtest/gtest.h>

namespace lockstep::fleet::keys_test {
namespace {

TEST(Keys, AreThoseThatExistingDashboardsUse) {
  Keys keys;
  EXPECT_EQ(keys.state, "nvidia.com/gpu-driver-upgrade-state");
  EXPECT_EQ(keys.skip, "nvidia.com/gpu-driver-upgrade.skip");
  EXPECT_EQ(keys.drain_skip, "nvidia.com/gpu-driver-upgrade-drain.skip");
  EXPECT_EQ(keys.requested, "nvidia.com/gpu-driver-upgrade-requested");
  EXPECT_EQ(keys.safe_load, "nvidia.com/gpu-driver-upgrade.driver-wait-for-safe-load");
  EXPECT_EQ(keys.initially_unschedulable,
            "nvidia.com/gpu-driver-upgrade.node-initial-state.unschedulable");
  EXPECT_EQ(keys.wait_start, "nvidia.com/gpu-driver-upgrade-wait-for-pod-completion-start-time");
  EXPECT_EQ(keys.validation_start, "nvidia.com/gpu-driver-upgrade-validation-start-time");
}

TEST(Keys, MoveToAnotherDomainBesideNvidiasOperator) {
  Keys keys("lockstep.dev");
  EXPECT_EQ(keys.domain, "lockstep.dev");
  for (const std::string* key :
       {&keys.state, &keys.skip, &keys.drain_skip, &keys.requested, &keys.safe_load,
        &keys.initially_unschedulable, &keys.wait_start, &keys.validation_start}) {
    EXPECT_TRUE(key->starts_with("lockstep.dev/gpu-driver-upgrade")) << *key;
  }
}

TEST(Keys, OurOwnStayWhereTheyAre) {
  EXPECT_EQ(since_annotation, "lockstep.dev/upgrade-since");
  EXPECT_EQ(failure_annotation, "lockstep.dev/upgrade-failure");
  EXPECT_EQ(driver_owner_label, "nvidia.com/gpu-operator.driver.owner");
  EXPECT_EQ(revision_label, "controller-revision-hash");
}

}  // namespace
}  // namespace lockstep::fleet::keys_test
