#include "node/operands.h"

#include <algorithm>

#include "fleet/node_view.h"

namespace lockstep::node {

namespace {

constexpr std::string_view prefix = "nvidia.com/gpu.deploy.";

// Everything that opens the driver. Left out on purpose: the driver itself, the managers that
// replace it (vgpu-manager, vfio-manager), and what never opens it (node-status-exporter).
constexpr std::string_view operands[] = {"operator-validator",
                                         "container-toolkit",
                                         "device-plugin",
                                         "gpu-feature-discovery",
                                         "dcgm-exporter",
                                         "dcgm",
                                         "mig-manager",
                                         "nvsm",
                                         "sandbox-validator",
                                         "sandbox-device-plugin",
                                         "vgpu-device-manager",
                                         "dra-validator",
                                         "client"};
constexpr std::string_view plugin = "dra-driver";

NodePatch patch_of(const Node& node) {
  NodePatch patch;
  patch.resource_version = node.meta.resource_version.str();
  return patch;
}

bool is_empty(const NodePatch& patch) {
  return patch.labels.empty() && patch.annotations.empty() && !patch.unschedulable;
}

NodePatch restoring_patch(const Node& node, const OperandLabels& labels) {
  NodePatch patch = patch_of(node);
  for (const auto* group : {&labels.first, &labels.last}) {
    for (const auto& label : *group) {
      if (node.meta.labels.get(label) == paused_value) patch.labels.emplace_back(label, "true");
    }
  }
  if (node.meta.annotations.contains(manager_cordon_annotation)) {
    patch.annotations.emplace_back(manager_cordon_annotation, std::nullopt);
    if (node.unschedulable) patch.unschedulable = false;
  }
  return patch;
}

}  // namespace

OperandLabels operand_labels(const std::string& plugin_label) {
  OperandLabels labels;
  for (std::string_view operand : operands) {
    labels.first.push_back(std::string(prefix) + std::string(operand));
  }
  labels.last.push_back(std::string(prefix) + std::string(plugin));
  if (plugin_label.empty()) return labels;
  // An operand's own label, named once more, is stopped with the plugin.
  std::erase(labels.first, plugin_label);
  if (plugin_label != labels.last.front()) labels.last.push_back(plugin_label);
  return labels;
}

std::optional<NodePatch> pause_operands(const Node& node, const std::vector<std::string>& labels) {
  NodePatch patch = patch_of(node);
  for (const auto& label : labels) {
    if (node.meta.labels.get(label) == "true") {
      patch.labels.emplace_back(label, std::string(paused_value));
    }
  }
  if (is_empty(patch)) return std::nullopt;
  return patch;
}

std::optional<NodePatch> cordon_node(const Node& node) {
  if (node.unschedulable) return std::nullopt;
  NodePatch patch = patch_of(node);
  patch.unschedulable = true;
  patch.annotations.emplace_back(manager_cordon_annotation, std::string(fleet::our_cordon));
  return patch;
}

std::optional<NodePatch> restore_node(const Node& node, const OperandLabels& labels) {
  NodePatch patch = restoring_patch(node, labels);
  if (is_empty(patch)) return std::nullopt;
  return patch;
}

std::optional<NodePatch> leave_to_host_driver(const Node& node, const OperandLabels& labels) {
  NodePatch patch = restoring_patch(node, labels);
  if (node.meta.labels.get(driver_label) != pre_installed_value) {
    patch.labels.emplace_back(driver_label, std::string(pre_installed_value));
  }
  if (is_empty(patch)) return std::nullopt;
  return patch;
}

bool is_controller_in_charge(const Node& node, const fleet::Keys& keys) {
  return node.meta.annotations.get(controller_annotation) == "true" ||
         node.meta.labels.get(controller_annotation) == "true" ||
         fleet::is_active(fleet::state_of(node, keys));
}

}  // namespace lockstep::node
