#include "dra/device_health.h"

#include <gtest/gtest.h>

namespace lockstep::dra::device_health_test {
namespace {

Inventory two_gpus() {
  Inventory inventory;
  for (int i = 0; i < 2; ++i) {
    Gpu gpu;
    gpu.minor = i;
    gpu.name = "gpu-" + std::to_string(i);
    gpu.uuid = "GPU-" + std::to_string(i);
    gpu.pci = i == 0 ? "00000000:3b:00.0" : "00000000:af:00.0";
    gpu.recovery_action = 0;
    inventory.gpus.push_back(gpu);
  }
  return inventory;
}

TEST(DeviceHealth, BrokenAtOnceConfirmedTheSecondTimeWellByItself) {
  DeviceHealth health;
  Inventory inventory = two_gpus();
  EXPECT_TRUE(health.observe(inventory, Time::from_unix(1)));
  EXPECT_FALSE(health.observe(inventory, Time::from_unix(2))) << "nothing is new";
  EXPECT_EQ(health.conditions().at("gpu-0").updated, Time::from_unix(1));
  inventory.gpus[0].recovery_action = 1;
  EXPECT_TRUE(health.observe(inventory, Time::from_unix(3)));
  EXPECT_TRUE(health.conditions().at("gpu-0").broken);
  EXPECT_FALSE(health.conditions().at("gpu-0").confirmed);
  EXPECT_TRUE(health.wants_confirmation());
  EXPECT_TRUE(health.observe(inventory, Time::from_unix(4)));
  EXPECT_TRUE(health.conditions().at("gpu-0").confirmed);
  EXPECT_FALSE(health.conditions().at("gpu-1").broken);
  EXPECT_FALSE(health.wants_confirmation());
  inventory.gpus[0].recovery_action = 0;
  EXPECT_TRUE(health.observe(inventory, Time::from_unix(5)));
  EXPECT_FALSE(health.conditions().at("gpu-0").broken);
  EXPECT_EQ(health.conditions().at("gpu-0").reason, "");
}

TEST(DeviceHealth, EachTroubleHasItsWords) {
  Gpu gpu;
  EXPECT_EQ(trouble_of(gpu), "");
  gpu.uncorrected_errors = 1;
  EXPECT_EQ(trouble_of(gpu), "the GPU's memory has errors that were not corrected");
  gpu.remap_pending = true;
  EXPECT_EQ(trouble_of(gpu), "the GPU needs a reset to replace a row of its memory");
  gpu.recovery_action = 0;
  EXPECT_EQ(trouble_of(gpu), "") << "the driver knows better";
  gpu.remap_failed = true;
  EXPECT_EQ(trouble_of(gpu), "a row of the GPU's memory could not be replaced");
  gpu.recovery_action = 1;
  EXPECT_EQ(trouble_of(gpu), "the GPU needs a reset");
  gpu.recovery_action = 2;
  EXPECT_EQ(trouble_of(gpu), "the node needs a reboot");
  gpu.recovery_action = 9;
  EXPECT_EQ(trouble_of(gpu), "the GPU needs to be recovered");
  gpu.lost = true;
  EXPECT_EQ(trouble_of(gpu), "the GPU is lost");
}

TEST(DeviceHealth, AnXidCountsOnlyWhereNvmlHasNoWord) {
  DeviceHealth health;
  Inventory inventory = two_gpus();
  EXPECT_TRUE(health.note_fatal_xid(inventory, "0000:3b:00", 79));
  EXPECT_FALSE(health.note_fatal_xid(inventory, "0000:01:00", 79)) << "no GPU of ours";
  health.observe(inventory, Time::from_unix(1));
  EXPECT_FALSE(health.conditions().at("gpu-0").broken) << "NVML says that nothing is to be done";
  inventory.gpus[0].recovery_action = std::nullopt;
  health.observe(inventory, Time::from_unix(2));
  EXPECT_EQ(health.conditions().at("gpu-0").reason, "the driver reported XID 79");
  health.observe(inventory, Time::from_unix(3));
  EXPECT_TRUE(health.conditions().at("gpu-0").broken) << "it stays so by itself";
  health.forget_xids();
  health.observe(inventory, Time::from_unix(4));
  EXPECT_FALSE(health.conditions().at("gpu-0").broken);
}

TEST(DeviceHealth, DevicesThatAreGoneAreForgotten) {
  DeviceHealth health;
  Inventory inventory = two_gpus();
  health.observe(inventory, Time::from_unix(1));
  inventory.gpus.pop_back();
  EXPECT_TRUE(health.observe(inventory, Time::from_unix(2)));
  EXPECT_EQ(health.conditions().size(), 1u);
}

}  // namespace
}  // namespace lockstep::dra::device_health_test
