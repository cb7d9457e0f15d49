#include "controller/baseline_keeper.h"

#include <gtest/gtest.h>

#include "rollout/rollout_test_util.h"
#include "view/fleet_objects_test_util.h"

namespace lockstep::controller::baseline_keeper_test {
namespace {

using namespace view;

class BaselineKeeperTest : public ::testing::Test {
 protected:
  BaselineKeeperTest() {
    rollout.settle();
    rollout.set_version("new", "580");
    rollout.view.recorded[0] =
        rollout::RecordedWave{"revision", {"gpu-1", "gpu-2", "gpu-3", "gpu-4", "gone"}};
    for (int i = 1; i <= 5; ++i) set_ready(i, true);
  }
  void set_ready(int number, bool ready) {
    auto node = std::make_shared<Node>(*rollout.node(number).node);
    node->conditions = {{Text("Ready"), Text(ready ? "True" : "False"), {}, {}, {}}};
    rollout.node(number).node = node;
  }

  rollout::TestRollout rollout{5, R"(
  waves:
    - {name: canary, nodes: {count: 4}, gates: [driver, inference, {name: ecc, dryRun: true}]}
    - {name: rest, nodes: {rest: true}}
)"};
};

TEST_F(BaselineKeeperTest, MeasuresTheWavesNodesThatCanBeMeasuredWithGatesThatAreCompared) {
  set_ready(2, false);
  rollout.node(3).skipped = true;
  rollout.finish(4);
  GateRun run = baseline_run(rollout.view, 0);
  EXPECT_EQ(run.nodes, (std::vector<std::string>{"gpu-1"}));
  ASSERT_EQ(run.gates.size(), 2U);
  EXPECT_EQ(run.gates[0].name, "inference");
  EXPECT_EQ(run.gates[1].name, "ecc");
  // The gates after the upgrade are other Jobs.
  GateRun after = run;
  after.is_baseline = false;
  EXPECT_NE(run.id(), after.id());
  EXPECT_TRUE(baseline_run(rollout.view, 1).gates.empty());
}

TEST_F(BaselineKeeperTest, SaysOfEveryNodeWhatItWasOrWhyThereIsNothing) {
  set_ready(2, false);
  rollout.node(3).skipped = true;
  rollout.finish(4);
  GateJobs::Measured measured{{"gpu-1", {{"inference", {{{"inference tflops", 800}}, {}, ""}}}}};
  const Time now = Time::from_unix(1'800'000'000);
  rollout::WaveBaseline kept = collect_baseline(rollout.view, 0, measured, {"gpu-1"}, now);
  EXPECT_EQ(kept.id, rollout::baseline_id(rollout.view));
  EXPECT_EQ(kept.taken, now);
  ASSERT_EQ(kept.nodes.size(), 4U);
  EXPECT_TRUE(kept.nodes["gpu-1"].in_use);
  EXPECT_EQ(kept.nodes["gpu-1"].gates["inference"].speeds["inference tflops"], 800);
  EXPECT_EQ(kept.nodes["gpu-2"].gates["inference"].none, "the node was not ready");
  EXPECT_EQ(kept.nodes["gpu-3"].gates["ecc"].none, "the node was skipped");
  EXPECT_TRUE(kept.nodes["gpu-4"].gates.empty()) << "it has the new driver";
}

TEST_F(BaselineKeeperTest, IsBoundedHoweverLargeTheWave) {
  rollout.view.recorded[0]->nodes.clear();
  for (int i = 6; i <= static_cast<int>(rollout::most_baseline_nodes) + 16; ++i) {
    rollout.add_node(i);
    rollout.view.recorded[0]->nodes.push_back(rollout.node(i).name());
  }
  rollout::WaveBaseline kept =
      collect_baseline(rollout.view, 0, {}, {}, Time::from_unix(1'800'000'000));
  EXPECT_EQ(kept.nodes.size(), rollout::most_baseline_nodes);
  EXPECT_EQ(kept.left_out, 11);
}

TEST_F(BaselineKeeperTest, IsOneConfigMapThatGoesWithItsRollout) {
  GenericObject object;
  object.meta.name = "driver";
  object.meta.uid = "u-1";
  rollout::WaveBaseline kept =
      collect_baseline(rollout.view, 0, {}, {}, Time::from_unix(1'800'000'000));
  ObjectKey key{"lockstep-system", baseline_name("driver", 0)};
  EXPECT_EQ(key.name, "lockstep-baseline-driver-0");
  Json json = baseline_to_json(key, object, kept, "17");
  EXPECT_EQ(text_at(json, "metadata", "resourceVersion"), "17");
  EXPECT_EQ(text_at(json.at("metadata").at("ownerReferences").at(0), "uid"), "u-1");
  EXPECT_EQ(text_at(json.at("metadata").at("ownerReferences").at(0), "kind"), "DriverRollout");
  DecodeContext context;
  auto map = decode_object<ConfigMap>(json, context);
  ASSERT_TRUE(map);
  EXPECT_EQ(baseline_from(*map), kept);
  // Half of a baseline is invalid.
  json.as_object()["data"].as_object()["baseline"] = kept.text().substr(0, 40);
  EXPECT_FALSE(baseline_from(*decode_object<ConfigMap>(json, context)));
}

}  // namespace
}  // namespace lockstep::controller::baseline_keeper_test
