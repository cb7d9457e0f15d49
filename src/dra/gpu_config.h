// The opaque configuration that a claim may carry for our driver, read strictly:
// dropping a misspelt field in silence would share a GPU in a way that the user did not
// intend.
//
//   apiVersion: gpu.lockstep.dev/v1alpha1
//   kind: GpuConfig
//   sharing: {strategy: TimeSlicing, timeSlicing: {interval: Short}}
//   environment: {CUDA_CACHE_DISABLE: "1"}
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "data/json.h"

namespace lockstep::dra {

enum class Sharing { exclusive, time_slicing };
enum class TimeSlice { usual, brief, medium, extended };
std::string_view to_string(Sharing sharing);
std::string_view to_string(TimeSlice slice);
// Nothing for an unknown word.
std::optional<TimeSlice> time_slice_of(std::string_view word);

struct GpuConfig {
  Sharing sharing = Sharing::exclusive;
  std::optional<TimeSlice> interval = std::nullopt;
  // For the container, in the order of their names.
  std::map<std::string, std::string> environment = {};

  bool operator==(const GpuConfig&) const = default;
};

// The author of a configuration. A tenant's claim sets only the variables of `variables_of_claims`:
// another one could load code into every container that shares the claim.
enum class ConfigOrigin { claim, device_class };
std::span<const std::string_view> variables_of_claims();

// An error is always the request's fault: it has kind invalid, and names every
// mistake with its field's path: "sharin: unknown field; environment.A: must be a string".
Result<GpuConfig> decode_gpu_config(const Json& parameters,
                                    ConfigOrigin origin = ConfigOrigin::claim);

}  // namespace lockstep::dra
