#include "dra/gpu_config.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/strings.h"
#include "data/strict_reader.h"

namespace lockstep::dra {

namespace {

constexpr std::string_view api_version = "gpu.lockstep.dev/v1alpha1";
constexpr std::string_view config_kind = "GpuConfig";

template <typename Value>
using Word = std::pair<std::string_view, Value>;
constexpr Word<Sharing> sharings[] = {{"Exclusive", Sharing::exclusive},
                                      {"TimeSlicing", Sharing::time_slicing}};
constexpr Word<TimeSlice> slices[] = {{"Default", TimeSlice::usual},
                                      {"Short", TimeSlice::brief},
                                      {"Medium", TimeSlice::medium},
                                      {"Long", TimeSlice::extended}};

template <typename Value, size_t Count>
std::string_view text_of(const Word<Value> (&words)[Count], Value value) {
  for (const auto& word : words) {
    if (word.second == value) return word.first;
  }
  return "";
}

void read_sharing(StrictReader& reader, GpuConfig& config) {
  config.sharing = Sharing::time_slicing;
  reader.choice("strategy", config.sharing, sharings).required("strategy");
  if (config.sharing == Sharing::exclusive && reader.has("timeSlicing")) {
    reader.refuse("timeSlicing", "has no meaning with strategy Exclusive; remove it");
  }
  reader.within("timeSlicing", [&](StrictReader& slicing) {
    config.interval = TimeSlice::usual;
    slicing.choice("interval", config.interval, slices);
  });
}

bool is_variable_name(std::string_view name) {
  auto is_fine = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  return !name.empty() && !(name.front() >= '0' && name.front() <= '9') &&
         std::all_of(name.begin(), name.end(), is_fine);
}

// What the plugin or the container runtime sets.
bool is_reserved(std::string_view name) {
  return name.starts_with("LOCKSTEP_") || name.starts_with("NVIDIA_") || name.starts_with("LD_");
}

// CUDA's and NCCL's settings that name no file, library, address or program.
constexpr std::array<std::string_view, 35> claim_variables = {"CUDA_AUTO_BOOST",
                                                              "CUDA_CACHE_DISABLE",
                                                              "CUDA_CACHE_MAXSIZE",
                                                              "CUDA_DEVICE_MAX_CONNECTIONS",
                                                              "CUDA_DEVICE_ORDER",
                                                              "CUDA_DEVICE_WAITS_ON_EXCEPTION",
                                                              "CUDA_DISABLE_PTX_JIT",
                                                              "CUDA_FORCE_PTX_JIT",
                                                              "CUDA_LAUNCH_BLOCKING",
                                                              "CUDA_MODULE_DATA_LOADING",
                                                              "CUDA_MODULE_LOADING",
                                                              "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE",
                                                              "CUDA_MPS_CLIENT_PRIORITY",
                                                              "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT",
                                                              "NCCL_ALGO",
                                                              "NCCL_BUFFSIZE",
                                                              "NCCL_CROSS_NIC",
                                                              "NCCL_CUMEM_ENABLE",
                                                              "NCCL_DEBUG",
                                                              "NCCL_DEBUG_SUBSYS",
                                                              "NCCL_IB_DISABLE",
                                                              "NCCL_IB_HCA",
                                                              "NCCL_IB_TIMEOUT",
                                                              "NCCL_MAX_NCHANNELS",
                                                              "NCCL_MIN_NCHANNELS",
                                                              "NCCL_NET_GDR_LEVEL",
                                                              "NCCL_NSOCKS_PERTHREAD",
                                                              "NCCL_NTHREADS",
                                                              "NCCL_NVLS_ENABLE",
                                                              "NCCL_P2P_DISABLE",
                                                              "NCCL_P2P_LEVEL",
                                                              "NCCL_PROTO",
                                                              "NCCL_SHM_DISABLE",
                                                              "NCCL_SOCKET_IFNAME",
                                                              "OMP_NUM_THREADS"};

bool may_set(std::string_view name, ConfigOrigin origin) {
  if (origin == ConfigOrigin::device_class) return !is_reserved(name);
  return std::find(claim_variables.begin(), claim_variables.end(), name) != claim_variables.end();
}

void read_environment(StrictReader& reader, ConfigOrigin origin, GpuConfig& config) {
  reader.entries([&](const std::string& name, StrictReader& value) {
    if (!is_variable_name(name)) return value.refuse("is not the name of a variable");
    if (!may_set(name, origin)) {
      return value.refuse(origin == ConfigOrigin::claim
                              ? "must not be set by a claim; docs/DRA.md lists what may be"
                              : "is set by the plugin or the container runtime; remove it");
    }
    std::string& text = config.environment[name];
    value.text(text);
    if (text.find('\0') != std::string::npos) value.refuse("must not hold a NUL character");
  });
}

void read_config(StrictReader& reader, ConfigOrigin origin, GpuConfig& config) {
  // Of another kind all fields would be unknown.
  if (!reader.must_be("apiVersion", api_version) || !reader.must_be("kind", config_kind)) {
    reader.ignore_unknown();
    return;
  }
  reader.within("sharing", [&](StrictReader& sharing) { read_sharing(sharing, config); });
  reader.any("environment",
             [&](StrictReader& environment) { read_environment(environment, origin, config); });
}

}  // namespace

std::span<const std::string_view> variables_of_claims() { return claim_variables; }

std::string_view to_string(Sharing sharing) { return text_of(sharings, sharing); }
std::string_view to_string(TimeSlice slice) { return text_of(slices, slice); }

std::optional<TimeSlice> time_slice_of(std::string_view word) {
  for (const auto& known : slices) {
    if (known.first == word) return known.second;
  }
  return std::nullopt;
}

Result<GpuConfig> decode_gpu_config(const Json& parameters, ConfigOrigin origin) {
  GpuConfig config;
  Reading reading;
  reading.map(parameters, [&](StrictReader& reader) { read_config(reader, origin, config); });
  // All mistakes: each that is corrected alone waits for the kubelet's next try.
  if (!reading.mistakes().empty()) return fail(ErrorKind::invalid, join(reading.texts(), "; "));
  return config;
}

}  // namespace lockstep::dra
