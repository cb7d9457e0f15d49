#include "rollout/conduct.h"

#include <gtest/gtest.h>

#include "rollout/rollout_test_util.h"

namespace lockstep::rollout::conduct_test {
namespace {

const fleet::Keys keys;

// Beside NVIDIA's controller: what is due is done to the nodes of the test.
struct Conducted {
  explicit Conducted(const std::string& spec = R"(
  waves:
    - {name: canary, nodes: {count: 2}}
    - {name: rest, nodes: {rest: true}}
)")
      : rollout(4, spec) {
    gate.window.open = true;
    rollout.settle();
  }
  std::vector<SkipChange> due() { return skips_due(rollout.view, gate, keys); }
  void label(int number, bool label, bool mark) {
    auto node = std::make_shared<Node>(*rollout.node(number).node);
    if (label) node->meta.labels = {{Text(keys.skip), Text("true")}};
    if (!label) node->meta.labels = {};
    node->meta.annotations = {};
    if (mark) node->meta.annotations = {{Text(kept_back_annotation), Text("driver")}};
    rollout.node(number).node = node;
  }
  void do_all() {
    for (const SkipChange& change : due()) {
      for (int i = 1; i <= 4; ++i) {
        if (rollout.node(i).name() == change.node) label(i, change.skip, change.skip);
      }
    }
  }
  std::string labelled() {
    std::string text;
    for (int i = 1; i <= 4; ++i) {
      text += fleet::is_skipped(*rollout.node(i).node, keys) ? '1' : '0';
    }
    return text;
  }

  TestRollout rollout;
  RolloutGate gate;
};

using Changes = std::vector<SkipChange>;

TEST(Conduct, ANodeIsLeftBehindByARolloutThatIsGoneOrIsAnotherNvidiaDrivers) {
  RolloutSpec keeper;
  keeper.driver = {DriverKind::nvidia_driver, "default"};
  Node node;
  node.meta.annotations = {{Text(kept_back_annotation), Text("driver")}};
  auto owned_by = [&](std::string_view pool) {
    node.meta.labels = {{Text(fleet::driver_owner_label), Text(pool)}};
  };
  owned_by("default");
  EXPECT_FALSE(is_left_behind(node, &keeper, true));
  EXPECT_TRUE(is_left_behind(node, nullptr, false));
  EXPECT_TRUE(is_left_behind(node, nullptr, true)) << "the other one keeps it back itself";
  owned_by("canary");
  EXPECT_TRUE(is_left_behind(node, &keeper, false));
  EXPECT_FALSE(is_left_behind(node, &keeper, true)) << "its new rollout takes it over, skipped";
  keeper.driver.kind = DriverKind::cluster_policy;
  EXPECT_TRUE(is_left_behind(node, &keeper, false));
  // For a moment the node belongs to no driver.
  node.meta.labels = {};
  keeper.driver.kind = DriverKind::nvidia_driver;
  EXPECT_FALSE(is_left_behind(node, &keeper, false));
  owned_by("canary");
  node.meta.annotations = {};
  EXPECT_FALSE(is_left_behind(node, &keeper, false)) << "a person's own skip label";
}

TEST(Conduct, EveryNodeIsKeptBackBeforeAnythingHappens) {
  Conducted conducted;
  EXPECT_EQ(conducted.due(),
            (Changes{{"gpu-1", true}, {"gpu-2", true}, {"gpu-3", true}, {"gpu-4", true}}));
  conducted.do_all();
  EXPECT_EQ(conducted.labelled(), "1111");
  EXPECT_TRUE(conducted.due().empty());
}

TEST(Conduct, AWaveOpensByTakingTheLabelOff) {
  Conducted conducted;
  conducted.do_all();
  conducted.rollout.set_version("new", "580");
  EXPECT_EQ(conducted.rollout.settle(), "Upgrading");
  conducted.do_all();
  EXPECT_EQ(conducted.labelled(), "0011");
  EXPECT_FALSE(is_kept_back(*conducted.rollout.node(1).node));
  for (int i : {1, 2}) conducted.rollout.finish(i);
  conducted.rollout.settle();
  conducted.do_all();
  EXPECT_EQ(conducted.labelled(), "1111") << "first what has finished";
  conducted.do_all();
  EXPECT_EQ(conducted.labelled(), "1100");
  for (int i : {3, 4}) conducted.rollout.finish(i);
  conducted.do_all();
  EXPECT_EQ(conducted.labelled(), "1111") << "before it is Complete and the next version can come";
  EXPECT_EQ(conducted.rollout.settle(), "Complete");
  EXPECT_TRUE(conducted.due().empty());
}

// NVIDIA's controller reads the label before it begins a node, and nowhere else.
TEST(Conduct, ANodeGetsItsLabelBackAsSoonAsItHasBegun) {
  Conducted conducted;
  conducted.do_all();
  conducted.rollout.set_version("new", "580");
  conducted.rollout.settle();
  conducted.do_all();
  EXPECT_EQ(conducted.labelled(), "0011");
  conducted.rollout.node(1).state = fleet::State::cordon;
  conducted.do_all();
  EXPECT_EQ(conducted.labelled(), "1011");
}

TEST(Conduct, ARollbackReachesANodeThatGotTheRejectedVersionOutsideTheWaves) {
  Conducted conducted;
  conducted.do_all();
  conducted.rollout.set_version("new", "580");
  conducted.rollout.settle();
  conducted.do_all();
  conducted.rollout.finish(1);
  conducted.rollout.command("rollback");
  conducted.rollout.settle();
  RolloutNode& outside = conducted.rollout.node(4);
  outside.set = test_set;
  outside.revision = "new";
  outside.out_of_sync = true;
  outside.in_sync = false;
  outside.state = fleet::State::required;
  ASSERT_EQ(conducted.rollout.phase(), "RollingBack");
  conducted.do_all();
  conducted.do_all();
  EXPECT_EQ(conducted.labelled()[2], '1') << "it runs what is restored";
  EXPECT_EQ(conducted.labelled()[3], '0');
}

// NVIDIA's controller would leave it in upgrade-required, and evict its work when the label goes.
TEST(Conduct, AHeldNodeWhoseVersionWasSetBackIsDone) {
  Conducted conducted;
  conducted.do_all();
  RolloutNode& node = conducted.rollout.node(3);
  node.state = fleet::State::required;
  ASSERT_TRUE(node.in_sync);
  ASSERT_EQ(conducted.due().size(), 1U);
  EXPECT_TRUE(conducted.due()[0].is_done);
  Json patch = skip_patch(conducted.due()[0], "driver", keys, "7");
  EXPECT_EQ(text_at(patch, "metadata", "labels", keys.state), "upgrade-done");
  EXPECT_EQ(text_at(patch, "metadata", "labels", keys.skip), "true");
  node.reason = fleet::Reason::upgraded_outside_wave;
  EXPECT_TRUE(conducted.due().empty()) << "it has a driver that nobody allowed it";
}

TEST(Conduct, APersonsOwnLabelIsLeft) {
  Conducted conducted;
  conducted.label(1, true, false);
  conducted.do_all();
  EXPECT_TRUE(is_skipped_by_person(*conducted.rollout.node(1).node, keys));
  EXPECT_FALSE(is_skipped_by_person(*conducted.rollout.node(2).node, keys));
  conducted.rollout.node(1).skipped = true;
  conducted.rollout.set_version("new", "580");
  conducted.rollout.settle();
  conducted.do_all();
  EXPECT_EQ(conducted.labelled(), "1011");
}

TEST(Conduct, ClosedPausedAndOutsideItsWindowNobodyNewBegins) {
  for (int way = 0; way < 3; ++way) {
    Conducted conducted;
    conducted.do_all();
    conducted.rollout.set_version("new", "580");
    conducted.rollout.settle();
    conducted.do_all();
    conducted.rollout.node(1).state = fleet::State::pod_restart;
    if (way == 0) conducted.gate.paused = true;
    if (way == 1) conducted.gate.window.open = false;
    if (way == 2) conducted.rollout.command("abort");
    conducted.rollout.settle();
    conducted.do_all();
    EXPECT_EQ(conducted.labelled(), "1111") << "what has begun is finished, way " << way;
  }
}

TEST(Conduct, AnotherVersionClosesTheWavesAtOnce) {
  Conducted conducted;
  conducted.do_all();
  conducted.rollout.set_version("new", "580");
  conducted.rollout.settle();
  conducted.do_all();
  conducted.rollout.view.target = revision("newer", "590");
  EXPECT_EQ(conducted.due(), (Changes{{"gpu-1", true}, {"gpu-2", true}}));
}

TEST(Conduct, OnlySoManyAtATimeAsTheWaveAllows) {
  Conducted conducted(R"(
  waves:
    - {name: canary, nodes: {count: 3}, maxParallelUpgrades: 1}
    - {name: rest, nodes: {rest: true}}
)");
  conducted.do_all();
  conducted.rollout.set_version("new", "580");
  conducted.rollout.settle();
  conducted.do_all();
  EXPECT_EQ(conducted.labelled(), "0111");
  EXPECT_TRUE(conducted.due().empty());
  conducted.rollout.node(1).state = fleet::State::pod_restart;
  conducted.do_all();
  EXPECT_EQ(conducted.labelled(), "1111");
  EXPECT_TRUE(conducted.due().empty()) << "it is still in progress";
  conducted.rollout.finish(1);
  conducted.do_all();
  EXPECT_EQ(conducted.labelled(), "1011");
}

TEST(Conduct, AShorterSpecOpensNoWaveToOtherNodes) {
  Conducted conducted;
  conducted.do_all();
  conducted.rollout.set_version("new", "580");
  conducted.rollout.settle();
  conducted.do_all();
  ASSERT_EQ(conducted.labelled(), "0011");
  conducted.rollout.set_spec("  waves:\n    - {name: rest, nodes: {rest: true}}\n");
  conducted.do_all();
  EXPECT_EQ(conducted.labelled(), "1111") << "before the controller has said SpecChanged";
}

TEST(Conduct, ThePatchSaysWhoseTheLabelIs) {
  Json on = skip_patch({"gpu-1", true}, "driver", keys, "7");
  EXPECT_EQ(text_at(on, "metadata", "resourceVersion"), "7") << "one that arrives late is refused";
  EXPECT_EQ(text_at(on, "metadata", "labels", keys.skip), "true");
  EXPECT_EQ(text_at(on, "metadata", "annotations", kept_back_annotation), "driver");
  Json off = skip_patch({"gpu-1", false}, "driver", keys, "7");
  EXPECT_TRUE(find(off, "metadata", "labels", keys.skip)->is_null());
  EXPECT_TRUE(find(off, "metadata", "annotations", kept_back_annotation)->is_null());
}

}  // namespace
}  // namespace lockstep::rollout::conduct_test
