#include "fleet/gpu_pods.h"

#include <map>

#include <gtest/gtest.h>

namespace lockstep::fleet::gpu_pods_test {
namespace {

class Claims {
 public:
  void add(const std::string& name, std::vector<ResourceClaim::Device> devices) {
    ResourceClaim claim;
    claim.devices = std::move(devices);
    claims_[name] = std::make_shared<const ResourceClaim>(std::move(claim));
  }
  ClaimLookup lookup() const {
    return [this](std::string_view ns, std::string_view name) {
      auto at = claims_.find(std::string(name));
      return ns == "ml" && at != claims_.end() ? at->second : nullptr;
    };
  }

 private:
  std::map<std::string, std::shared_ptr<const ResourceClaim>> claims_;
};

ResourceClaim::Device device_of(std::string_view driver, bool admin_access = false) {
  ResourceClaim::Device device;
  device.driver = Text(driver);
  device.admin_access = admin_access;
  return device;
}

Container asking(std::string_view resource, int64_t amount = 1) {
  Container container;
  container.resources = {{Text(resource), amount}};
  return container;
}

Pod claiming(std::string_view claim) {
  Pod pod;
  pod.meta.ns = "ml";
  pod.spec.resource_claims = {{"gpu", Text(claim), ""}};
  return pod;
}

bool uses(const Pod& pod, const Claims& claims = {}) { return uses_gpu(pod, claims.lookup(), {}); }

TEST(GpuPod, ResourcesAreKnownByTheBeginningOfTheirName) {
  for (std::string_view name :
       {"nvidia.com/gpu", "nvidia.com/gpu.shared", "nvidia.com/mig-1g.10gb"}) {
    EXPECT_TRUE(is_gpu_resource(name)) << name;
  }
  for (std::string_view name : {"nvidia.com/mig", "amd.com/gpu", "cpu", "", "x.nvidia.com/gpu"}) {
    EXPECT_FALSE(is_gpu_resource(name)) << name;
  }
}

TEST(GpuPod, AContainerOrAnInitContainerThatAsksMakesOne) {
  Pod pod;
  EXPECT_FALSE(uses(pod));
  pod.spec.containers = {asking("rdma/hca")};
  EXPECT_FALSE(uses(pod));
  pod.spec.init_containers = {asking("nvidia.com/mig-1g.10gb")};
  EXPECT_TRUE(uses(pod));
  pod.spec.init_containers.clear();
  pod.spec.containers.push_back(asking("nvidia.com/gpu"));
  EXPECT_TRUE(uses(pod));
}

TEST(GpuPod, AClaimAllocatedByAGpuDriverMakesOne) {
  Claims claims;
  claims.add("of-nvidia", {device_of("gpu.nvidia.com")});
  claims.add("of-lockstep", {device_of("dra.cpu"), device_of("gpu.lockstep.dev")});
  claims.add("of-network", {device_of("rdma.example.com")});
  claims.add("not-allocated", {});
  EXPECT_TRUE(uses(claiming("of-nvidia"), claims));
  EXPECT_TRUE(uses(claiming("of-lockstep"), claims));
  EXPECT_FALSE(uses(claiming("of-network"), claims));
  EXPECT_FALSE(uses(claiming("not-allocated"), claims));
}

TEST(GpuPod, AdminAccessTakesNoGpu) {
  Claims claims;
  claims.add("watcher", {device_of("gpu.nvidia.com", true)});
  claims.add("both", {device_of("gpu.nvidia.com", true), device_of("gpu.nvidia.com")});
  EXPECT_FALSE(uses(claiming("watcher"), claims));
  EXPECT_TRUE(uses(claiming("both"), claims));
}

TEST(GpuPod, AClaimThatCannotBeReadCounts) { EXPECT_TRUE(uses(claiming("unheard-of"))); }

TEST(GpuPod, AClaimFromATemplateIsFoundByThePodsStatus) {
  Claims claims;
  claims.add("pod-gpu-x7", {device_of("gpu.nvidia.com")});
  claims.add("pod-net-x8", {device_of("rdma.example.com")});
  Pod pod;
  pod.meta.ns = "ml";
  pod.spec.resource_claims = {{"gpu", "", "a-template"}};
  EXPECT_TRUE(uses(pod, claims)) << "not made yet: it may become one of a GPU";
  pod.resource_claim_statuses = {{"gpu", "pod-net-x8"}};
  EXPECT_FALSE(uses(pod, claims));
  pod.resource_claim_statuses = {{"gpu", "pod-gpu-x7"}};
  EXPECT_TRUE(uses(pod, claims));
  pod.resource_claim_statuses = {{"gpu", ""}};
  EXPECT_FALSE(uses(pod, claims)) << "none was needed";
}

// Kubernetes 1.34 and later: the container asks for an extended resource of any name, and only the
// pod's status shows that a claim was made for it.
TEST(ExtendedResourceClaim, MakesAGpuPodLikeAnyOther) {
  Claims claims;
  claims.add("pod-extended-gpu", {device_of("gpu.nvidia.com")});
  claims.add("pod-extended-net", {device_of("rdma.example.com")});
  Pod pod;
  pod.meta.ns = "ml";
  pod.spec.containers = {asking("example.com/gpu")};
  EXPECT_FALSE(uses(pod, claims));
  pod.extended_resource_claim = "pod-extended-net";
  EXPECT_FALSE(uses(pod, claims));
  pod.extended_resource_claim = "pod-extended-gpu";
  EXPECT_TRUE(uses(pod, claims));
  pod.extended_resource_claim = "unheard-of";
  EXPECT_TRUE(uses(pod, claims)) << "cannot be read: counts";
}

TEST(GpuPod, WhichDriversAreOfGpusIsAnOption) {
  Claims claims;
  claims.add("a", {device_of("gpu.example.com")});
  GpuPodOptions options;
  EXPECT_FALSE(uses_gpu(claiming("a"), claims.lookup(), options));
  options.dra_drivers = {"gpu.example.com"};
  EXPECT_TRUE(uses_gpu(claiming("a"), claims.lookup(), options));
}

TEST(GpuPod, ContainersTogetherOrTheGreatestInitContainerAskForGpus) {
  Pod pod;
  EXPECT_EQ(gpus_requested(pod), 0);
  pod.spec.containers = {asking("nvidia.com/gpu", 2), asking("nvidia.com/gpu", 1),
                         asking("rdma/hca", 9)};
  EXPECT_EQ(gpus_requested(pod), 3);
  pod.spec.init_containers = {asking("nvidia.com/gpu", 2)};
  EXPECT_EQ(gpus_requested(pod), 3);
  pod.spec.init_containers.push_back(asking("nvidia.com/gpu", 8));
  EXPECT_EQ(gpus_requested(pod), 8);
}

}  // namespace
}  // namespace lockstep::fleet::gpu_pods_test
