#include "sim/actors/scheduler.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "objects/decode.h"
#include "objects/node.h"
#include "sim/actors/dra.h"
#include "sim/actors/object_facts.h"

namespace lockstep::sim {

namespace {

std::string device_key(std::string_view pool, std::string_view device) {
  return fmt::format("{}/{}", pool, device);
}

std::vector<std::string> devices_of(const GenericObject& claim) {
  std::vector<std::string> devices;
  const Json* results = find(*claim.document, "status", "allocation", "devices", "results");
  if (results == nullptr || !results->is_array()) return devices;
  for (const Json& result : results->get_array())
    devices.push_back(device_key(text_at(result, "pool"), text_at(result, "device")));
  return devices;
}

// The nodes of "pool/device".
std::set<std::string> pools_of(const std::vector<std::string>& devices) {
  std::set<std::string> pools;
  for (const std::string& device : devices) pools.insert(device.substr(0, device.find('/')));
  return pools;
}

bool is_allocated(const GenericObject& claim) {
  const Json* allocation = find(*claim.document, "status", "allocation");
  return allocation != nullptr && allocation->is_object();
}

bool is_same_part(const GenericObject& a, const GenericObject& b, std::string_view part) {
  const Json* one = find(*a.document, part);
  const Json* other = find(*b.document, part);
  if (one == nullptr || other == nullptr) return one == other;
  return json_equal(*one, *other);
}

Json consumer_of(const GenericObject& pod) {
  return JsonObject{
      {"resource", "pods"}, {"name", pod.meta.name.view()}, {"uid", pod.meta.uid.view()}};
}

}  // namespace

Scheduler::Scheduler(Parts parts, View& view, Duration reaction)
    : parts_(parts), view_(view), reaction_(reaction), writer_(parts) {
  using Change = ObjectCache::Change;
  view_.pods().on_change(scope_.bind([this](const Change& change) { on_pod(change); }));
  view_.nodes().on_change(scope_.bind([this](const Change& change) { on_node(change); }));
  view_.of(resource::resource_claims).on_change(scope_.bind([this](const Change& change) {
    on_claim(change);
  }));
  view_.of(resource::resource_slices).on_change(scope_.bind([this](const Change& change) {
    on_slice(change);
  }));
}

void Scheduler::on_pod(const ObjectCache::Change& change) {
  const GenericObject& pod = change.object();
  std::string uid = pod.meta.uid.str();
  bool gone = !change.after || is_finished(pod);
  std::string_view node = node_of(pod);
  bool waits = !gone && node.empty() && !pod.meta.is_deleting();
  if (waits) {
    if (pending_.insert(pod.meta.key()).second || has_claims(pod.document->at("spec"))) look_soon();
    return;
  }
  pending_.erase(pod.meta.key());
  told_.erase(uid);
  if (gone) {
    if (holdings_.contains(uid)) look_soon();
    release(uid);
  } else if (!node.empty()) {
    auto held = holdings_.find(uid);
    if (held == holdings_.end() || held->second.node != node)
      hold(uid, {std::string(node), gpus_of(pod.document->at("spec"))});
  }
}

void Scheduler::on_node(const ObjectCache::Change& change) {
  std::string name = change.object().meta.name.str();
  if (!change.after) {
    nodes_.erase(name);
    return count_free(name);
  }
  // Most writes of a node are labels and annotations: nothing of that makes it usable or not.
  if (NodeFacts* known = change.before ? nodes_.find(name) : nullptr;
      known != nullptr && is_same_part(*change.before, *change.after, "spec") &&
      is_same_part(*change.before, *change.after, "status") &&
      change.before->meta.is_deleting() == change.after->meta.is_deleting()) {
    known->labels = change.after->meta.labels;
    return look_soon();
  }
  auto node = decode_object<Node>(*change.after->document, context_);
  if (!node) return;
  NodeFacts facts;
  facts.usable = !node->unschedulable && node->ready() && !node->meta.is_deleting();
  facts.gpus = amount_of(node->allocatable, "nvidia.com/gpu");
  facts.labels = change.after->meta.labels;
  facts.taints = std::move(node->taints);
  nodes_[name] = std::move(facts);
  count_free(name);
  look_soon();
}

void Scheduler::on_claim(const ObjectCache::Change& change) {
  std::string uid = change.object().meta.uid.str();
  std::vector<std::string> devices =
      change.after ? devices_of(*change.after) : std::vector<std::string>();
  if (auto at = claimed_.find(uid); at != claimed_.end()) {
    if (at->second == devices) return;
    // A claim that we have given devices, as it was before that.
    bool ours = change.after && devices.empty() && !(change.before && is_allocated(*change.before));
    if (ours) return;
    release_devices(uid);
  }
  if (!devices.empty()) use_devices(uid, std::move(devices));
  look_soon();
}

void Scheduler::on_slice(const ObjectCache::Change& change) {
  const Json& spec = change.object().document->at("spec");
  if (text_at(spec, "driver") != dra_driver_name) return;
  std::string node(text_at(spec, "nodeName"));
  devices_.erase(node);
  if (!change.after) return count_free(node);
  std::vector<std::string>& devices = devices_[node];
  if (const Json* list = find(spec, "devices"); list != nullptr && list->is_array()) {
    for (const Json& device : list->get_array()) devices.emplace_back(text_at(device, "name"));
  }
  count_free(node);
  look_soon();
}

void Scheduler::hold(const std::string& uid, Holding holding) {
  release(uid);
  used_[holding.node] += holding.gpus;
  count_free(holding.node);
  holdings_[uid] = std::move(holding);
}

void Scheduler::release(const std::string& uid) {
  auto at = holdings_.find(uid);
  if (at == holdings_.end()) return;
  used_[at->second.node] -= at->second.gpus;
  count_free(at->second.node);
  holdings_.erase(at);
}

void Scheduler::use_devices(const std::string& claim_uid, std::vector<std::string> devices) {
  for (const std::string& device : devices) ++used_devices_[device];
  for (const std::string& node : pools_of(devices)) count_free(node);
  claimed_[claim_uid] = std::move(devices);
}

void Scheduler::release_devices(const std::string& claim_uid) {
  auto at = claimed_.find(claim_uid);
  if (at == claimed_.end()) return;
  for (const std::string& device : at->second) {
    if (--used_devices_[device] == 0) used_devices_.erase(device);
  }
  for (const std::string& node : pools_of(at->second)) count_free(node);
  claimed_.erase(at);
}

std::optional<int64_t> Scheduler::free_gpus(const std::string& node) const {
  const NodeFacts* facts = nodes_.find(node);
  if (facts == nullptr || !facts->usable) return std::nullopt;
  auto used = used_.find(node);
  return facts->gpus - (used == used_.end() ? 0 : used->second);
}

std::optional<int64_t> Scheduler::free_devices(const std::string& node) const {
  const NodeFacts* facts = nodes_.find(node);
  auto devices = devices_.find(node);
  if (facts == nullptr || !facts->usable || devices == devices_.end()) return std::nullopt;
  return std::count_if(
      devices->second.begin(), devices->second.end(),
      [&](const std::string& device) { return !used_devices_.contains(device_key(node, device)); });
}

void Scheduler::count_free(const std::string& node) {
  by_free_gpus_.count(node, free_gpus(node));
  by_free_devices_.count(node, free_devices(node));
}

void Scheduler::ByFree::count(const std::string& node, std::optional<int64_t> free) {
  auto at = counted.find(node);
  if (at != counted.end()) {
    if (free && *free == at->second) return;
    nodes.erase({-at->second, node});
    if (!free) counted.erase(at);
  }
  if (!free) return;
  counted[node] = *free;
  nodes.emplace(-*free, node);
}

void Scheduler::look_soon() {
  if (scheduled_ || pending_.empty()) return;
  scheduled_ = true;
  parts_.loop.after(reaction_, scope_.bind([this] {
    scheduled_ = false;
    pass();
  }));
}

void Scheduler::pass() {
  if (!view_.synced()) return look_soon();
  // In the order of their age, as a queue would be.
  std::vector<Object> pods;
  for (const ObjectKey& key : pending_) {
    Object pod = view_.pods().find(key);
    if (pod && !binding_.contains(pod->meta.uid.str())) pods.push_back(std::move(pod));
  }
  std::stable_sort(pods.begin(), pods.end(), [](const Object& a, const Object& b) {
    return a->meta.created < b->meta.created;
  });
  // Pods of one owner are alike: what does not fit once does not fit again in this pass.
  std::set<std::string> hopeless;
  for (const Object& pod : pods) {
    const OwnerReference* owner = pod->meta.controller();
    std::string family = owner == nullptr ? pod->meta.uid.str() : owner->uid.str();
    if (hopeless.contains(family)) {
      mark_unschedulable(*pod);
      continue;
    }
    if (auto placement = place(*pod)) {
      bind(*pod, std::move(*placement));
    } else {
      hopeless.insert(family);
      mark_unschedulable(*pod);
    }
  }
}

bool Scheduler::fits(const GenericObject& pod, const std::string& name,
                     const NodeFacts& node) const {
  if (!node.usable) return false;
  const Json& spec = pod.document->at("spec");
  auto used = used_.find(name);
  if (gpus_of(spec) > node.gpus - (used == used_.end() ? 0 : used->second)) return false;
  if (!matches_node_selector(node.labels, find(spec, "nodeSelector"))) return false;
  return std::all_of(node.taints.begin(), node.taints.end(),
                     [&](const Taint& taint) { return tolerates(spec, taint); });
}

std::optional<Scheduler::Placement> Scheduler::place(const GenericObject& pod) {
  const Json& spec = pod.document->at("spec");
  Placement placement;
  std::vector<ObjectKey> open;
  std::string bound_to;
  if (has_claims(spec)) {
    std::vector<std::string> names = claims_named_by(*pod.document);
    if (names.size() < claims_wanted_by(spec)) return std::nullopt;
    for (const std::string& name : names) {
      Object claim = view_.of(resource::resource_claims).find({pod.meta.ns, name});
      if (!claim) return std::nullopt;
      if (!is_allocated(*claim)) {
        open.push_back(claim->meta.key());
        continue;
      }
      // It has devices somewhere already: the pod goes there.
      std::vector<std::string> devices = devices_of(*claim);
      if (!devices.empty()) bound_to = devices.front().substr(0, devices.front().find('/'));
      placement.reserved.push_back(claim->meta.key());
    }
  }
  const std::string* best = find_node(pod, open, bound_to);
  if (best == nullptr) return std::nullopt;
  placement.node = *best;
  if (!open.empty()) placement.allocations = *allocate(pod, open, *best);
  return placement;
}

const std::string* Scheduler::find_node(const GenericObject& pod,
                                        const std::vector<ObjectKey>& claims,
                                        const std::string& bound_to) const {
  const ByFree& ordered = claims.empty() ? by_free_gpus_ : by_free_devices_;
  auto suits = [&](const std::string& name, const NodeFacts& node) {
    return fits(pod, name, node) && (claims.empty() || allocate(pod, claims, name));
  };
  int64_t least = claims.empty() ? gpus_of(pod.document->at("spec")) : devices_wanted(claims);
  if (!bound_to.empty()) {
    auto counted = ordered.counted.find(bound_to);
    if (counted == ordered.counted.end() || counted->second < 0) return nullptr;
    return suits(bound_to, nodes_.at(bound_to)) ? &counted->first : nullptr;
  }
  for (const auto& [negative, name] : ordered.nodes) {
    if (-negative < std::max<int64_t>(least, 0)) break;
    if (suits(name, nodes_.at(name))) return &name;
  }
  return nullptr;
}

int64_t Scheduler::devices_wanted(const std::vector<ObjectKey>& claims) const {
  int64_t wanted = 0;
  for (const ObjectKey& key : claims) {
    Object claim = view_.of(resource::resource_claims).find(key);
    const Json* requests = claim ? find(*claim->document, "spec", "devices", "requests") : nullptr;
    if (requests == nullptr || !requests->is_array()) continue;
    for (const Json& request : requests->get_array()) {
      wanted += std::max<int64_t>(as_integer(find(request, "exactly", "count"), 1), 0);
    }
  }
  return wanted;
}

std::optional<std::vector<Scheduler::Allocation>> Scheduler::allocate(
    const GenericObject& pod, const std::vector<ObjectKey>& claims, const std::string& node) const {
  (void)pod;
  auto devices = devices_.find(node);
  if (devices == devices_.end()) return std::nullopt;
  auto next = devices->second.begin();
  std::vector<Allocation> allocations;
  for (const ObjectKey& key : claims) {
    Object claim = view_.of(resource::resource_claims).find(key);
    if (!claim) return std::nullopt;
    Allocation& allocation = allocations.emplace_back();
    allocation.claim = key;
    const Json* requests = find(*claim->document, "spec", "devices", "requests");
    if (requests == nullptr || !requests->is_array()) continue;
    for (const Json& request : requests->get_array()) {
      int64_t count = as_integer(find(request, "exactly", "count"), 1);
      for (int64_t i = 0; i < count; ++i) {
        while (next != devices->second.end() && used_devices_.contains(device_key(node, *next)))
          ++next;
        if (next == devices->second.end()) return std::nullopt;
        allocation.results.push_back(JsonObject{{"request", text_at(request, "name")},
                                                {"driver", dra_driver_name},
                                                {"pool", node},
                                                {"device", *next}});
        allocation.devices.push_back(device_key(node, *next));
        ++next;
      }
    }
  }
  return allocations;
}

void Scheduler::bind(const GenericObject& pod, Placement placement) {
  std::string uid = pod.meta.uid.str();
  binding_.insert(uid);
  hold(uid, {placement.node, gpus_of(pod.document->at("spec"))});
  for (const Allocation& allocation : placement.allocations) {
    Object claim = view_.of(resource::resource_claims).find(allocation.claim);
    if (!claim) continue;
    use_devices(claim->meta.uid.str(), allocation.devices);
    assumed_[uid].push_back(allocation.claim);
  }
  reserve_next(pod, std::move(placement));
}

// The claims one after the other, the pod last: nothing runs before its devices are its own.
void Scheduler::reserve_next(const GenericObject& pod, Placement placement) {
  std::string uid = pod.meta.uid.str();
  kube::Request request;
  auto then = [this, pod, uid](Placement rest) {
    return scope_.bind([this, pod, uid, rest = std::move(rest)](const Result<Document>& written) {
      if (!written) return give_up(uid);
      reserve_next(pod, rest);
    });
  };
  if (!placement.allocations.empty()) {
    Allocation allocation = std::move(placement.allocations.back());
    placement.allocations.pop_back();
    JsonObject match{
        {"key", "metadata.name"}, {"operator", "In"}, {"values", JsonArray{Json(placement.node)}}};
    JsonObject selector{
        {"nodeSelectorTerms", JsonArray{JsonObject{{"matchFields", JsonArray{std::move(match)}}}}}};
    JsonObject status{
        {"allocation", JsonObject{{"devices", JsonObject{{"results", allocation.results}}},
                                  {"nodeSelector", std::move(selector)}}},
        {"reservedFor", JsonArray{consumer_of(pod)}}};
    request = status_patch(resource::resource_claims, allocation.claim, std::move(status));
    return writer_.send(std::move(request), then(std::move(placement)));
  }
  if (!placement.reserved.empty()) {
    ObjectKey key = placement.reserved.back();
    placement.reserved.pop_back();
    Object claim = view_.of(resource::resource_claims).find(key);
    JsonArray consumers;
    const Json* held = claim ? find(*claim->document, "status", "reservedFor") : nullptr;
    if (held != nullptr && held->is_array()) consumers = held->get_array();
    bool listed = std::any_of(consumers.begin(), consumers.end(), [&](const Json& consumer) {
      return text_at(consumer, "uid") == uid;
    });
    if (!listed) consumers.push_back(consumer_of(pod));
    request = status_patch(resource::resource_claims, key,
                           JsonObject{{"reservedFor", std::move(consumers)}});
    return writer_.send(std::move(request), then(std::move(placement)));
  }
  JsonObject target{{"apiVersion", "v1"}, {"kind", "Node"}, {"name", placement.node}};
  JsonObject binding{{"apiVersion", "v1"},
                     {"kind", "Binding"},
                     {"metadata", JsonObject{{"name", pod.meta.name.view()}, {"uid", uid}}},
                     {"target", std::move(target)}};
  request = kube::create(resource::pods, pod.meta.ns.str(), std::move(binding));
  request.name = pod.meta.name.str();
  request.subresource = "binding";
  // A conflict means that it is bound: by us, and the answer was lost.
  writer_.send(std::move(request), scope_.bind([this, uid](const Result<Document>& bound) {
    if (bound) {
      binding_.erase(uid);
    } else {
      give_up(uid);
    }
  }),
               4);
}

void Scheduler::give_up(const std::string& uid) {
  binding_.erase(uid);
  release(uid);
  for (const ObjectKey& key : assumed_[uid]) {
    Object claim = view_.of(resource::resource_claims).find(key);
    if (claim && !is_allocated(*claim)) release_devices(claim->meta.uid.str());
  }
  assumed_.erase(uid);
  look_soon();
}

void Scheduler::mark_unschedulable(const GenericObject& pod) {
  if (!told_.insert(pod.meta.uid.str()).second) return;
  JsonObject condition{
      {"type", "PodScheduled"},
      {"status", "False"},
      {"reason", "Unschedulable"},
      {"message", fmt::format("0/{} nodes are available: insufficient nvidia.com/gpu, or no node "
                              "that is schedulable and ready.",
                              nodes_.size())},
      {"lastTransitionTime", format_rfc3339(parts_.loop.now())}};
  kube::Request request =
      kube::patch(resource::pods, pod.meta.key(), kube::PatchType::strategic,
                  JsonObject{{"status", JsonObject{{"conditions", JsonArray{condition}}}}});
  request.subresource = "status";
  writer_.send(std::move(request));
}

}  // namespace lockstep::sim
