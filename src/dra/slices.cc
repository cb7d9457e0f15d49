#include "dra/slices.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/sha256.h"
#include "base/strings.h"

namespace lockstep::dra {

namespace {

constexpr size_t longest_slice_name = 253;
constexpr size_t hash_length = 12;
constexpr size_t most_devices = 64;
// The maximum number of characters of a string attribute.
constexpr size_t longest_attribute = 64;
constexpr uint64_t mebibyte = 1 << 20;

void add_text(JsonObject& attributes, std::string_view key, std::string_view value) {
  if (value.empty()) return;
  attributes[key] = JsonObject{{"string", value.substr(0, longest_attribute)}};
}

void add_version(JsonObject& attributes, std::string_view key, std::string_view value) {
  if (!value.empty()) attributes[key] = JsonObject{{"version", semantic_version(value)}};
}

bool is_broken(const Gpu& gpu, const SliceWish& wish) {
  auto condition = wish.conditions.find(gpu.name);
  return condition != wish.conditions.end() && condition->second.broken;
}

JsonArray taints_of(const Gpu& gpu, const SliceWish& wish) {
  JsonArray taints;
  if (wish.driver_away) {
    taints.push_back(JsonObject{{"key", driver_taint}, {"effect", "NoSchedule"}});
  }
  if (is_broken(gpu, wish)) {
    bool is_confirmed = wish.conditions.find(gpu.name)->second.confirmed;
    taints.push_back(
        JsonObject{{"key", health_taint}, {"effect", is_confirmed ? "NoExecute" : "NoSchedule"}});
  }
  return taints;
}

int64_t generation_of(const Json& slice) {
  return as_integer(find(slice, "spec", "pool", "generation"));
}

// The same taint: its time is the server's, or an earlier one's of ours.
bool is_same_taint(const Json& a, const Json& b) {
  return text_at(a, "key") == text_at(b, "key") && text_at(a, "effect") == text_at(b, "effect") &&
         text_at(a, "value") == text_at(b, "value");
}

const Json* device_named(const JsonArray& devices, std::string_view name) {
  auto found = std::find_if(devices.begin(), devices.end(),
                            [&](const Json& device) { return text_at(device, "name") == name; });
  return found == devices.end() ? nullptr : found;
}

// A taint that is published already is taken over with its time.
void keep_times(JsonArray& wanted, const JsonArray& published) {
  for (Json& device : wanted) {
    const Json* before = device_named(published, text_at(device, "name"));
    const JsonArray* old = before == nullptr ? nullptr : array_of(find(*before, "taints"));
    Json* taints = find(device, "taints");
    if (old == nullptr || taints == nullptr) continue;
    for (Json& taint : taints->as_array()) {
      for (const Json& one : *old) {
        if (is_same_taint(taint, one)) taint = one;
      }
    }
  }
}

JsonArray without(const JsonArray& devices, std::string_view key) {
  JsonArray copy = devices;
  for (Json& device : copy) erase_key(device.as_object(), key);
  return copy;
}

// What is published, with the taint on every device.
JsonArray with_driver_taint(const Json& slice) {
  const JsonArray* published = array_of(find(slice, "spec", "devices"));
  JsonArray devices = published == nullptr ? JsonArray() : *published;
  for (Json& device : devices) {
    const JsonArray* there = array_of(find(std::as_const(device), "taints"));
    JsonArray taints = there == nullptr ? JsonArray() : *there;
    bool is_tainted =
        std::any_of(taints.data(), taints.data() + taints.size(),
                    [](const Json& taint) { return text_at(taint, "key") == driver_taint; });
    if (is_tainted) continue;
    taints.push_back(JsonObject{{"key", driver_taint}, {"effect", "NoSchedule"}});
    device.as_object()["taints"] = std::move(taints);
  }
  return devices;
}

bool is_as_wanted(const Json& slice, const JsonArray& devices, const SliceSettings& settings,
                  bool without_taints) {
  const JsonArray* published = array_of(find(slice, "spec", "devices"));
  static const JsonArray none;
  const JsonArray& now = published == nullptr ? none : *published;
  bool is_owned = settings.node_uid.empty();
  if (const JsonArray* owners = array_of(find(slice, "metadata", "ownerReferences"))) {
    is_owned = is_owned || std::any_of(owners->begin(), owners->end(), [&](const Json& owner) {
                 return text_at(owner, "uid") == settings.node_uid;
               });
  }
  if (!is_owned || as_integer(find(slice, "spec", "pool", "resourceSliceCount")) != 1) return false;
  if (without_taints) {
    return json_equal(without(now, "taints"), without(devices, "taints"));
  }
  return json_equal(now, devices);
}

JsonObject owner_of(const SliceSettings& settings) {
  return {{"apiVersion", "v1"},
          {"kind", "Node"},
          {"name", settings.node},
          {"uid", settings.node_uid},
          {"controller", true}};
}

Json new_slice(const SliceSettings& settings, JsonArray devices, int64_t generation) {
  JsonObject metadata{{"name", slice_name(settings)}};
  if (!settings.node_uid.empty()) {
    metadata["ownerReferences"] = JsonArray{owner_of(settings)};
  }
  return JsonObject{{"apiVersion", "resource.k8s.io/v1"},
                    {"kind", "ResourceSlice"},
                    {"metadata", std::move(metadata)},
                    {"spec", JsonObject{{"driver", settings.driver},
                                        {"nodeName", settings.node},
                                        {"pool", JsonObject{{"name", settings.node},
                                                            {"generation", generation},
                                                            {"resourceSliceCount", 1}}},
                                        {"devices", std::move(devices)}}}};
}

Json changed_slice(const Json& slice, const SliceSettings& settings, JsonArray devices,
                   int64_t generation) {
  Json changed = slice;
  JsonObject& root = changed.as_object();
  if (!settings.node_uid.empty()) {
    ensure_object(root, "metadata")["ownerReferences"] = JsonArray{owner_of(settings)};
  }
  JsonObject& spec = ensure_object(root, "spec");
  spec["pool"] =
      JsonObject{{"name", settings.node}, {"generation", generation}, {"resourceSliceCount", 1}};
  spec["devices"] = std::move(devices);
  return changed;
}

size_t count_taints(const Json& slice) {
  size_t count = 0;
  const JsonArray* devices = array_of(find(slice, "spec", "devices"));
  if (devices == nullptr) return 0;
  for (const Json& device : *devices) {
    if (const JsonArray* taints = array_of(find(device, "taints"))) count += taints->size();
  }
  return count;
}

// The pool is named after the node; what has another name cannot be changed into it.
bool is_of_pool(const Json& slice, const SliceSettings& settings) {
  return text_at(slice, "spec", "pool", "name") == settings.node;
}

}  // namespace

JsonArray slice_devices(const SliceWish& wish, bool without_taints) {
  JsonArray devices;
  if (!wish.inventory) return devices;
  for (const Gpu& gpu : wish.inventory->gpus) {
    if (devices.size() == most_devices) break;
    if (without_taints && is_broken(gpu, wish)) continue;
    JsonObject attributes;
    add_text(attributes, "uuid", gpu.uuid);
    add_text(attributes, "productName", gpu.product);
    add_text(attributes, "type", "gpu");
    add_text(attributes, "architecture", gpu.architecture);
    add_version(attributes, "cudaComputeCapability", gpu.compute_capability);
    add_version(attributes, "driverVersion", wish.inventory->driver_version);
    add_version(attributes, "cudaDriverVersion", wish.inventory->cuda_version);
    add_text(attributes, "pcieBusID", gpu.pci);
    attributes["minor"] = JsonObject{{"int", gpu.minor}};
    JsonObject device{{"name", gpu.name}, {"attributes", std::move(attributes)}};
    if (gpu.memory_bytes > 0) {
      device["capacity"] = JsonObject{
          {"memory", JsonObject{{"value", fmt::format("{}Mi", gpu.memory_bytes / mebibyte)}}}};
    }
    JsonArray taints = taints_of(gpu, wish);
    if (!taints.empty()) device["taints"] = std::move(taints);
    devices.push_back(std::move(device));
  }
  return devices;
}

std::string slice_name(const SliceSettings& settings) {
  std::string name = fmt::format("{}-{}", settings.node, settings.driver);
  if (name.size() <= longest_slice_name) return name;
  return "gpus-" + sha256_hex(name).substr(0, hash_length);
}

SliceStep next_slice_step(const SliceSettings& settings, const SliceWish& wish,
                          const std::vector<Document>& published, bool without_taints) {
  int64_t highest = 0;
  for (const Document& slice : published) highest = std::max(highest, generation_of(*slice));
  std::vector<Document> current;
  for (const Document& slice : published) {
    if (generation_of(*slice) == highest && is_of_pool(*slice, settings)) current.push_back(slice);
  }
  // The one that we keep: of several, the one that has our name.
  auto kept = std::find_if(current.begin(), current.end(), [&](const Document& slice) {
    return text_at(*slice, "metadata", "name") == slice_name(settings);
  });
  if (kept == current.end()) kept = current.begin();

  if (current.empty() && !wish.inventory) return {};
  JsonArray devices =
      wish.inventory ? slice_devices(wish, without_taints) : with_driver_taint(**kept);
  if (current.empty()) {
    return {SliceStep::Kind::create, slice_name(settings),
            new_slice(settings, std::move(devices), highest + 1)};
  }
  const Json& slice = **kept;
  if (const JsonArray* now = array_of(find(slice, "spec", "devices"))) keep_times(devices, *now);
  if (current.size() > 1) {
    return {SliceStep::Kind::update, std::string(text_at(slice, "metadata", "name")),
            changed_slice(slice, settings, std::move(devices), highest + 1)};
  }
  if (!is_as_wanted(slice, devices, settings, without_taints)) {
    return {SliceStep::Kind::update, std::string(text_at(slice, "metadata", "name")),
            changed_slice(slice, settings, std::move(devices), highest)};
  }
  for (const Document& other : published) {
    if (other == *kept) continue;
    return {SliceStep::Kind::remove, std::string(text_at(*other, "metadata", "name")), {}};
  }
  return {};
}

bool lost_taints(const Json& sent, const Json& answered) {
  return count_taints(answered) < count_taints(sent);
}

bool has_taints(const Json& slice) { return count_taints(slice) > 0; }

}  // namespace lockstep::dra
