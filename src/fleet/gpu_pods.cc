#include "fleet/gpu_pods.h"

#include <algorithm>

namespace lockstep::fleet {

namespace {

bool asks_for_gpu(const std::vector<Container>& containers) {
  return std::any_of(containers.begin(), containers.end(), [](const Container& container) {
    return std::any_of(
        container.resources.begin(), container.resources.end(),
        [](const ResourceAmount& amount) { return is_gpu_resource(amount.name.view()); });
  });
}

bool is_gpu_claim(const ResourceClaim& claim, const GpuPodOptions& options) {
  return std::any_of(claim.devices.begin(), claim.devices.end(),
                     [&](const ResourceClaim::Device& device) {
                       return !device.admin_access &&
                              std::find(options.dra_drivers.begin(), options.dra_drivers.end(),
                                        device.driver.view()) != options.dra_drivers.end();
                     });
}

}  // namespace

bool is_gpu_resource(std::string_view name) {
  return name.starts_with("nvidia.com/gpu") || name.starts_with("nvidia.com/mig-");
}

bool uses_gpu(const Pod& pod, const ClaimLookup& claims, const GpuPodOptions& options) {
  if (asks_for_gpu(pod.spec.containers) || asks_for_gpu(pod.spec.init_containers)) return true;
  PodClaims used = claims_of(pod);
  if (used.unresolved > 0) return true;
  return std::any_of(used.names.begin(), used.names.end(), [&](const Text& name) {
    auto claim = claims(pod.meta.ns, name);
    return claim == nullptr || is_gpu_claim(*claim, options);
  });
}

int64_t gpus_requested(const Pod& pod) {
  auto sum_of = [](const Container& container) {
    int64_t sum = 0;
    for (const auto& amount : container.resources) {
      if (is_gpu_resource(amount.name.view())) sum += amount.amount;
    }
    return sum;
  };
  int64_t running = 0;
  for (const auto& container : pod.spec.containers) running += sum_of(container);
  // Init containers run one after another, before the others.
  for (const auto& container : pod.spec.init_containers) {
    running = std::max(running, sum_of(container));
  }
  return running;
}

}  // namespace lockstep::fleet
