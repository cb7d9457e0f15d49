#include "view/rollout_driver.h"

#include <gtest/gtest.h>

#include "view/watched_fleet_test_util.h"

namespace lockstep::view::rollout_driver_test {
namespace {

const std::string set_name = std::string(operator_ns) + "/" + std::string(driver_set);

DriverOfRollout driver_of(const WatchedFleet& fleet, rollout::DriverKind kind,
                          const std::string& name) {
  rollout::RolloutSpec spec;
  spec.driver = {kind, name};
  DriverOfRollout driver;
  add_driver(*fleet.watch, spec, {set_name}, driver);
  return driver;
}

TEST(RolloutDriver, IsTheNewestRevisionAndTheOneBefore) {
  WatchedFleet fleet;
  fleet.add_usual();
  fleet.start();
  DriverOfRollout driver = driver_of(fleet, rollout::DriverKind::daemon_set, set_name);
  EXPECT_EQ(driver.target.revisions.at(set_name), "r1");
  EXPECT_EQ(driver.target.version, "580.126.20");
  EXPECT_EQ(driver.target_image, "nvcr.io/nvidia/driver:580.126.20-ubuntu24.04");
  EXPECT_FALSE(driver.previous.is_set()) << "a DaemonSet that never changed";
  EXPECT_FALSE(driver.object) << "a DaemonSet has no object beside it";
  fleet.add_revision("r2", 2);
  fleet.settle();
  driver = driver_of(fleet, rollout::DriverKind::daemon_set, set_name);
  EXPECT_EQ(driver.target.revisions.at(set_name), "r2");
  EXPECT_EQ(driver.previous.revisions.at(set_name), "r1");
}

// The operator has not made the DaemonSet of it yet: what the object says is not what runs.
TEST(RolloutDriver, HasTheFieldsOfItsObjectOnceTheyFitTheImage) {
  WatchedFleet fleet;
  fleet.add_usual();
  fleet.start();
  auto say = [&](std::string_view version) {
    fleet.add_policy(R"({"autoUpgrade":true})",
                     fmt::format(R"({{"spec":{{"driver":{{"repository":"nvcr.io/nvidia",
                                     "image":"driver","version":"{}"}}}}}})",
                                 version));
    fleet.settle();
    return driver_of(fleet, rollout::DriverKind::cluster_policy, "cluster-policy");
  };
  EXPECT_TRUE(say("580.126.20").target.fields);
  EXPECT_FALSE(say("590.10.1").target.fields);
  ASSERT_TRUE(say("590.10.1").object);
  EXPECT_EQ(say("590.10.1").object->version(), "590.10.1");
}

TEST(RolloutDriver, IsNotSaidWhileTheRevisionIsNotKnown) {
  WatchedFleet fleet;
  fleet.add_policy(R"({"autoUpgrade":true})");
  fleet.start();
  EXPECT_FALSE(driver_of(fleet, rollout::DriverKind::daemon_set, set_name).target.is_set());
}

}  // namespace
}  // namespace lockstep::view::rollout_driver_test
