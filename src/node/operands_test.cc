#include "node/operands.h"

#include <map>

#include <gtest/gtest.h>

namespace lockstep::node::operands_test {
namespace {

using Changes = std::map<std::string, std::optional<std::string>>;

Changes labels_of(const std::optional<NodePatch>& patch) {
  return patch ? Changes(patch->labels.begin(), patch->labels.end()) : Changes();
}

Node node_with(StringMap labels, bool unschedulable = false) {
  Node node;
  node.meta.name = "gpu-1";
  node.meta.resource_version = "7";
  node.meta.labels = std::move(labels);
  node.unschedulable = unschedulable;
  return node;
}

const std::string plugin_key = "nvidia.com/gpu.deploy.device-plugin";
const std::string dcgm_key = "nvidia.com/gpu.deploy.dcgm";
const std::string dra_key = "nvidia.com/gpu.deploy.dra-driver";

TEST(Operands, OnlyWhatIsTrueIsPaused) {
  Node node = node_with({{plugin_key, "true"},
                         {dcgm_key, "false"},
                         {"nvidia.com/gpu.deploy.mig-manager", "paused-for-mig-change"},
                         {"nvidia.com/gpu.deploy.driver", "true"},
                         {"nvidia.com/gpu.deploy.vfio-manager", "true"},
                         {dra_key, "true"}});
  auto patch = pause_operands(node, operand_labels().first);
  EXPECT_EQ(labels_of(patch), (Changes{{plugin_key, "paused-for-driver-upgrade"}}));
  EXPECT_EQ(patch->resource_version, "7");
  EXPECT_FALSE(patch->unschedulable);
  EXPECT_EQ(labels_of(pause_operands(node, operand_labels().last)),
            (Changes{{dra_key, "paused-for-driver-upgrade"}}));
  EXPECT_FALSE(pause_operands(node_with({}), operand_labels().first));
}

TEST(Operands, TheWayBackIsReadFromTheNodeAlone) {
  Node node = node_with({{plugin_key, std::string(paused_value)},
                         {dcgm_key, "false"},
                         {"nvidia.com/gpu.deploy.mig-manager", "paused-for-mig-change"},
                         {dra_key, std::string(paused_value)}});
  auto patch = restore_node(node, operand_labels());
  EXPECT_EQ(labels_of(patch), (Changes{{plugin_key, "true"}, {dra_key, "true"}}));
  EXPECT_FALSE(patch->unschedulable);
  EXPECT_FALSE(restore_node(node_with({{plugin_key, "true"}}), operand_labels()));
}

TEST(Operands, APluginsLabelOfTheClustersOwnIsPausedLastAndOnce) {
  auto labels = operand_labels("nvidia.com/dra-kubelet-plugin");
  EXPECT_EQ(labels.last, (std::vector<std::string>{dra_key, "nvidia.com/dra-kubelet-plugin"}));
  EXPECT_EQ(operand_labels(dra_key).last, (std::vector<std::string>{dra_key}));
  auto moved = operand_labels(plugin_key);
  EXPECT_EQ(std::count(moved.first.begin(), moved.first.end(), plugin_key), 0);
  EXPECT_EQ(moved.last, (std::vector<std::string>{dra_key, plugin_key}));
}

TEST(Operands, OnlyACordonOfOursIsTakenBack) {
  Node node = node_with({});
  auto cordon = cordon_node(node);
  ASSERT_TRUE(cordon);
  EXPECT_EQ(cordon->unschedulable, true);
  ASSERT_EQ(cordon->annotations.size(), 1u);
  node.unschedulable = true;
  EXPECT_FALSE(cordon_node(node)) << "somebody else's";
  EXPECT_FALSE(restore_node(node, operand_labels())) << "somebody else's";
  node.meta.annotations.set(Text(manager_cordon_annotation), "ours");
  auto back = restore_node(node, operand_labels());
  ASSERT_TRUE(back);
  EXPECT_EQ(back->unschedulable, false);
  EXPECT_EQ(back->annotations.at(0).second, std::nullopt);
  // A user uncordoned it: only the note is left to be removed.
  node.unschedulable = false;
  back = restore_node(node, operand_labels());
  ASSERT_TRUE(back);
  EXPECT_FALSE(back->unschedulable);
  EXPECT_EQ(back->annotations.size(), 1u);
}

TEST(Operands, AHostsDriverEndsThePauseInTheSamePatch) {
  Node node = node_with(
      {{plugin_key, std::string(paused_value)}, {"nvidia.com/gpu.deploy.driver", "true"}});
  EXPECT_EQ(labels_of(leave_to_host_driver(node, operand_labels())),
            (Changes{{plugin_key, "true"}, {"nvidia.com/gpu.deploy.driver", "pre-installed"}}));
  EXPECT_FALSE(leave_to_host_driver(node_with({{"nvidia.com/gpu.deploy.driver", "pre-installed"}}),
                                    operand_labels()));
}

TEST(Operands, AControllerIsInChargeWhereItSaysSoOrIsAtWork) {
  fleet::Keys keys("lockstep.dev");
  Node node = node_with({});
  EXPECT_FALSE(is_controller_in_charge(node, keys));
  node.meta.annotations.set(Text(controller_annotation), "false");
  EXPECT_FALSE(is_controller_in_charge(node, keys));
  node.meta.annotations.set(Text(controller_annotation), "true");
  EXPECT_TRUE(is_controller_in_charge(node, keys));
  EXPECT_TRUE(is_controller_in_charge(node_with({{Text(controller_annotation), "true"}}), keys));
  EXPECT_TRUE(is_controller_in_charge(node_with({{keys.state, "pod-restart-required"}}), keys));
  EXPECT_FALSE(is_controller_in_charge(node_with({{keys.state, "upgrade-done"}}), keys));
  EXPECT_FALSE(
      is_controller_in_charge(node_with({{fleet::Keys().state, "pod-restart-required"}}), keys));
}

}  // namespace
}  // namespace lockstep::node::operands_test
