// The measurements that need the CUDA driver, each on one GPU: what was right and how fast it was,
// as facts. Other code decides whether that is good enough. They fail where the driver does.
#pragma once

#include <functional>
#include <future>
#include <string>
#include <vector>

#include "gpu/cuda.h"
#include "gpu/network_reference.h"

namespace lockstep::gpu {

struct MeasureOptions {
  double budget_seconds = 30;    // of the whole gate
  std::string wrong;             // test switch: the check that gets one wrong result
  std::string product;           // test switch: the version of the matrix product
  unsigned product_size = 0;     // test switch: of the matrices; 0: what the kernel is measured on
  size_t copy_bytes = 64 << 20;  // of each copy between host and GPU, or two GPUs
};

struct Training {
  TrainingData data;
  std::vector<double> losses;  // the CPU's
};
Result<JsonObject> measure_training(CudaDevice& device, const Training& reference,
                                    const MeasureOptions& options);

// The CPU's sums for matrices of this size.
using SumsOf = std::function<std::vector<double>(unsigned size)>;
Result<JsonObject> measure_inference(CudaDevice& device, const SumsOf& sums_of,
                                     const MeasureOptions& options);

Result<JsonObject> measure_memory(CudaDevice& device, const MeasureOptions& options);
Result<JsonObject> measure_pcie(CudaDevice& device, const MeasureOptions& options);
// Every ordered pair: an array of facts.
Result<JsonArray> measure_peers(std::vector<CudaDevice>& devices,
                                const std::vector<std::string>& uuids,
                                const MeasureOptions& options);

}  // namespace lockstep::gpu
