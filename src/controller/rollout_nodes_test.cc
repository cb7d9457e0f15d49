#include "controller/rollout_nodes.h"

#include <optional>

#include <gtest/gtest.h>

#include "controller/controller_test_util.h"

namespace lockstep::controller::rollout_nodes_test {
namespace {

class RolloutNodesTest : public ::testing::Test {
 protected:
  RolloutNodesTest() {
    // Only rollouts need the drivers.
    one.base_options.fleet.rollouts.enabled = true;
    one.restart();
    nodes.emplace(one.controller->watch(), fleet.loop, false, [this](const std::string&) {
      ++asked;
      return fleet::ReasonName(fleet::Reason::parallel_limit);
    });
    EXPECT_TRUE(fleet.run_until([&] { return fleet.all_are("upgrade-done"); }, minutes(1)));
    auto object = std::make_shared<GenericObject>();
    object->meta.name = "driver";
    object->meta.generation = 1;
    known.object = object;
  }
  rollout::RolloutView view() {
    one.controller->watch().count_changed();
    rollout::RolloutView view;
    view.status = known.status;
    nodes->add_to(known, view);
    return view;
  }

  TestFleet fleet{{1, 3}};
  TestController one{fleet};
  int asked = 0;
  std::optional<RolloutNodes> nodes;
  view::KnownRollout known;
};

TEST_F(RolloutNodesTest, SeesTheFleetAndItsRevision) {
  rollout::RolloutView seen = view();
  ASSERT_EQ(seen.nodes.size(), 3U);
  for (const auto& node : seen.nodes) {
    EXPECT_EQ(node.state, fleet::State::done);
    EXPECT_TRUE(node.in_sync);
  }
  EXPECT_TRUE(seen.target.is_set());
}

TEST_F(RolloutNodesTest, InABakeWhatChangesIsSeenAtOnce) {
  known.status.phase = rollout::Phase::baking;
  EXPECT_EQ(view().nodes.size(), 3U);
  fleet.patch_node("gpu-2",
                   R"({"metadata":{"labels":{"nvidia.com/gpu-driver-upgrade.skip":"true"}}})");
  fleet.loop.run_for(seconds(2));
  int skipped = 0;
  for (const auto& node : view().nodes) skipped += node.skipped ? 1 : 0;
  EXPECT_EQ(skipped, 1);
  fleet.add_node("gpu-9");
  fleet.loop.run_for(seconds(30));
  EXPECT_EQ(view().nodes.size(), 4U);
}

TEST_F(RolloutNodesTest, InABakeReasonsAreAskedForNowAndThenOtherwiseAlways) {
  one.controller->follow();
  fleet.patch_node("gpu-1", R"({"metadata":{"labels":{
      "nvidia.com/gpu-driver-upgrade-state":"upgrade-failed"}}})");
  fleet.loop.run_for(seconds(2));
  known.status.phase = rollout::Phase::upgrading;
  view();
  view();
  int often = asked;
  EXPECT_GE(often, 2);
  known.status.phase = rollout::Phase::baking;
  view();
  view();
  EXPECT_EQ(asked, often) << "nothing has changed";
  fleet.loop.run_for(minutes(11));
  view();
  EXPECT_EQ(asked, often + 1);
}

TEST_F(RolloutNodesTest, BothSidesOfABakeAreBusyWhileGpuPodsRun) {
  rollout::RolloutView seen = view();
  ASSERT_EQ(seen.nodes.size(), 3U);
  auto busy = [&] {
    std::map<std::string, bool> found;
    for (const BakeNode& node : nodes->bake_nodes(seen)) {
      found[node.node->meta.name.str()] = node.busy;
    }
    return found;
  };
  EXPECT_EQ(busy(),
            (std::map<std::string, bool>{{"gpu-1", false}, {"gpu-2", false}, {"gpu-3", false}}));
  fleet.add_work("job", "gpu-2");
  fleet.loop.run_for(seconds(2));
  EXPECT_EQ(busy(),
            (std::map<std::string, bool>{{"gpu-1", false}, {"gpu-2", true}, {"gpu-3", false}}));
  // Waiting nodes are the control group; nodes in progress belong to neither group.
  seen.nodes[0].state = fleet::State::required;
  seen.nodes[0].in_sync = false;
  seen.nodes[0].out_of_sync = true;
  seen.nodes[2].state = fleet::State::drain;
  auto sides = nodes->bake_nodes(seen);
  ASSERT_EQ(sides.size(), 2U);
  EXPECT_FALSE(sides[0].upgraded);
  EXPECT_TRUE(sides[1].upgraded);
  // A node whose driver has broken since counts as upgraded.
  seen.nodes[1].in_sync = false;
  EXPECT_TRUE(nodes->bake_nodes(seen)[1].upgraded);
}

}  // namespace
}  // namespace lockstep::controller::rollout_nodes_test
