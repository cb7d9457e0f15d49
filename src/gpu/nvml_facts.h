// What NVML says of a node's GPUs, as facts for other code to decide on: their identities, their
// error counts and links at one moment, their clocks while they work. What a GPU or a library does
// not offer is missing; a query that should have been answered and was not is in "errors".
#pragma once

#include <string>
#include <vector>

#include "gpu/nvml.h"

namespace lockstep::gpu {

struct NvmlGpu {
  nvml_abi::Device handle = nullptr;
  std::string uuid;
  JsonObject identity;
};

// nvmlInit and the list of GPUs. Fails with not_found without a driver or GPU, and with conflict if
// library and kernel module are of different versions.
Result<std::vector<NvmlGpu>> list_gpus(Nvml& nvml, Reporter& reporter);

struct SnapshotParts {
  bool ecc = false;
  bool nvlink = false;
};
JsonObject snapshot_of(Nvml& nvml, const NvmlGpu& gpu, const SnapshotParts& parts);

// The lowest and highest of what was seen while the checks ran.
class ClockWatch {
 public:
  void sample(Nvml& nvml, const NvmlGpu& gpu);
  JsonObject facts() const;

 private:
  int samples_ = 0;
  unsigned long long reasons_ = 0;
  unsigned lowest_clock_ = 0;
  unsigned highest_clock_ = 0;
  unsigned highest_temperature_ = 0;
  unsigned highest_power_ = 0;
  std::string trouble_;
  bool lost_ = false;
};

}  // namespace lockstep::gpu
