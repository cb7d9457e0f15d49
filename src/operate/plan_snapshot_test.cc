#include "operate/plan_snapshot.h"

#include <gtest/gtest.h>

#include "controller/controller_test_util.h"

namespace lockstep::operate::plan_snapshot_test {
namespace {

using controller::TestController;
using view::TestFleet;

class PlanSnapshotTest : public ::testing::Test {
 protected:
  PlanSnapshotTest() {
    one.restart();
    EXPECT_TRUE(fleet.run_until([&] { return fleet.all_are("upgrade-done"); }, minutes(1)));
  }
  rollout::Snapshot snapshot() {
    fleet.loop.run_for(seconds(2));
    view::FleetWatch& watch = one.controller->watch();
    watch.count_changed();
    return plan_snapshot(watch, fleet.loop.now());
  }

  TestFleet fleet{{1, 3, R"({"autoUpgrade":true,"maxParallelUpgrades":2,"maxUnavailable":2})"}};
  TestController one{fleet};
};

TEST_F(PlanSnapshotTest, HasTheNodesThePoliciesAndTheBudgets) {
  fleet.add_work("train", "gpu-2");
  fleet.add_budget("two", 2);
  rollout::Snapshot seen = snapshot();
  ASSERT_EQ(seen.nodes.size(), 3U);
  EXPECT_EQ(seen.nodes[1].view.name(), "gpu-2");
  EXPECT_TRUE(seen.nodes[1].busy);
  EXPECT_FALSE(seen.nodes[0].busy);
  EXPECT_EQ(seen.pools.at("").policy.max_parallel, 2);
  EXPECT_FALSE(seen.pools.at("").frozen);
  ASSERT_EQ(seen.budgets.size(), 1U);
  EXPECT_EQ(seen.budgets[0]->meta.name, "two");
}

// Its prediction of the change that the controller then makes: the same order and
// results.
TEST_F(PlanSnapshotTest, APlanOfItMovesWhatTheControllerThenMoves) {
  fleet.add_work("train", "gpu-1");
  rollout::Snapshot seen = snapshot();
  rollout::assume_change(seen);
  const rollout::Plan plan = rollout::run_forward(seen, {});
  ASSERT_EQ(plan.nodes.size(), 3U);
  EXPECT_EQ(plan.nodes.back().name, "gpu-1") << "its GPU pod makes it the last";
  EXPECT_EQ(plan.nodes.back().moved, (std::vector<std::string>{"default/train"}));
  EXPECT_EQ(plan.most_at_once, 2);
  fleet.set_revision("r2", 2);
  EXPECT_TRUE(fleet.run_until([&] { return fleet.upgraded(); }, hours(1)));
  EXPECT_FALSE(fleet.exists(resource::pods, {"default", "train"}));
}

// A node that a rollout holds beside NVIDIA's controller is not skipped by a user.
TEST_F(PlanSnapshotTest, ANodeThatARolloutHoldsWaitsForItsWave) {
  fleet.patch_node("gpu-3", R"({"metadata":{
      "labels":{"nvidia.com/gpu-driver-upgrade.skip":"true"},
      "annotations":{"lockstep.dev/kept-back-by":"driver"}}})");
  fleet.patch_node("gpu-2",
                   R"({"metadata":{"labels":{"nvidia.com/gpu-driver-upgrade.skip":"true"}}})");
  rollout::Snapshot seen = snapshot();
  const fleet::Keys keys;
  EXPECT_FALSE(fleet::is_skipped(*seen.nodes[2].view.node, keys));
  EXPECT_TRUE(fleet::is_skipped(*seen.nodes[1].view.node, keys));
}

}  // namespace
}  // namespace lockstep::operate::plan_snapshot_test
