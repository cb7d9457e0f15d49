#include "controller/node_holds.h"

#include <optional>

#include "rollout/rollout_test_util.h"
#include "view/watched_fleet_test_util.h"

namespace lockstep::controller::node_holds_test {
namespace {

using namespace view;

// The only wave of a rollout is open, and NVIDIA's controller waits for its node.
class NodeHoldsTest : public ::testing::Test {
 protected:
  NodeHoldsTest() {
    auto object = std::make_shared<GenericObject>();
    object->meta.name = "driver";
    known.object = object;
    known.gate.window.open = true;
    rollout.begin();
    fleet.add_usual();
    fleet.start();
    holds.emplace(fleet.api, fleet.loop, *fleet.watch,
                  [this](const std::string&, bool failed) { failures += failed ? 1 : 0; });
  }
  // As another replica does that knows of no open wave.
  void hold() {
    fleet.patch_node("gpu-1", fmt::format(R"({{"metadata":{{"labels":{{"{}":"true"}},
        "annotations":{{"{}":"driver"}}}}}})",
                                          fleet::Keys().skip, rollout::kept_back_annotation));
    fleet.settle();
  }
  NodeHolds::Due due() {
    rollout.node(1).node = fleet.watch->node("gpu-1");
    return holds->due(known, rollout.view);
  }
  void write(std::vector<rollout::SkipChange> changes) {
    holds->write("driver", std::move(changes));
    fleet.settle();
  }
  bool is_held() { return fleet::is_skipped(*fleet.watch->node("gpu-1"), fleet::Keys()); }

  WatchedFleet fleet;
  rollout::TestRollout rollout{1, "  waves:\n    - {name: all, nodes: {rest: true}}\n"};
  view::KnownRollout known;
  std::optional<NodeHolds> holds;
  int failures = 0;
};

TEST_F(NodeHoldsTest, ReleasesTheNodesOfAnOpenWave) {
  hold();
  EXPECT_TRUE(is_held());
  NodeHolds::Due release = due();
  ASSERT_EQ(release.changes.size(), 1U);
  write(release.changes);
  EXPECT_FALSE(is_held());
  EXPECT_EQ(failures, 0);
}

TEST_F(NodeHoldsTest, WaitsLongerEachTimeAnotherReplicaHoldsWhatItReleased) {
  int releases = 0;
  for (const Time end = fleet.loop.now() + hours(1); fleet.loop.now() < end;) {
    hold();
    if (NodeHolds::Due release = due(); !release.changes.empty()) {
      ++releases;
      write(release.changes);
    } else {
      ASSERT_TRUE(release.requeue_after) << "a release that waits is tried again";
      fleet.loop.run_for(*release.requeue_after);
    }
  }
  EXPECT_GT(releases, 20);
  EXPECT_LT(releases, 40);
}

TEST_F(NodeHoldsTest, AHoldNeverWaits) {
  for (int round = 0; round < 5; ++round) {
    hold();
    rollout.view.status.open_waves = 1;
    write({{"gpu-1", false, false}});
    rollout.view.status.closed = true;
    NodeHolds::Due held = due();
    ASSERT_EQ(held.changes.size(), 1U);
    EXPECT_TRUE(held.changes.front().skip);
    write(held.changes);
    EXPECT_TRUE(is_held());
    rollout.view.status.closed = false;
    EXPECT_EQ(due().changes.size(), 1U) << "its own hold is no other replica's";
  }
}

}  // namespace
}  // namespace lockstep::controller::node_holds_test
