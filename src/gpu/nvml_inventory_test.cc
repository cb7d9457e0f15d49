#include "gpu/nvml_inventory.h"

#include <gtest/gtest.h>

#include "gpu/fake_test_util.h"

namespace lockstep::gpu::nvml_inventory_test {
namespace {

TEST(NvmlInventory, SaysWhoTheGpusAreAndHowTheyAre) {
  FakeGpu fake("gpus 2\ndriver 580.105.08\n1.recovery_action 1\n");
  Json answer = ask_inventory(fake.places);
  EXPECT_EQ(text_at(answer, "driverVersion"), "580.105.08");
  EXPECT_EQ(text_at(answer, "cudaVersion"), "13.0");
  const JsonArray& gpus = find(answer, "gpus")->as_array();
  ASSERT_EQ(gpus.size(), 2u);
  EXPECT_EQ(text_at(gpus[0], "uuid"), "GPU-fake-0");
  EXPECT_EQ(text_at(gpus[0], "architecture"), "Hopper");
  EXPECT_EQ(text_at(gpus[0], "computeCapability"), "9.0");
  EXPECT_EQ(as_integer(find(gpus[1], "minor")), 1);
  EXPECT_EQ(as_integer(find(gpus[0], "health", "ecc", "recovery_action"), 7), 0);
  EXPECT_EQ(as_integer(find(gpus[1], "health", "ecc", "recovery_action"), 7), 1);
}

TEST(NvmlInventory, AGpuThatIsLostIsStillThere) {
  FakeGpu fake("gpus 2\nfail 1.nvmlDeviceGetHandleByIndex_v2 15\n");
  const Json answer = ask_inventory(fake.places);
  const JsonArray& gpus = find(answer, "gpus")->as_array();
  ASSERT_EQ(gpus.size(), 2u);
  EXPECT_TRUE(as_bool(find(gpus[1], "lost")));
  EXPECT_FALSE(as_bool(find(gpus[0], "lost")));
}

TEST(NvmlInventory, WhatCannotBeAskedSaysWhy) {
  FakeGpu mismatch("fail nvmlInit_v2 18\n");
  Json answer = ask_inventory(mismatch.places);
  EXPECT_EQ(text_at(answer, "kind"), "conflict");
  EXPECT_NE(text_at(answer, "error").find("version mismatch"), std::string_view::npos);
  EXPECT_EQ(text_at(ask_inventory({"/no/such/place", ""}), "kind"), "not found");
  EXPECT_EQ(text_at(ask_inventory({HOLLOW_DRIVER, ""}), "kind"), "not found")
      << "a library without symbols is as none";
}

// The library of one version refuses to work with the kernel module of another.
TEST(NvmlInventory, TheFakeLooksAtTheFakeKernelsVersion) {
  FakeRoot root;
  root.write("version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.95.05  x\n");
  std::string scenario = "driver 580.105.08\nkernel " + root.path + "/version\n";
  FakeGpu fake(scenario);
  EXPECT_EQ(text_at(ask_inventory(fake.places), "kind"), "conflict");
  root.write("version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.105.08  x\n");
  EXPECT_EQ(text_at(ask_inventory(fake.places), "driverVersion"), "580.105.08");
}

TEST(NvmlInventory, ArchitecturesHaveNames) {
  EXPECT_EQ(architecture_name(9), "Hopper");
  EXPECT_EQ(architecture_name(10), "Blackwell");
  EXPECT_EQ(architecture_name(99), "");
}

}  // namespace
}  // namespace lockstep::gpu::nvml_inventory_test
