// Which pods use a GPU: by what their containers ask for, or by the claims that they hold.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "objects/pod.h"
#include "objects/resource_claim.h"

namespace lockstep::fleet {

// nvidia.com/gpu, nvidia.com/gpu.shared, nvidia.com/mig-1g.10gb.
bool is_gpu_resource(std::string_view name);

// Null: the claim does not exist, or cannot be read.
using ClaimLookup =
    std::function<std::shared_ptr<const ResourceClaim>(std::string_view ns, std::string_view name)>;

struct GpuPodOptions {
  // DRA drivers whose devices are GPUs.
  std::vector<std::string> dra_drivers = {"gpu.nvidia.com", "gpu.lockstep.dev"};
};

// Does not ask whether it still runs. A claim that cannot be read counts as one of a GPU: when in
// doubt the pod is moved rather than broken.
bool uses_gpu(const Pod& pod, const ClaimLookup& claims, const GpuPodOptions& options);

// How many GPUs the pod's containers ask for; those of claims are not counted.
int64_t gpus_requested(const Pod& pod);

}  // namespace lockstep::fleet
