// What the driver-manager writes on its node: the labels that pause and resume the operands of the
// GPU operator, and the cordon with a note of its owner. Each is one patch. The node alone shows
// what it changed, so that the next process can revert it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fleet/keys.h"
#include "objects/node.h"
#include "upgrade/decision.h"

namespace lockstep::node {

using upgrade::NodePatch;

inline constexpr std::string_view driver_label = "nvidia.com/gpu.deploy.driver";
inline constexpr std::string_view pre_installed_value = "pre-installed";
inline constexpr std::string_view paused_value = "paused-for-driver-upgrade";
// On the node while it is cordoned by us.
inline constexpr std::string_view manager_cordon_annotation = "lockstep.dev/driver-manager-cordon";
// NVIDIA's controller, or ours, upgrades the drivers of this node.
inline constexpr std::string_view controller_annotation = "nvidia.com/gpu-driver-upgrade-enabled";

struct OperandLabels {
  std::vector<std::string> first;
  // The DRA plugin's: it has to be there until the last claim is given back.
  std::vector<std::string> last;
};
// `plugin_label`: one more of the second kind, of a cluster's own choice; empty: none.
OperandLabels operand_labels(const std::string& plugin_label = {});

// From true to paused. Nothing: all are already, or are not deployed here.
std::optional<NodePatch> pause_operands(const Node& node, const std::vector<std::string>& labels);
// Nothing: it is cordoned already.
std::optional<NodePatch> cordon_node(const Node& node);
// Reverts it: all paused labels become true; the cordon goes if it is ours. Nothing: the node is as
// it was.
std::optional<NodePatch> restore_node(const Node& node, const OperandLabels& labels);
// The same, and no driver container from now on: the machine has a driver of its own.
std::optional<NodePatch> leave_to_host_driver(const Node& node, const OperandLabels& labels);

// Others move the pods and cordon the node: a controller says so, or the node is in the middle of
// an upgrade.
bool is_controller_in_charge(const Node& node, const fleet::Keys& keys);

}  // namespace lockstep::node
