#include "sim/actors/view.h"

#include <algorithm>
#include <utility>

#include "sim/actors/driver_template.h"

namespace lockstep::sim {

namespace {

void index_owner(const GenericObject& object, std::vector<Text>& values) {
  if (const OwnerReference* owner = object.meta.controller()) values.push_back(owner->uid);
}

void index_node(const GenericObject& pod, std::vector<Text>& values) {
  values.emplace_back(node_of(pod));
}

}  // namespace

ObjectCache& View::of(const ResourceType& type) {
  auto& resource = resources_[type];
  if (resource == nullptr) {
    kube::ReflectorOptions options;
    options.type = type;
    std::vector<ObjectCache::Index> indexes{{"owner", index_owner}};
    if (type == resource::pods) indexes.push_back({"node", index_node});
    resource = std::make_unique<kube::CachedResource<GenericObject>>(
        parts_.api, parts_.loop, parts_.random, parts_.log, context_, std::move(options),
        std::move(indexes));
    if (started_) resource->reflector.start();
  }
  return resource->cache;
}

void View::start() {
  started_ = true;
  for (auto& [type, resource] : resources_) resource->reflector.start();
}

bool View::synced() const {
  for (const auto& [type, resource] : resources_) {
    if (!resource->cache.synced()) return false;
  }
  return started_;
}

std::string_view node_of(const GenericObject& pod) {
  return text_at(*pod.document, "spec", "nodeName");
}

PodPhase phase_of(const GenericObject& pod) {
  return pod_phase(text_at(*pod.document, "status", "phase"));
}

bool is_finished(const GenericObject& pod) {
  PodPhase phase = phase_of(pod);
  return phase == PodPhase::succeeded || phase == PodPhase::failed;
}

bool is_ready(const GenericObject& pod) {
  const Json* conditions = find(*pod.document, "status", "conditions");
  if (conditions == nullptr || !conditions->is_array()) return false;
  for (const Json& condition : conditions->get_array()) {
    if (text_at(condition, "type") == "Ready") return text_at(condition, "status") == "True";
  }
  return false;
}

int64_t gpus_of(const Json& pod_spec) {
  int64_t total = 0;
  const Json* containers = find(pod_spec, "containers");
  if (containers == nullptr || !containers->is_array()) return 0;
  for (const Json& container : containers->get_array()) {
    const Json* limits = find(container, "resources", "limits");
    if (limits == nullptr || !limits->is_object()) continue;
    for (const auto& [name, amount] : limits->get_object()) {
      std::string_view resource_name = name;
      if (!resource_name.starts_with("nvidia.com/gpu") &&
          !resource_name.starts_with("nvidia.com/mig-")) {
        continue;
      }
      if (amount.is_string()) {
        auto quantity = Quantity::parse(std::string_view(amount.get_string()));
        if (quantity) total += quantity->value();
      } else {
        total += as_integer(&amount);
      }
    }
  }
  return total;
}

bool asks_for_extended_gpu(const Json& pod_spec) {
  const Json* containers = find(pod_spec, "containers");
  if (containers == nullptr || !containers->is_array()) return false;
  const auto& all = containers->get_array();
  return std::any_of(all.begin(), all.end(), [](const Json& container) {
    return find(container, "resources", "limits", extended_gpu_resource) != nullptr;
  });
}

bool has_claims(const Json& pod_spec) {
  const Json* claims = find(pod_spec, "resourceClaims");
  bool has_some = claims != nullptr && claims->is_array() && !claims->get_array().empty();
  return has_some || asks_for_extended_gpu(pod_spec);
}

size_t claims_wanted_by(const Json& pod_spec) {
  const Json* claims = find(pod_spec, "resourceClaims");
  size_t wanted = claims != nullptr && claims->is_array() ? claims->get_array().size() : 0;
  return wanted + (asks_for_extended_gpu(pod_spec) ? 1 : 0);
}

bool matches_node_selector(const StringMap& labels, const Json* selector) {
  if (selector == nullptr || !selector->is_object()) return true;
  for (const auto& [key, value] : selector->get_object()) {
    const Text* label = labels.find(std::string_view(key));
    if (label == nullptr || *label != as_text(&value)) return false;
  }
  return true;
}

std::vector<std::string> claims_named_by(const Json& pod) {
  std::vector<std::string> names;
  auto add = [&](const Json* list) {
    if (list == nullptr || !list->is_array()) return;
    for (const Json& entry : list->get_array()) {
      if (auto name = text_at(entry, "resourceClaimName"); !name.empty()) names.emplace_back(name);
    }
  };
  add(find(pod, "spec", "resourceClaims"));
  add(find(pod, "status", "resourceClaimStatuses"));
  std::string_view extended =
      text_at(pod, "status", "extendedResourceClaimStatus", "resourceClaimName");
  if (!extended.empty()) names.emplace_back(extended);
  return names;
}

JsonArray owned_by(const ResourceType& type, const GenericObject& owner) {
  return JsonArray{JsonObject{{"apiVersion", type.api_version()},
                              {"kind", type.kind},
                              {"name", owner.meta.name.view()},
                              {"uid", owner.meta.uid.view()},
                              {"controller", true},
                              {"blockOwnerDeletion", true}}};
}

}  // namespace lockstep::sim
