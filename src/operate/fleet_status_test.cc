#include "operate/fleet_status.h"

#include <gtest/gtest.h>

#include "view/watched_fleet_test_util.h"

namespace lockstep::operate::fleet_status_test {
namespace {

using fleet::State;
using view::WatchedFleet;

struct Scene : WatchedFleet {
  FleetStatus look() {
    settle();
    return look_at_fleet(*watch, loop.now());
  }
};

TEST(FleetStatus, SaysOfEachNodeWhereItIsAndWhy) {
  Scene scene;
  scene.add_usual();
  scene.start();
  scene.add_state("gpu-1", State::done);
  FleetStatus status = scene.look();
  ASSERT_EQ(status.pools.size(), 1U);
  const PoolStatus& pool = status.pools[0];
  EXPECT_EQ(pool.source, "ClusterPolicy cluster-policy");
  EXPECT_EQ(pool.target, "580.126.20");
  EXPECT_EQ(pool.counts.total, 1);
  EXPECT_EQ(pool.running, 1);
  EXPECT_EQ(pool.upgraded, 1);
  ASSERT_EQ(pool.nodes.size(), 1U);
  EXPECT_EQ(pool.nodes[0].reason.name, "InSync");
  EXPECT_TRUE(status.at_rest());
  const Json json = to_json(status);
  EXPECT_EQ(as_integer(find(json.at("pools").as_array().at(0), "upgraded")), 1);
  EXPECT_EQ(text_at(json.at("pools").as_array().at(0).at("nodes").as_array().at(0), "state"),
            "upgrade-done");
}

// What is asked for is not what runs: a node counts as upgraded once it is done.
TEST(FleetStatus, ANodeThatWaitsIsNotAtRest) {
  Scene scene;
  scene.add_usual();
  scene.start();
  scene.add_revision("r2", 2);
  scene.add_state("gpu-1", State::required);
  FleetStatus status = scene.look();
  ASSERT_EQ(status.pools.size(), 1U);
  EXPECT_EQ(status.pools[0].upgraded, 0);
  EXPECT_EQ(status.pools[0].running, 0);
  EXPECT_EQ(status.pools[0].counts.waiting, 1);
  EXPECT_FALSE(status.at_rest());
}

TEST(FleetStatus, SaysWhoPausedAPoolAndThatNothingStarts) {
  Scene scene;
  scene.add_usual();
  scene.add_policy(R"({"autoUpgrade":true})",
                   R"({"metadata":{"annotations":{"lockstep.dev/paused":"night by ada"}}})");
  scene.start();
  FleetStatus status = scene.look();
  ASSERT_EQ(status.pools.size(), 1U);
  EXPECT_EQ(status.pools[0].paused, "night by ada");
  ASSERT_TRUE(status.pools[0].held);
  EXPECT_EQ(status.pools[0].held->name, "Paused");
  EXPECT_EQ(text_at(to_json(*status.pools[0].held), "name"), "Paused");
}

TEST(FleetStatus, AFleetWithoutADriverHasNoPools) {
  Scene scene;
  scene.add_node("gpu-1");
  scene.start();
  FleetStatus status = scene.look();
  EXPECT_TRUE(status.pools.empty());
  EXPECT_TRUE(status.at_rest());
  EXPECT_EQ(status.driver_namespaces, (std::vector<std::string>{"gpu-operator"}));
}

}  // namespace
}  // namespace lockstep::operate::fleet_status_test
