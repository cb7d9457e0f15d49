#include "node/node_reader.h"

#include <gtest/gtest.h>

#include "node/manager_scene_test_util.h"

namespace lockstep::node::node_reader_test {
namespace {

struct NodeReaderTest : ::testing::Test {
  Result<NodeReading> read(const std::string& node = "gpu-1") {
    NodeReader reader(scene.api(), {});
    std::optional<Result<NodeReading>> result;
    reader.read(node, [&](Result<NodeReading> reading) { result = std::move(reading); });
    scene.loop.run_until([&] { return result.has_value(); }, minutes(2));
    return result ? std::move(*result) : Result<NodeReading>(fail(ErrorKind::timed_out, "none"));
  }

  ManagerScene scene;
};

TEST_F(NodeReaderTest, TheNodeAndItsPodsComeWithTheirSelectors) {
  scene.add_work("train");
  auto reading = read();
  ASSERT_TRUE(reading) << reading.error().text();
  EXPECT_EQ(reading->node->meta.name, "gpu-1");
  std::map<std::string, const PodHere*> pods;
  for (const PodHere& here : reading->pods) pods[here.pod().meta.name.str()] = &here;
  ASSERT_TRUE(pods.contains("train"));
  EXPECT_TRUE(pods["train"]->entry.uses_gpu);
  EXPECT_FALSE(pods["train"]->holds_gpu_claim);
  ASSERT_TRUE(pods.contains("device-plugin-1"));
  EXPECT_EQ(pods["device-plugin-1"]->node_selector.get(device_plugin_label), "true");
  EXPECT_FALSE(pods["device-plugin-1"]->entry.uses_gpu);
}

TEST_F(NodeReaderTest, AClaimTellsWhatAPodHolds) {
  scene.add_claim("gpu", "gpu.nvidia.com");
  scene.add_claim("nic", "nic.example.com");
  scene.add_work("claims-a-gpu", {.claim = "gpu"});
  scene.add_work("claims-a-nic", {.claim = "nic"});
  scene.add_work("claims-nothing-known", {.claim = "missing"});
  auto reading = read();
  ASSERT_TRUE(reading) << reading.error().text();
  std::map<std::string, bool> holds;
  for (const PodHere& here : reading->pods)
    holds[here.pod().meta.name.str()] = here.holds_gpu_claim;
  EXPECT_TRUE(holds["claims-a-gpu"]);
  EXPECT_FALSE(holds["claims-a-nic"]);
  EXPECT_TRUE(holds["claims-nothing-known"]) << "when in doubt";
}

TEST_F(NodeReaderTest, WhatCannotBeReadIsAnErrorAndNotAnEmptyNode) {
  auto missing = read("gpu-2");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, ErrorKind::not_found);
  for (const ResourceType& type : {resource::nodes, resource::pods}) {
    scene.faults.on_call([type](const kube::Request& request) { return request.type == type; },
                         plan_of(kube::Fault::server_error));
    EXPECT_FALSE(read()) << type.plural;
  }
  EXPECT_TRUE(read());
}

}  // namespace
}  // namespace lockstep::node::node_reader_test
