#include "objects/resource_slice.h"

#include <gtest/gtest.h>

#include "objects/decode_test_util.h"

namespace lockstep::resource_slice_test {
namespace {

TEST(ResourceSlice, KeepsDevicesAndTheirDriverVersion) {
  ResourceSlice slice = decoded<ResourceSlice>(R"({"metadata":{"name":"gpu-7-x"},
    "spec":{"driver":"gpu.nvidia.com","nodeName":"gpu-7",
      "pool":{"name":"gpu-7","generation":3,"resourceSliceCount":1},
      "devices":[{"name":"gpu-0","attributes":{
          "gpu.nvidia.com/driverVersion":{"version":"580.65.6"},"uuid":{"string":"GPU-1"},
          "minor":{"int":0},"architecture":{"string":"Hopper"}},
        "capacity":{"memory":{"value":"80Gi"}},
        "taints":[{"key":"gpu.lockstep.dev/driver-upgrading","effect":"NoSchedule",
                   "timeAdded":"2026-11-15T04:20:11Z"}]}]}})");
  EXPECT_EQ(slice.driver, "gpu.nvidia.com");
  EXPECT_EQ(slice.node_name, "gpu-7");
  EXPECT_EQ(slice.pool, "gpu-7");
  EXPECT_EQ(slice.pool_generation, 3);
  EXPECT_EQ(slice.pool_slices, 1);
  const ResourceSlice::Device& device = slice.devices.at(0);
  EXPECT_EQ(device.attributes.size(), 2U);
  ASSERT_NE(device.find_attribute("driverVersion"), nullptr);
  EXPECT_EQ(*device.find_attribute("driverVersion"), "580.65.6");
  EXPECT_EQ(*device.find_attribute("gpu.nvidia.com/driverVersion"), "580.65.6");
  EXPECT_EQ(*device.find_attribute("gpu.nvidia.com/uuid"), "GPU-1");
  EXPECT_EQ(device.find_attribute("architecture"), nullptr);
  EXPECT_EQ(device.taints.at(0).effect, "NoSchedule");
}

TEST(ResourceSlice, OlderVersionsNestTheDevice) {
  ResourceSlice slice = decoded<ResourceSlice>(R"({"metadata":{"name":"a"},"spec":{"devices":[
    {"name":"gpu-0","basic":{"attributes":{"driverVersion":{"version":"570.1.0"}}}}]}})");
  EXPECT_EQ(slice.devices.at(0).name, "gpu-0");
  EXPECT_EQ(*slice.devices.at(0).find_attribute("driverVersion"), "570.1.0");
}

TEST(ResourceSlice, AnyScalarIsAnAttribute) {
  DecodeContext context;
  context.keep_attributes = {"minor", "ecc", "gone"};
  auto slice = decode_object<ResourceSlice>(
      R"({"metadata":{"name":"a"},"spec":{"devices":[{"attributes":{"minor":{"int":7},
          "ecc":{"bool":true},"gone":null}}]}})",
      context);
  ASSERT_TRUE(slice.has_value()) << slice.error().text();
  EXPECT_EQ(slice->devices[0].attributes,
            (StringMap{{"ecc", "true"}, {"gone", ""}, {"minor", "7"}}));
}

}  // namespace
}  // namespace lockstep::resource_slice_test
