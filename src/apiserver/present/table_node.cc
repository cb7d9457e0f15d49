// Nodes and what is kept per node.
#include <set>

#include <fmt/format.h>

#include "apiserver/present/table_printers.h"
#include "base/strings.h"

namespace lockstep::apiserver {

namespace {

std::string node_status(const Json& node) {
  const Json* ready = condition_of(node, "Ready");
  std::string status = "Unknown";
  if (ready != nullptr) status = text_at(*ready, "status") == "True" ? "Ready" : "NotReady";
  if (as_bool(find(node, "spec", "unschedulable"))) status += ",SchedulingDisabled";
  return status;
}

std::string node_roles(const Json& node) {
  constexpr std::string_view prefix = "node-role.kubernetes.io/";
  std::set<std::string> roles;
  const Json* labels = find(node, "metadata", "labels");
  if (labels != nullptr && labels->is_object()) {
    for (const auto& [label, value] : labels->get_object()) {
      const std::string_view key = label;
      const std::string_view role = key == "kubernetes.io/role" ? as_text(&value)
                                    : key.starts_with(prefix)   ? key.substr(prefix.size())
                                                                : std::string_view();
      if (!role.empty()) roles.emplace(role);
    }
  }
  return roles.empty() ? "<none>" : join({roles.begin(), roles.end()}, ",");
}

std::string_view node_address(const Json& node, std::string_view type) {
  for (const Json& address : elements(find(node, "status", "addresses"))) {
    if (text_at(address, "type") == type) return text_at(address, "address");
  }
  return "<none>";
}

void node_cells(const Json& node, Time now, JsonArray& cells) {
  const auto info = [&](std::string_view field) {
    return text_at(node, "status", "nodeInfo", field);
  };
  cells.push_back(name_cell(node));
  cells.push_back(text_cell(node_status(node)));
  cells.push_back(text_cell(node_roles(node)));
  cells.push_back(age_cell(node, now));
  cells.push_back(text_cell(info("kubeletVersion")));
  cells.push_back(text_cell(node_address(node, "InternalIP")));
  cells.push_back(text_cell(node_address(node, "ExternalIP")));
  cells.push_back(text_or(info("osImage"), "<unknown>"));
  cells.push_back(text_or(info("kernelVersion"), "<unknown>"));
  cells.push_back(text_or(info("containerRuntimeVersion"), "<unknown>"));
}

void lease_cells(const Json& lease, Time now, JsonArray& cells) {
  cells.push_back(name_cell(lease));
  cells.push_back(text_cell(text_at(lease, "spec", "holderIdentity")));
  cells.push_back(age_cell(lease, now));
}

void runtime_class_cells(const Json& object, Time now, JsonArray& cells) {
  cells.push_back(name_cell(object));
  cells.push_back(text_cell(text_at(object, "handler")));
  cells.push_back(age_cell(object, now));
}

void name_and_age_cells(const Json& object, Time now, JsonArray& cells) {
  cells.push_back(name_cell(object));
  cells.push_back(age_cell(object, now));
}

std::string claim_state(const Json& claim) {
  const Json* allocation = find(claim, "status", "allocation");
  std::string state = is_deleting(claim) ? "deleted" : "";
  if (allocation == nullptr || allocation->is_null()) return state.empty() ? "pending" : state;
  state += state.empty() ? "allocated" : ",allocated";
  if (count_of(find(claim, "status", "reservedFor")) > 0) state += ",reserved";
  return state;
}

void resource_claim_cells(const Json& claim, Time now, JsonArray& cells) {
  cells.push_back(name_cell(claim));
  cells.push_back(text_cell(claim_state(claim)));
  cells.push_back(age_cell(claim, now));
}

void resource_slice_cells(const Json& slice, Time now, JsonArray& cells) {
  cells.push_back(name_cell(slice));
  cells.push_back(text_cell(text_at(slice, "spec", "nodeName")));
  cells.push_back(text_cell(text_at(slice, "spec", "driver")));
  cells.push_back(text_cell(text_at(slice, "spec", "pool", "name")));
  cells.push_back(age_cell(slice, now));
}

void device_taint_rule_cells(const Json& rule, Time now, JsonArray& cells) {
  const Json* added = find(rule, "spec", "taint", "timeAdded");
  cells.push_back(name_cell(rule));
  for (const char* field : {"key", "value", "effect"}) {
    cells.push_back(text_cell(text_at(rule, "spec", "taint", field)));
  }
  cells.push_back(text_cell(added == nullptr || added->is_null() ? "" : age_of(added, now)));
  cells.push_back(age_cell(rule, now));
}

}  // namespace

std::vector<Printer> node_printers() {
  return {
      {"",
       "Node",
       {name_column(),
        text_column("Status", "Whether the node is ready, and whether it takes new pods."),
        text_column("Roles", "The node's roles, from its labels."), age_column(),
        text_column("Version", "The version of the kubelet."),
        text_column("Internal-IP", "The address inside the cluster.", 1),
        text_column("External-IP", "The address outside the cluster.", 1),
        text_column("OS-Image", "The operating system, as it names itself.", 1),
        text_column("Kernel-Version", "The version of the kernel.", 1),
        text_column("Container-Runtime", "The container runtime and its version.", 1)},
       node_cells},
      {"coordination.k8s.io", "Lease",
       name_and_age({text_column("Holder", "Who holds the lease.")}), lease_cells},
      {"node.k8s.io", "RuntimeClass",
       name_and_age({text_column("Handler", "The handler of the container runtime.")}),
       runtime_class_cells},
      {"resource.k8s.io", "DeviceClass", name_and_age(), name_and_age_cells},
      {"resource.k8s.io", "ResourceClaim",
       name_and_age({text_column("State", "pending, allocated, reserved, deleted.")}),
       resource_claim_cells},
      {"resource.k8s.io", "ResourceClaimTemplate", name_and_age(), name_and_age_cells},
      {"resource.k8s.io", "ResourceSlice",
       name_and_age({text_column("Node", "The node that has the devices."),
                     text_column("Driver", "The driver that offers the devices."),
                     text_column("Pool", "The pool that the devices belong to.")}),
       resource_slice_cells},
      {"resource.k8s.io", "DeviceTaintRule",
       name_and_age({text_column("Key", "The taint's key."), text_column("Value", "Its value."),
                     text_column("Effect", "What it does to pods."),
                     text_column("TimeAdded", "How long ago it was added.")}),
       device_taint_rule_cells},
  };
}

}  // namespace lockstep::apiserver
