#include "gpu/nvml_facts.h"

#include <algorithm>
#include <array>

namespace lockstep::gpu {

using namespace nvml_abi;

namespace {

// What a snapshot is made of: values that are there, and errors where one should have been.
class Collector {
 public:
  explicit Collector(Nvml& nvml) : nvml_(nvml) {}

  // True when there is a value.
  bool keep(const char* call, Code code) {
    if (code == success) return true;
    if (code == not_supported || code == symbol_missing) return false;
    errors_.emplace_back(nvml_.text_of(call, code));
    lost_ = lost_ || nvml_.error_of(call, code).kind == gpu_failure;
    return false;
  }
  template <typename Value, typename... Arguments>
  void number(JsonObject& to, std::string_view key, const char* call, Device device,
              Arguments... arguments) {
    Value value{};
    if (keep(call, nvml_.call(call, device, arguments..., &value))) to[key] = value;
  }
  void finish(JsonObject& snapshot) {
    if (errors_.empty()) return;
    snapshot["errors"] = std::move(errors_);
    snapshot["lost"] = lost_;
  }

 private:
  Nvml& nvml_;
  JsonArray errors_;
  bool lost_ = false;
};

void add_ecc(Nvml& nvml, Device device, Collector& collect, JsonObject& to) {
  struct Count {
    const char* key;
    int type;
    int counter;
  };
  for (const Count& count :
       {Count{"corrected_volatile", 0, 0}, Count{"uncorrected_volatile", 1, 0},
        Count{"corrected_aggregate", 0, 1}, Count{"uncorrected_aggregate", 1, 1}}) {
    collect.number<unsigned long long>(to, count.key, "nvmlDeviceGetTotalEccErrors", device,
                                       count.type, count.counter);
  }
  unsigned corrected = 0;
  unsigned uncorrected = 0;
  unsigned pending = 0;
  unsigned failed = 0;
  const char* remapped = "nvmlDeviceGetRemappedRows";
  if (collect.keep(remapped,
                   nvml.call(remapped, device, &corrected, &uncorrected, &pending, &failed))) {
    to["remapped_rows"] = JsonObject{{"corrected", corrected},
                                     {"uncorrected", uncorrected},
                                     {"pending", pending != 0},
                                     {"failed", failed != 0}};
  }
  JsonObject retired;
  for (auto [key, cause] : {std::pair("single_bit", 0), std::pair("double_bit", 1)}) {
    unsigned count = 0;
    const char* pages = "nvmlDeviceGetRetiredPages";
    // Asked with room for none, it answers with the count, as a success or as "too small".
    Code code = nvml.call(pages, device, cause, &count, static_cast<unsigned long long*>(nullptr));
    constexpr Code too_small = 7;
    if (code == too_small || collect.keep(pages, code)) retired[key] = count;
  }
  if (!retired.empty()) to["retired_pages"] = std::move(retired);
  FieldValue action{};
  action.field = recovery_action;
  const char* fields = "nvmlDeviceGetFieldValues";
  if (collect.keep(fields, nvml.call(fields, device, 1, &action)) && action.code == success) {
    to["recovery_action"] = action.value.small;
  }
}

JsonObject link_facts(Nvml& nvml, Device device, Collector& collect, unsigned link, bool active) {
  JsonObject facts{{"link", link}, {"active", active}};
  struct Wanted {
    Field field;
    const char* key;
  };
  constexpr std::array<Wanted, 4> wanted = {{{nvlink_speed, "speed_mbps"},
                                             {nvlink_replay_errors, "replay_errors"},
                                             {nvlink_recovery_errors, "recovery_errors"},
                                             {nvlink_crc_errors, "crc_errors"}}};
  std::array<FieldValue, wanted.size()> values{};
  for (size_t i = 0; i < wanted.size(); ++i) {
    values[i].field = wanted[i].field;
    values[i].scope = link;
  }
  const char* fields = "nvmlDeviceGetFieldValues";
  if (!collect.keep(fields,
                    nvml.call(fields, device, static_cast<int>(values.size()), values.data())))
    return facts;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (values[i].code != success) continue;
    // Types 0 to 2 are narrower than a long long; the union begins at the same place.
    facts[wanted[i].key] = values[i].type == 1 ? values[i].value.small : values[i].value.large;
  }
  return facts;
}

void add_nvlink(Nvml& nvml, Device device, Collector& collect, JsonObject& to) {
  JsonArray links;
  for (unsigned link = 0; link < most_links; ++link) {
    unsigned active = 0;
    const char* state = "nvmlDeviceGetNvLinkState";
    Code code = nvml.call(state, device, link, &active);
    constexpr Code invalid_argument = 2;
    // Past the last link of this GPU.
    if (code == invalid_argument) break;
    if (!collect.keep(state, code)) {
      if (code == gpu_is_lost) return;
      continue;
    }
    links.emplace_back(link_facts(nvml, device, collect, link, active != 0));
  }
  to["links"] = std::move(links);
  FabricInfo info{};
  info.version = fabric_info_version;
  const char* fabric = "nvmlDeviceGetGpuFabricInfoV";
  if (collect.keep(fabric, nvml.call(fabric, device, &info)) && info.state != 0) {
    to["fabric"] = JsonObject{{"state", static_cast<unsigned>(info.state)},
                              {"status", info.status},
                              {"clique", info.clique},
                              {"health", info.health}};
  }
}

std::string text_from(Nvml& nvml, const char* call, Device device, Collector& collect) {
  std::array<char, 96> text{};
  if (!collect.keep(call, nvml.call(call, device, text.data(), static_cast<unsigned>(text.size()))))
    return {};
  return text.data();
}

NvmlGpu identify(Nvml& nvml, unsigned index, Device device) {
  NvmlGpu gpu;
  gpu.handle = device;
  Collector collect(nvml);
  gpu.uuid = text_from(nvml, "nvmlDeviceGetUUID", device, collect);
  if (gpu.uuid.empty()) gpu.uuid = fmt::format("gpu-{}", index);
  gpu.identity["index"] = index;
  gpu.identity["name"] = text_from(nvml, "nvmlDeviceGetName", device, collect);
  PciInfo pci{};
  const char* get_pci = "nvmlDeviceGetPciInfo_v3";
  if (collect.keep(get_pci, nvml.call(get_pci, device, &pci))) gpu.identity["pci"] = pci.bus_id;
  collect.number<unsigned>(gpu.identity, "minor", "nvmlDeviceGetMinorNumber", device);
  Memory memory{};
  const char* get_memory = "nvmlDeviceGetMemoryInfo";
  if (collect.keep(get_memory, nvml.call(get_memory, device, &memory)))
    gpu.identity["memory_bytes"] = memory.total;
  unsigned mode = 0;
  unsigned pending = 0;
  const char* mig = "nvmlDeviceGetMigMode";
  if (collect.keep(mig, nvml.call(mig, device, &mode, &pending))) gpu.identity["mig"] = mode != 0;
  collect.number<unsigned>(gpu.identity, "pcie_generation", "nvmlDeviceGetMaxPcieLinkGeneration",
                           device);
  collect.number<unsigned>(gpu.identity, "pcie_width", "nvmlDeviceGetCurrPcieLinkWidth", device);
  collect.finish(gpu.identity);
  return gpu;
}

Error error_of_start(Nvml& nvml, const char* call, Code code) {
  std::string text = nvml.text_of(call, code);
  if (code == version_mismatch) return {ErrorKind::conflict, text, {}};
  if (code == driver_not_loaded)
    return {ErrorKind::not_found, "no driver found: its kernel module is not loaded; " + text, {}};
  return {ErrorKind::internal, text, {}};
}

}  // namespace

Result<std::vector<NvmlGpu>> list_gpus(Nvml& nvml, Reporter& reporter) {
  if (Code code = nvml.call("nvmlInit_v2"); code != success)
    return fail(error_of_start(nvml, "nvmlInit_v2", code));
  JsonObject node;
  std::array<char, 96> version{};
  const auto size = static_cast<unsigned>(version.size());
  if (nvml.call("nvmlSystemGetDriverVersion", version.data(), size) == success)
    node["driver_version"] = version.data();
  if (nvml.call("nvmlSystemGetNVMLVersion", version.data(), size) == success)
    node["nvml_version"] = version.data();
  node["library"] = nvml.path();
  reporter.fact({"node"}, std::move(node));

  unsigned count = 0;
  if (Code code = nvml.call("nvmlDeviceGetCount_v2", &count); code != success)
    return fail(error_of_start(nvml, "nvmlDeviceGetCount_v2", code));
  if (count == 0)
    return fail(ErrorKind::not_found, "no GPU found: the driver is loaded and sees none");
  std::vector<NvmlGpu> gpus;
  for (unsigned index = 0; index < count; ++index) {
    Device device = nullptr;
    const char* handle = "nvmlDeviceGetHandleByIndex_v2";
    Code code = nvml.call(handle, index, &device);
    if (code != success) {
      NvmlGpu broken;
      broken.uuid = fmt::format("gpu-{}", index);
      broken.identity = {{"index", index}, {"lost", true}};
      broken.identity["errors"] = JsonArray{Json(nvml.text_of(handle, code))};
      gpus.push_back(std::move(broken));
      continue;
    }
    gpus.push_back(identify(nvml, index, device));
  }
  return gpus;
}

JsonObject snapshot_of(Nvml& nvml, const NvmlGpu& gpu, const SnapshotParts& parts) {
  JsonObject snapshot;
  if (gpu.handle == nullptr) return snapshot;
  Collector collect(nvml);
  if (parts.ecc) {
    JsonObject ecc;
    add_ecc(nvml, gpu.handle, collect, ecc);
    snapshot["ecc"] = std::move(ecc);
  }
  if (parts.nvlink) {
    JsonObject nvlink;
    add_nvlink(nvml, gpu.handle, collect, nvlink);
    snapshot["nvlink"] = std::move(nvlink);
  }
  collect.finish(snapshot);
  return snapshot;
}

void ClockWatch::sample(Nvml& nvml, const NvmlGpu& gpu) {
  if (gpu.handle == nullptr || lost_) return;
  unsigned long long reasons = 0;
  const char* get = "nvmlDeviceGetCurrentClocksThrottleReasons";
  Code code = nvml.call(get, gpu.handle, &reasons);
  if (code != success) {
    trouble_ = nvml.text_of(get, code);
    lost_ = nvml.error_of(get, code).kind == gpu_failure;
    return;
  }
  ++samples_;
  reasons_ |= reasons;
  unsigned value = 0;
  constexpr int multiprocessors = 1;
  if (nvml.call("nvmlDeviceGetClockInfo", gpu.handle, multiprocessors, &value) == success) {
    lowest_clock_ = lowest_clock_ == 0 ? value : std::min(lowest_clock_, value);
    highest_clock_ = std::max(highest_clock_, value);
  }
  if (nvml.call("nvmlDeviceGetTemperature", gpu.handle, 0, &value) == success)
    highest_temperature_ = std::max(highest_temperature_, value);
  if (nvml.call("nvmlDeviceGetPowerUsage", gpu.handle, &value) == success)
    highest_power_ = std::max(highest_power_, value);
}

JsonObject ClockWatch::facts() const {
  JsonObject facts{{"samples", samples_}, {"reasons", reasons_}};
  if (highest_clock_ > 0) {
    facts["lowest_clock_mhz"] = lowest_clock_;
    facts["highest_clock_mhz"] = highest_clock_;
  }
  if (highest_temperature_ > 0) facts["highest_temperature"] = highest_temperature_;
  if (highest_power_ > 0) facts["highest_power_milliwatts"] = highest_power_;
  if (!trouble_.empty()) {
    facts["errors"] = JsonArray{Json(trouble_)};
    facts["lost"] = lost_;
  }
  return facts;
}

}  // namespace lockstep::gpu
