#include "sim/actors/node_agent.h"

#include <utility>

#include "objects/lease.h"

namespace lockstep::sim {

namespace {

constexpr std::string_view lease_namespace = "kube-node-lease";
constexpr int lease_seconds = 40;

std::string address_in(const Json& node) {
  const Json* addresses = find(node, "status", "addresses");
  if (addresses == nullptr || !addresses->is_array()) return {};
  for (const Json& address : addresses->get_array()) {
    if (text_at(address, "type") == "InternalIP") return std::string(text_at(address, "address"));
  }
  return {};
}

}  // namespace

bool is_shown_ready(const Json& object) {
  const Json* conditions = find(object, "status", "conditions");
  if (conditions == nullptr || !conditions->is_array()) return false;
  for (const Json& condition : conditions->get_array()) {
    if (text_at(condition, "type") == "Ready") return text_at(condition, "status") == "True";
  }
  return false;
}

NodeAgent::NodeAgent(Parts parts, Writer& writer, Duration lease_interval)
    : parts_(parts), writer_(writer), lease_interval_(lease_interval) {}

void NodeAgent::add(Json node) {
  std::string name(text_at(node, "metadata", "name"));
  std::string address = address_in(node);
  nodes_[name] =
      Entry{std::make_shared<const Json>(std::move(node)), true, std::move(address), true};
}

void NodeAgent::start() {
  for (const auto& [name, entry] : nodes_) {
    register_node(name);
    if (lease_interval_ <= Duration(0)) continue;
    // Spread over the interval: a thousand kubelets do not renew in one instant.
    Range spread{Duration(0), lease_interval_};
    renew_later(name, spread.draw(parts_.random));
  }
}

void NodeAgent::register_node(const std::string& name) {
  kube::Request request = kube::create(resource::nodes, "", nullptr);
  request.body = nodes_.at(name).object;
  writer_.send(std::move(request), scope_.bind([this, name](Result<Document> created) {
    if (created) return;
    if (created.error().kind == ErrorKind::exists) {
      Json status = nodes_.at(name).object->at("status");
      writer_.send(status_patch(resource::nodes, {"", name}, std::move(status)));
    } else {
      parts_.log.warning("cannot register a node",
                         {{"node", name}, {"error", created.error().text()}});
    }
  }));
}

void NodeAgent::register_again(const std::string& node) {
  nodes_.at(node).ready = true;
  register_node(node);
}

void NodeAgent::set_ready(const std::string& node, bool ready) {
  Entry* entry = nodes_.find(node);
  if (entry == nullptr || entry->ready == ready) return;
  entry->ready = ready;
  write_ready(node);
}

void NodeAgent::see(const Json& node) {
  Entry* entry = nodes_.find(text_at(node, "metadata", "name"));
  if (entry != nullptr) entry->shown_ready = is_shown_ready(node);
}

// What the node controller writes when a kubelet is silent, and the kubelet when it is back.
void NodeAgent::write_ready(const std::string& name) {
  bool ready = nodes_.at(name).ready;
  std::string now = format_rfc3339(parts_.loop.now());
  JsonObject condition{{"type", "Ready"},
                       {"status", ready ? "True" : "Unknown"},
                       {"reason", ready ? "KubeletReady" : "NodeStatusUnknown"},
                       {"message", ready ? "kubelet is posting ready status"
                                         : "Kubelet stopped posting node status."},
                       {"lastHeartbeatTime", now},
                       {"lastTransitionTime", now}};
  // Strategic: conditions are merged by type, and the others stay.
  kube::Request request =
      kube::patch(resource::nodes, {"", name}, kube::PatchType::strategic,
                  JsonObject{{"status", JsonObject{{"conditions", JsonArray{condition}}}}});
  request.subresource = "status";
  writer_.send(std::move(request), scope_.bind([this, name, ready](const Result<Document>&) {
    // A write that was tried again may have come after a later one.
    if (nodes_.at(name).ready != ready) write_ready(name);
  }));
}

void NodeAgent::set_label(const std::string& node, std::string_view key, std::string_view value) {
  writer_.send(
      merge_patch(resource::nodes, {"", node},
                  JsonObject{{"metadata", JsonObject{{"labels", JsonObject{{key, value}}}}}}));
}

std::string_view NodeAgent::address(const std::string& node) const {
  const Entry* entry = nodes_.find(node);
  return entry == nullptr ? std::string_view() : std::string_view(entry->address);
}

void NodeAgent::renew_later(const std::string& name, Duration delay) {
  parts_.loop.after(delay, scope_.bind([this, name] {
    renew(name);
    renew_later(name, lease_interval_);
  }));
}

void NodeAgent::renew(const std::string& name) {
  if (!nodes_.at(name).ready) return;
  if (!nodes_.at(name).shown_ready) write_ready(name);
  ObjectKey key{std::string(lease_namespace), name};
  std::string now = format_rfc3339_micro(parts_.loop.now());
  JsonObject spec{
      {"holderIdentity", name}, {"leaseDurationSeconds", lease_seconds}, {"renewTime", now}};
  writer_.send(merge_patch(resource::leases, key, JsonObject{{"spec", spec}}),
               scope_.bind([this, key, spec](Result<Document> renewed) {
                 if (renewed || renewed.error().kind != ErrorKind::not_found) return;
                 writer_.send(kube::create(
                     resource::leases, key.ns,
                     JsonObject{{"apiVersion", "coordination.k8s.io/v1"},
                                {"kind", "Lease"},
                                {"metadata", JsonObject{{"name", key.name}, {"namespace", key.ns}}},
                                {"spec", spec}}));
               }),
               2);
}

}  // namespace lockstep::sim
