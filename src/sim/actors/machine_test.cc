#include "sim/actors/machine.h"

#include <set>

#include <gtest/gtest.h>

namespace lockstep::sim::machine_test {
namespace {

TEST(MachineTest, AFaultAppliesToItsVersionOrToAny) {
  EXPECT_TRUE(applies_to("*", "1"));
  EXPECT_TRUE(applies_to("1", "1"));
  EXPECT_FALSE(applies_to("1", "2"));
  EXPECT_FALSE(applies_to("", "1"));
}

TEST(MachineTest, ADrawnDurationStaysInItsRange) {
  SeededRandom random(3);
  Range range{seconds(2), seconds(5)};
  for (int i = 0; i < 1000; ++i) {
    Duration drawn = range.draw(random);
    EXPECT_GE(drawn, seconds(2));
    EXPECT_LE(drawn, seconds(5));
  }
  EXPECT_EQ((Range{seconds(1), seconds(1)}.draw(random)), seconds(1));
}

TEST(MachineTest, EveryLoadIsANewGeneration) {
  Machine machine("gpu-1", 8);
  EXPECT_FALSE(machine.loaded());
  EXPECT_FALSE(machine.migrating());
  machine.begin_load();
  machine.finish_load("1", "a", Time::from_unix(1));
  EXPECT_EQ(machine.generation(), 1u);
  machine.begin_unload();
  EXPECT_TRUE(machine.migrating());
  machine.finish_unload();
  machine.begin_load();
  machine.abort_load();
  EXPECT_EQ(machine.module(), Machine::Module::unloaded);
  machine.begin_load();
  machine.finish_load("2", "b", Time::from_unix(2));
  EXPECT_EQ(machine.generation(), 2u);
  EXPECT_EQ(machine.version(), "2");
  EXPECT_EQ(machine.loaded_since(), Time::from_unix(2));
}

TEST(MachineTest, AHandleIsStaleAfterAReload) {
  Machine machine("gpu-1", 8);
  machine.finish_load("1", "a", Time::from_unix(1));
  NvmlHandle handle = machine.open_nvml();
  EXPECT_TRUE(machine.prepare(handle, "claim", 0));
  machine.begin_unload();
  auto unloaded = machine.prepare(handle, "claim", 0);
  ASSERT_FALSE(unloaded);
  EXPECT_NE(unloaded.error().message.find("Driver Not Loaded"), std::string::npos);
  machine.finish_load("2", "b", Time::from_unix(2));
  auto stale = machine.prepare(handle, "claim", 0);
  ASSERT_FALSE(stale);
  EXPECT_EQ(stale.error().message,
            "unable to create CDI spec file for claim: claim: failed to initialize NVML: "
            "Driver/library version mismatch");
  EXPECT_TRUE(machine.prepare(machine.open_nvml(), "claim", 0));
}

TEST(MachineTest, AHandleThatWasOpenedBetweenUnloadAndLoadHasEmptyDevices) {
  Machine machine("gpu-1", 8);
  machine.finish_load("1", "a", Time::from_unix(1));
  machine.begin_unload();
  NvmlHandle handle = machine.open_nvml();
  machine.finish_load("2", "b", Time::from_unix(2));
  auto prepared = machine.prepare(handle, "8f3e", 3);
  ASSERT_FALSE(prepared);
  EXPECT_NE(prepared.error().message.find(
                "invalid CDI Spec: failed add device \"8f3e-gpu-3\": empty device edits"),
            std::string::npos);
  EXPECT_EQ(handle.version, "1");
}

TEST(MachineTest, EveryGpuHasAUuidOfItsOwn) {
  std::set<std::string> uuids;
  for (auto name : {"gpu-1", "gpu-2"}) {
    for (int i = 0; i < 8; ++i) uuids.insert(Machine(name, 8).gpu_uuid(i));
  }
  EXPECT_EQ(uuids.size(), 16u);
  EXPECT_EQ(uuids.begin()->size(), std::string("GPU-").size() + 36);
}

}  // namespace
}  // namespace lockstep::sim::machine_test
