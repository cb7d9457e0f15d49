// JSON as a real cluster with GPUs publishes it, made to measure: nodes with what kubelet, Node
// Feature Discovery and the GPU Operator write on them, and the pods that run there. The same
// number always gives the same text.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace lockstep::bench {

struct NodeShape {
  int images = 30;             // status.images; the kubelet's limit is 50
  bool managed_fields = true;  // the owner of each field
};

// One node with 8 GPUs and about 100 labels.
std::string node_json(size_t number, const NodeShape& shape = {});
std::string node_name(size_t number);

// One pod; every node has each of the DaemonSets' pods and some jobs. Pod `number` runs on node
// number / pods_per_node.
inline constexpr size_t pods_per_node = 10;
std::string pod_json(size_t number);
// The number of the pod at `position` when all pods of so many nodes are listed by namespace and
// name, as an API server lists them.
size_t pod_in_list_order(size_t position, size_t nodes);

// {"kind":"<kind>List", …, "items":[item(0), …, item(count - 1)]}
std::string list_json(std::string_view kind, std::string_view api_version, size_t count,
                      const std::function<std::string(size_t)>& item);

}  // namespace lockstep::bench
