#include "gpu/nvml_inventory.h"

#include <array>

#include "gpu/nvml_facts.h"

namespace lockstep::gpu {

namespace {

using namespace nvml_abi;

JsonObject not_asked(const Error& error) {
  return {{"error", error.text()}, {"kind", to_string(error.kind)}};
}

void add_texts(Nvml& nvml, JsonObject& to) {
  std::array<char, 96> version{};
  if (nvml.call("nvmlSystemGetDriverVersion", version.data(),
                static_cast<unsigned>(version.size())) == success) {
    to["driverVersion"] = version.data();
  }
  int cuda = 0;
  constexpr int major_step = 1000;
  constexpr int minor_step = 10;
  if (nvml.call("nvmlSystemGetCudaDriverVersion_v2", &cuda) == success && cuda > 0) {
    to["cudaVersion"] = fmt::format("{}.{}", cuda / major_step, (cuda % major_step) / minor_step);
  }
  to["library"] = nvml.path();
}

JsonObject gpu_json(Nvml& nvml, const NvmlGpu& gpu) {
  JsonObject json = gpu.identity;
  if (gpu.handle == nullptr) return json;
  json["uuid"] = gpu.uuid;
  unsigned number = 0;
  if (nvml.call("nvmlDeviceGetArchitecture", gpu.handle, &number) == success) {
    std::string name = architecture_name(number);
    if (!name.empty()) json["architecture"] = name;
  }
  int major = 0;
  int minor = 0;
  if (nvml.call("nvmlDeviceGetCudaComputeCapability", gpu.handle, &major, &minor) == success) {
    json["computeCapability"] = fmt::format("{}.{}", major, minor);
  }
  SnapshotParts parts;
  parts.ecc = true;
  json["health"] = snapshot_of(nvml, gpu, parts);
  return json;
}

}  // namespace

std::string architecture_name(unsigned number) {
  switch (number) {
    case 2:
      return "Kepler";
    case 3:
      return "Maxwell";
    case 4:
      return "Pascal";
    case 5:
      return "Volta";
    case 6:
      return "Turing";
    case 7:
      return "Ampere";
    case 8:
      return "Ada Lovelace";
    case 9:
      return "Hopper";
    case 10:
      return "Blackwell";
    default:
      return {};
  }
}

Json ask_inventory(const LibraryPlaces& places) {
  // The parent kills this process when a call hangs, and does not ask in which call.
  Reporter reporter([](std::string_view) {});
  auto nvml = Nvml::open(places, reporter);
  if (!nvml) return not_asked(nvml.error());
  auto gpus = list_gpus(*nvml, reporter);
  if (!gpus) return not_asked(gpus.error());
  JsonObject answer;
  add_texts(*nvml, answer);
  JsonArray list;
  for (const NvmlGpu& gpu : *gpus) list.push_back(gpu_json(*nvml, gpu));
  answer["gpus"] = std::move(list);
  nvml->call("nvmlShutdown");
  return answer;
}

}  // namespace lockstep::gpu
