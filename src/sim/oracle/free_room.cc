#include "sim/oracle/free_room.h"

#include <algorithm>

#include "objects/decode.h"
#include "sim/actors/dra.h"
#include "sim/actors/object_facts.h"
#include "sim/actors/view.h"

namespace lockstep::sim {

namespace {

const JsonArray& list_at(const Json* list) {
  static const JsonArray none;
  return list != nullptr && list->is_array() ? list->get_array() : none;
}

int64_t devices_wanted(const Json& claim) {
  int64_t wanted = 0;
  for (const Json& request : list_at(find(claim, "spec", "devices", "requests"))) {
    wanted += as_integer(find(request, "exactly", "count"), 1);
  }
  return wanted;
}

}  // namespace

FreeRoom::FreeRoom(Cluster& cluster) {
  DecodeContext context;
  for (const Document& document : cluster.list(resource::nodes)) {
    auto node = decode_object<Node>(*document, context);
    if (!node || node->unschedulable || !node->ready() || node->meta.is_deleting()) continue;
    nodes_[node->meta.name.str()] = {node->meta.labels, node->taints,
                                     amount_of(node->allocatable, "nvidia.com/gpu"), 0};
  }
  count_pods(cluster);
  count_devices(cluster);
}

void FreeRoom::count_pods(Cluster& cluster) {
  for (const Document& pod : cluster.list(resource::pods)) {
    auto node = nodes_.find(std::string(text_at(*pod, "spec", "nodeName")));
    if (node != nodes_.end() && !has_ended(*pod)) node->second.gpus -= gpus_of(pod->at("spec"));
  }
}

void FreeRoom::count_devices(Cluster& cluster) {
  for (const Document& slice : cluster.list(resource::resource_slices)) {
    auto node = nodes_.find(std::string(text_at(*slice, "spec", "nodeName")));
    if (node == nodes_.end() || text_at(*slice, "spec", "driver") != dra_driver_name) continue;
    node->second.devices += static_cast<int64_t>(list_at(find(*slice, "spec", "devices")).size());
  }
  for (const Document& claim : cluster.list(resource::resource_claims)) {
    const Json* allocation = find(*claim, "status", "allocation");
    if (allocation == nullptr || !allocation->is_object()) {
      open_claims_[{std::string(text_at(*claim, "metadata", "namespace")),
                    std::string(text_at(*claim, "metadata", "name"))}] = devices_wanted(*claim);
      continue;
    }
    for (const Json& result : list_at(find(*allocation, "devices", "results"))) {
      // The pool of a node's devices has the node's name.
      auto node = nodes_.find(std::string(text_at(result, "pool")));
      if (node != nodes_.end()) --node->second.devices;
    }
  }
}

bool FreeRoom::has_place_for(const Json& pod) const {
  const Json& spec = pod.at("spec");
  const std::vector<std::string> claims = claims_named_by(pod);
  if (claims.size() < claims_wanted_by(spec)) return true;
  int64_t devices = 0;
  for (const std::string& name : claims) {
    auto open = open_claims_.find({std::string(text_at(pod, "metadata", "namespace")), name});
    if (open == open_claims_.end()) return true;
    devices += open->second;
  }
  const int64_t gpus = gpus_of(spec);
  return std::any_of(nodes_.begin(), nodes_.end(), [&](const auto& entry) {
    const Free& node = entry.second;
    return gpus <= node.gpus && devices <= node.devices &&
           matches_node_selector(node.labels, find(spec, "nodeSelector")) &&
           std::all_of(node.taints.begin(), node.taints.end(),
                       [&](const Taint& taint) { return tolerates(spec, taint); });
  });
}

}  // namespace lockstep::sim
