// What a GPU of a known model must at least do (recipes/gpu-models.yaml), for nodes without a
// baseline.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace lockstep::gpu {

struct GpuModel {
  std::string name;  // as NVML says it
  std::optional<int> nvlinks;
  // Floors; not set: not known.
  std::optional<double> memory_gigabytes;
  std::optional<double> pcie_gigabytes;
  std::optional<double> inference_tflops;
};

class GpuModels {
 public:
  static Result<GpuModels> read(std::string_view yaml, std::string_view name);
  // Our own, recipes/gpu-models.yaml.
  static Result<GpuModels> embedded();
  // Null for a model that is not known.
  const GpuModel* find(std::string_view name) const;
  const std::vector<GpuModel>& all() const { return models_; }

 private:
  std::vector<GpuModel> models_;
};

}  // namespace lockstep::gpu
