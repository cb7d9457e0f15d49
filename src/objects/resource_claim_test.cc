#include "objects/resource_claim.h"

#include <gtest/gtest.h>

#include "objects/decode_test_util.h"

namespace lockstep::resource_claim_test {
namespace {

TEST(ResourceClaim, KeepsAllocationConsumersAndDeviceStatus) {
  ResourceClaim claim = decoded<ResourceClaim>(R"({"metadata":{"name":"c","namespace":"n"},
    "spec":{"devices":{"requests":[{"name":"gpu","exactly":{"deviceClassName":"gpu.nvidia.com"}}]}},
    "status":{"allocation":{"devices":{"results":[
          {"request":"gpu","driver":"gpu.nvidia.com","pool":"gpu-7","device":"gpu-0"},
          {"request":"mon","driver":"gpu.nvidia.com","pool":"gpu-7","device":"gpu-1",
           "adminAccess":true,"shareID":"s"}],"config":[{"opaque":{}}]},
        "nodeSelector":{"nodeSelectorTerms":[]}},
      "reservedFor":[{"resource":"pods","name":"p","uid":"u1"}],
      "devices":[{"driver":"gpu.nvidia.com","pool":"gpu-7","device":"gpu-0",
        "conditions":[{"type":"Ready","status":"False","reason":"Broken"}],"data":{"x":1}}]}})");
  EXPECT_TRUE(claim.allocated);
  ASSERT_EQ(claim.devices.size(), 2U);
  EXPECT_EQ(claim.devices[0],
            (ResourceClaim::Device{"gpu", "gpu.nvidia.com", "gpu-7", "gpu-0", "", false}));
  EXPECT_TRUE(claim.devices[1].admin_access);
  EXPECT_EQ(claim.devices[1].share_id, "s");
  EXPECT_TRUE(claim.is_reserved_for("u1"));
  EXPECT_FALSE(claim.is_reserved_for("u2"));
  ASSERT_EQ(claim.device_statuses.size(), 1U);
  EXPECT_EQ(claim.device_statuses[0].conditions[0].reason, "Broken");
}

TEST(ResourceClaim, IsAllocatedOnlyWhenThereIsAnAllocation) {
  EXPECT_FALSE(decoded<ResourceClaim>(R"({"metadata":{"name":"c"}})").allocated);
  EXPECT_FALSE(decoded<ResourceClaim>(R"({"metadata":{"name":"c"},"status":{"allocation":null}})")
                   .allocated);
  EXPECT_TRUE(
      decoded<ResourceClaim>(R"({"metadata":{"name":"c"},"status":{"allocation":{}}})").allocated);
}

}  // namespace
}  // namespace lockstep::resource_claim_test
