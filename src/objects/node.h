// A node, as far as upgrades need it.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "objects/kind.h"
#include "objects/meta.h"
#include "objects/quantity.h"

namespace lockstep {

struct Taint {
  Text key;
  Text value;
  Text effect;  // "NoSchedule", "PreferNoSchedule", "NoExecute"
  Time added;

  bool operator==(const Taint&) const = default;
};

template <typename Reader>
void decode(Reader& in, Taint& taint, DecodeContext& context);

struct NodeAddress {
  Text type;  // "InternalIP", "Hostname", …
  Text address;

  bool operator==(const NodeAddress&) const = default;
};

// status.nodeInfo: changes with a reboot or an upgrade of the machine, not with ours.
struct NodeInfo {
  Text architecture;
  Text boot_id;
  Text container_runtime;
  Text kernel_version;
  Text kubelet_version;
  Text operating_system;
  Text os_image;

  bool operator==(const NodeInfo&) const = default;
};

struct Node {
  ObjectMeta meta;
  bool unschedulable = false;
  std::vector<Taint> taints;
  std::vector<Condition> conditions;
  std::vector<NodeAddress> addresses;
  NodeInfo info;
  // Extended resources only (nvidia.com/gpu, rdma/hca, …).
  ResourceAmounts capacity;
  ResourceAmounts allocatable;

  // The condition Ready is True.
  bool ready() const;
  bool operator==(const Node&) const = default;
};

template <>
struct Kind<Node> {
  static const ResourceType& type() { return resource::nodes; }
};
template <typename Reader>
void decode(Reader& in, Node& node, DecodeContext& context);

}  // namespace lockstep
