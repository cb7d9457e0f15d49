#include "dra/inventory.h"

#include <gtest/gtest.h>

namespace lockstep::dra::inventory_test {
namespace {

constexpr std::string_view answer =
    R"({"driverVersion":"580.105.08","cudaVersion":"13.0","library":"/l","gpus":[
        {"index":1,"minor":1,"uuid":"GPU-b","name":"NVIDIA H200","health":{"lost":true}},
        {"index":0,"minor":0,"uuid":"GPU-a","name":"NVIDIA H200","architecture":"Hopper",
         "computeCapability":"9.0","pci":"00000000:3B:00.0","memory_bytes":150000000000,
         "health":{"ecc":{"recovery_action":2,"uncorrected_volatile":3,
                          "remapped_rows":{"pending":true,"failed":false}}}},
        {"index":2,"lost":true}]})";

TEST(Inventory, IsReadInOrderAndWithHealth) {
  auto inventory = read_inventory(answer);
  ASSERT_TRUE(inventory) << inventory.error().text();
  EXPECT_EQ(inventory->driver_version, "580.105.08");
  ASSERT_EQ(inventory->gpus.size(), 2u) << "one without a name is none";
  const Gpu& first = inventory->gpus[0];
  EXPECT_EQ(first.name, "gpu-0");
  EXPECT_EQ(first.pci, "00000000:3b:00.0");
  EXPECT_EQ(first.memory_bytes, 150000000000u);
  EXPECT_EQ(first.recovery_action, 2);
  EXPECT_TRUE(first.remap_pending);
  EXPECT_EQ(first.uncorrected_errors, 3u);
  EXPECT_FALSE(first.lost);
  EXPECT_TRUE(inventory->find("gpu-1")->lost);
  EXPECT_EQ(inventory->find("gpu-1")->recovery_action, std::nullopt) << "not said is not zero";
  EXPECT_EQ(inventory->find("gpu-2"), nullptr);
}

TEST(Inventory, WhatNvmlRefusedIsAnErrorOfItsKind) {
  auto mismatch =
      read_inventory(R"x({"error":"nvmlInit_v2: mismatch (code 18)","kind":"conflict"})x");
  ASSERT_FALSE(mismatch);
  EXPECT_EQ(mismatch.error().kind, ErrorKind::conflict);
  EXPECT_EQ(read_inventory(R"({"error":"x","kind":"not found"})").error().kind,
            ErrorKind::not_found);
  for (const char* none : {"", "{", "{}", R"({"driverVersion":"1"})", R"({"gpus":[]})"}) {
    EXPECT_EQ(read_inventory(none).error().kind, ErrorKind::internal) << none;
  }
}

TEST(Inventory, AGpuThatVanishesIsLost) {
  auto before = *read_inventory(answer);
  Inventory now = before;
  now.gpus.erase(now.gpus.begin());
  Inventory kept = keep_lost_gpus(before, now);
  ASSERT_EQ(kept.gpus.size(), 2u);
  EXPECT_EQ(kept.gpus[0].uuid, "GPU-a");
  EXPECT_TRUE(kept.gpus[0].lost);
  EXPECT_EQ(keep_lost_gpus(before, before), before);
}

TEST(Inventory, VersionsBecomeSemantic) {
  EXPECT_EQ(semantic_version("580.105.08"), "580.105.8");
  EXPECT_EQ(semantic_version("580.00"), "580.0.0");
  EXPECT_EQ(semantic_version("13"), "13.0.0");
  EXPECT_EQ(semantic_version("550.54.14.01"), "550.54.14");
  EXPECT_EQ(semantic_version("570.10-beta"), "570.10.0");
}

}  // namespace
}  // namespace lockstep::dra::inventory_test
