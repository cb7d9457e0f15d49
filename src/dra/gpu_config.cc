#include "dra/gpu_config.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/strings.h"
#include "objects/names.h"

namespace lockstep::dra {

namespace {

constexpr std::string_view api_version = "gpu.lockstep.dev/v1alpha1";
constexpr std::string_view config_kind = "GpuConfig";

template <typename Value>
struct Word {
  std::string_view text;
  Value value;
};
constexpr Word<Sharing> sharings[] = {{"Exclusive", Sharing::exclusive},
                                      {"TimeSlicing", Sharing::time_slicing}};
constexpr Word<TimeSlice> slices[] = {{"Default", TimeSlice::usual},
                                      {"Short", TimeSlice::brief},
                                      {"Medium", TimeSlice::medium},
                                      {"Long", TimeSlice::extended}};

template <typename Value, size_t Count>
std::string_view text_of(const Word<Value> (&words)[Count], Value value) {
  for (const auto& word : words) {
    if (word.value == value) return word.text;
  }
  return "";
}

// What is wrong with a configuration, all of it: who mends one mistake at a time waits for the
// kubelet's next try after each.
class Mistakes {
 public:
  void add(std::string_view place, std::string_view what) {
    texts_.push_back(fmt::format("{}: {}", place, what));
  }
  bool empty() const { return texts_.empty(); }
  std::string text() const { return join(texts_, "; "); }

 private:
  std::vector<std::string> texts_;
};

// Null: it is none, and that has been noted.
const JsonObject* object_at(const Json& json, const std::string& place, Mistakes& mistakes) {
  if (json.is_object()) return &json.get_object();
  mistakes.add(place, "must be an object");
  return nullptr;
}

void check_fields(const JsonObject& object, const std::vector<std::string>& known,
                  const std::string& place, Mistakes& mistakes) {
  for (const auto& [key, value] : object) {
    std::string name{std::string_view(key)};
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    auto near = nearest(name, known);
    mistakes.add(place.empty() ? name : place + "." + name,
                 near ? fmt::format("unknown field; did you mean {}?", *near)
                      : fmt::format("unknown field; there are {}", join(known, ", ")));
  }
}

// Null: it is not there.
const Json* value_of(const JsonObject& object, std::string_view key) {
  const Json* value = find(object, key);
  return value == nullptr || value->is_null() ? nullptr : value;
}

bool has_text(const JsonObject& object, std::string_view key, std::string_view wanted,
              Mistakes& mistakes) {
  const Json* value = value_of(object, key);
  if (value != nullptr && as_text(value) == wanted && value->is_string()) return true;
  mistakes.add(key, fmt::format("must be {}", wanted));
  return false;
}

template <typename Value, size_t Count>
std::optional<Value> word_of(const Word<Value> (&words)[Count], const Json& json,
                             const std::string& place, Mistakes& mistakes) {
  std::vector<std::string> known;
  for (const auto& word : words) {
    if (json.is_string() && as_text(&json) == word.text) return word.value;
    known.emplace_back(word.text);
  }
  std::string given = json.is_string() ? quoted(as_text(&json)) : std::string("this");
  mistakes.add(place, fmt::format("{} is none of {}", given, join(known, ", ")));
  return std::nullopt;
}

void read_time_slicing(const Json& json, GpuConfig& config, Mistakes& mistakes) {
  const std::string place = "sharing.timeSlicing";
  const JsonObject* object = object_at(json, place, mistakes);
  if (object == nullptr) return;
  check_fields(*object, {"interval"}, place, mistakes);
  config.interval = TimeSlice::usual;
  if (const Json* interval = value_of(*object, "interval")) {
    config.interval = word_of(slices, *interval, place + ".interval", mistakes);
  }
}

void read_sharing(const Json& json, GpuConfig& config, Mistakes& mistakes) {
  const JsonObject* object = object_at(json, "sharing", mistakes);
  if (object == nullptr) return;
  check_fields(*object, {"strategy", "timeSlicing"}, "sharing", mistakes);
  const Json* strategy = value_of(*object, "strategy");
  std::optional<Sharing> sharing;
  if (strategy == nullptr) {
    mistakes.add("sharing.strategy", "says how, and must be there");
  } else {
    sharing = word_of(sharings, *strategy, "sharing.strategy", mistakes);
  }
  config.sharing = sharing.value_or(Sharing::time_slicing);
  const Json* slicing = value_of(*object, "timeSlicing");
  if (slicing == nullptr) return;
  if (config.sharing != Sharing::time_slicing) {
    mistakes.add("sharing.timeSlicing",
                 fmt::format("has no meaning with strategy {}", to_string(config.sharing)));
    return;
  }
  read_time_slicing(*slicing, config, mistakes);
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

void read_environment(const Json& json, ConfigOrigin origin, GpuConfig& config,
                      Mistakes& mistakes) {
  const JsonObject* object = object_at(json, "environment", mistakes);
  if (object == nullptr) return;
  for (const auto& [key, value] : *object) {
    std::string name{std::string_view(key)};
    std::string place = "environment." + name;
    bool is_text = value.is_string() && as_text(&value).find('\0') == std::string_view::npos;
    if (!is_variable_name(name)) {
      mistakes.add(place, "is no name of a variable");
    } else if (!may_set(name, origin)) {
      mistakes.add(place, origin == ConfigOrigin::claim
                              ? "is not for a claim to set (docs/DRA.md lists what is)"
                              : "is set by the plugin or the container runtime");
    } else if (!is_text) {
      mistakes.add(place, "must be a text");
    } else {
      config.environment.emplace(name, as_text(&value));
    }
  }
}

}  // namespace

std::span<const std::string_view> variables_of_claims() { return claim_variables; }

std::string_view to_string(Sharing sharing) { return text_of(sharings, sharing); }
std::string_view to_string(TimeSlice slice) { return text_of(slices, slice); }

std::optional<TimeSlice> time_slice_of(std::string_view word) {
  for (const auto& known : slices) {
    if (known.text == word) return known.value;
  }
  return std::nullopt;
}

Result<GpuConfig> decode_gpu_config(const Json& parameters, ConfigOrigin origin) {
  Mistakes mistakes;
  GpuConfig config;
  const JsonObject* object = object_at(parameters, "parameters", mistakes);
  // Before the fields: of another kind all of them would be unknown.
  bool is_ours = object != nullptr && has_text(*object, "apiVersion", api_version, mistakes) &&
                 has_text(*object, "kind", config_kind, mistakes);
  if (is_ours) {
    check_fields(*object, {"apiVersion", "kind", "sharing", "environment"}, "", mistakes);
    if (const Json* sharing = value_of(*object, "sharing")) {
      read_sharing(*sharing, config, mistakes);
    }
    if (const Json* environment = value_of(*object, "environment")) {
      read_environment(*environment, origin, config, mistakes);
    }
  }
  if (!mistakes.empty()) return fail(ErrorKind::invalid, mistakes.text());
  return config;
}

}  // namespace lockstep::dra
