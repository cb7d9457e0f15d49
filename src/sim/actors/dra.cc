#include "sim/actors/dra.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/strings.h"

namespace lockstep::sim {

void Preparations::add(Preparation attempt) {
  by_node_[attempt.node].push_back(all_.size());
  all_.push_back(std::move(attempt));
}

size_t Preparations::succeeded(std::string_view node) const {
  auto at = by_node_.find(node);
  if (at == by_node_.end()) return 0;
  return static_cast<size_t>(
      std::count_if(at->second.begin(), at->second.end(),
                    [this](size_t place) { return all_[place].error.empty(); }));
}

size_t Preparations::failed(std::string_view node) const {
  auto at = by_node_.find(node);
  return at == by_node_.end() ? 0 : at->second.size() - succeeded(node);
}

std::vector<Preparation> Preparations::failed_after(std::string_view node, Time time) const {
  std::vector<Preparation> found;
  auto at = by_node_.find(node);
  if (at == by_node_.end()) return found;
  for (size_t place : at->second) {
    const Preparation& attempt = all_[place];
    if (!attempt.error.empty() && attempt.at >= time) found.push_back(attempt);
  }
  return found;
}

// The API takes semantic versions only, and NVIDIA's plugin makes one of what NVML says: 580.105.08
// is 580.105.8.
std::string semantic_version(std::string_view version) {
  std::vector<std::string> parts;
  for (std::string_view part : split(version, '.')) {
    const size_t digit = part.find_first_not_of('0');
    parts.emplace_back(digit == std::string_view::npos ? "0" : part.substr(digit));
  }
  while (parts.size() < 3) parts.emplace_back("0");
  return join(parts, ".");
}

std::string slice_name(std::string_view node) {
  return fmt::format("{}-{}", node, dra_driver_name);
}

Json slice_object(const Machine& machine, const NvmlHandle& handle, std::string_view node_uid,
                  int64_t pool_generation) {
  JsonArray devices;
  for (int i = 0; i < machine.gpus(); ++i) {
    JsonObject attributes{
        {"driverVersion", JsonObject{{"version", semantic_version(handle.version)}}},
        {"productName", JsonObject{{"string", "NVIDIA H100 80GB HBM3"}}},
        {"uuid", JsonObject{{"string", machine.gpu_uuid(i)}}},
        {"type", JsonObject{{"string", "gpu"}}}};
    devices.push_back(
        JsonObject{{"name", fmt::format("gpu-{}", i)},
                   {"attributes", std::move(attributes)},
                   {"capacity", JsonObject{{"memory", JsonObject{{"value", "81559Mi"}}}}}});
  }
  JsonObject metadata{{"name", slice_name(machine.name())}};
  if (!node_uid.empty()) {
    metadata["ownerReferences"] = JsonArray{JsonObject{{"apiVersion", "v1"},
                                                       {"kind", "Node"},
                                                       {"name", machine.name()},
                                                       {"uid", node_uid},
                                                       {"controller", true}}};
  }
  JsonObject pool{
      {"name", machine.name()}, {"generation", pool_generation}, {"resourceSliceCount", 1}};
  return JsonObject{{"apiVersion", "resource.k8s.io/v1"},
                    {"kind", "ResourceSlice"},
                    {"metadata", std::move(metadata)},
                    {"spec", JsonObject{{"driver", dra_driver_name},
                                        {"nodeName", machine.name()},
                                        {"pool", std::move(pool)},
                                        {"devices", std::move(devices)}}}};
}

std::string config_error(const Json& claim) {
  const Json* configs = find(claim, "spec", "devices", "config");
  if (configs == nullptr || !configs->is_array()) return {};
  for (const Json& config : configs->get_array()) {
    const Json* parameters = find(config, "opaque", "parameters");
    if (text_at(config, "opaque", "driver") != dra_driver_name || parameters == nullptr) continue;
    constexpr int64_t most_partitions = 4;
    if (as_integer(find(*parameters, "sharing", "partitionCount")) > most_partitions) {
      return "error applying GPU config: too many partitions";
    }
    for (const auto& [key, value] : parameters->get_object()) {
      if (key == "apiVersion" || key == "kind" || key == "sharing") continue;
      return fmt::format(
          "error getting opaque device configs: error decoding config parameters: "
          "strict decoding error: unknown field \"{}\"",
          std::string_view(key));
    }
  }
  return {};
}

bool needs_plugin(const ResourceClaim& claim) {
  return std::any_of(
      claim.devices.begin(), claim.devices.end(),
      [](const ResourceClaim::Device& device) { return device.driver == dra_driver_name; });
}

PrepareAnswer prepare_claim(const Machine& machine, const NvmlHandle* plugin,
                            const ResourceClaim& claim, const Json& document) {
  for (const ResourceClaim::Device& device : claim.devices) {
    if (device.driver != dra_driver_name) continue;
    std::string_view name = device.device;
    auto index = parse_integer(name.substr(std::min(name.size(), name.rfind('-') + 1)));
    auto prepared = machine.prepare(*plugin, claim.meta.uid, static_cast<int>(index.value_or(0)));
    if (!prepared) return {prepared.error().message, false};
  }
  std::string wrong = config_error(document);
  bool is_wrong = !wrong.empty();
  return {std::move(wrong), is_wrong};
}

}  // namespace lockstep::sim
