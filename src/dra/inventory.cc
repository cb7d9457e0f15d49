#include "dra/inventory.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"

namespace lockstep::dra {

namespace {

ErrorKind kind_of(std::string_view text) {
  for (ErrorKind kind : {ErrorKind::not_found, ErrorKind::conflict, ErrorKind::timed_out}) {
    if (to_string(kind) == text) return kind;
  }
  return ErrorKind::internal;
}

void read_health(const Json& health, Gpu& gpu) {
  gpu.lost = gpu.lost || as_bool(find(health, "lost"));
  if (const Json* action = find(health, "ecc", "recovery_action")) {
    gpu.recovery_action = static_cast<int>(as_integer(action));
  }
  gpu.remap_failed = as_bool(find(health, "ecc", "remapped_rows", "failed"));
  gpu.remap_pending = as_bool(find(health, "ecc", "remapped_rows", "pending"));
  gpu.uncorrected_errors =
      static_cast<uint64_t>(as_integer(find(health, "ecc", "uncorrected_volatile")));
}

// Nothing: one of which not even the minor number is known has no name.
std::optional<Gpu> gpu_of(const Json& json) {
  const Json* minor = find(json, "minor");
  if (minor == nullptr || text_at(json, "uuid").empty()) return std::nullopt;
  Gpu gpu;
  gpu.minor = static_cast<int>(as_integer(minor));
  gpu.name = fmt::format("gpu-{}", gpu.minor);
  gpu.uuid = text_at(json, "uuid");
  gpu.product = text_at(json, "name");
  gpu.architecture = text_at(json, "architecture");
  gpu.compute_capability = text_at(json, "computeCapability");
  gpu.pci = lower(text_at(json, "pci"));
  gpu.memory_bytes = static_cast<uint64_t>(as_integer(find(json, "memory_bytes")));
  gpu.lost = as_bool(find(json, "lost"));
  if (const Json* health = find(json, "health")) read_health(*health, gpu);
  return gpu;
}

}  // namespace

const Gpu* Inventory::find(std::string_view name) const {
  auto found =
      std::find_if(gpus.begin(), gpus.end(), [&](const Gpu& gpu) { return gpu.name == name; });
  return found == gpus.end() ? nullptr : &*found;
}

Result<Inventory> read_inventory(std::string_view answer) {
  auto json = parse_json(trim(answer));
  if (!json) return fail(ErrorKind::internal, "the process that asks NVML gave no answer");
  if (const Json* error = find(*json, "error")) {
    return fail(kind_of(text_at(*json, "kind")), std::string(as_text(error)));
  }
  const Json* gpus = find(*json, "gpus");
  Inventory inventory;
  inventory.driver_version = text_at(*json, "driverVersion");
  inventory.cuda_version = text_at(*json, "cudaVersion");
  inventory.library = text_at(*json, "library");
  if (gpus == nullptr || !gpus->is_array() || inventory.driver_version.empty()) {
    return fail(ErrorKind::internal, "NVML does not name its driver's version and GPUs");
  }
  for (const Json& item : gpus->get_array()) {
    if (auto gpu = gpu_of(item)) inventory.gpus.push_back(std::move(*gpu));
  }
  std::sort(inventory.gpus.begin(), inventory.gpus.end(),
            [](const Gpu& a, const Gpu& b) { return a.minor < b.minor; });
  return inventory;
}

Inventory keep_lost_gpus(const Inventory& before, Inventory now) {
  for (const Gpu& gpu : before.gpus) {
    if (now.find(gpu.name) != nullptr) continue;
    Gpu lost = gpu;
    lost.lost = true;
    now.gpus.push_back(std::move(lost));
  }
  std::sort(now.gpus.begin(), now.gpus.end(),
            [](const Gpu& a, const Gpu& b) { return a.minor < b.minor; });
  return now;
}

std::string semantic_version(std::string_view version) {
  constexpr size_t part_count = 3;
  std::vector<std::string> parts;
  for (std::string_view part : split(version, '.')) {
    if (parts.size() == part_count) break;
    size_t digits = part.find_first_not_of("0123456789");
    std::string_view number = part.substr(0, digits);
    size_t first = number.find_first_not_of('0');
    parts.emplace_back(first == std::string_view::npos ? "0" : number.substr(first));
  }
  while (parts.size() < part_count) parts.emplace_back("0");
  return join(parts, ".");
}

}  // namespace lockstep::dra
