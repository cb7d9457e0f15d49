#include "dra/driver_state.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "world/directories_test_util.h"

namespace lockstep::dra::driver_state_test {
namespace {

namespace fs = std::filesystem;

struct DriverStateTest : ::testing::Test {
  DriverStateTest() {
    load("580.95.05");
    root.write("proc/sys/kernel/random/boot_id", "boot-1\n");
    root.write("driver/usr/lib64/libnvidia-ml.so.580.95.05", "old");
    fs::create_symlink("libnvidia-ml.so.580.95.05", root / "driver/usr/lib64/libnvidia-ml.so.1");
    places = {root / "proc", root / "sys", root / "dev", {"", root / "driver"}};
  }
  void load(const std::string& version) {
    root.write("proc/driver/nvidia/version",
               "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  " + version +
                   "  Release Build\nGCC version:  gcc 12.2.0\n");
    root.write("sys/module/nvidia/version", version + "\n");
  }
  DriverState state() { return read_driver_state(places); }

  lockstep::testing::TemporaryDirectory root;
  DriverPlaces places;
};

TEST_F(DriverStateTest, SaysWhatIsLoaded) {
  DriverState now = state();
  EXPECT_EQ(now.module_version, "580.95.05");
  EXPECT_EQ(now.library_path, root / "driver/usr/lib64/libnvidia-ml.so.580.95.05");
  EXPECT_EQ(now.library_folder, root / "driver/usr/lib64");
  EXPECT_EQ(now.boot_id, "boot-1");
  EXPECT_TRUE(now.usable());
  EXPECT_EQ(state(), now) << "nothing changed";
}

TEST_F(DriverStateTest, EveryChangeShows) {
  DriverState before = state();
  load("580.105.08");
  EXPECT_NE(state(), before) << "another version";
  load("580.95.05");
  before = state();
  fs::rename(root / "sys/module/nvidia", root / "sys/module/old");
  EXPECT_EQ(state().module_version, "") << "taken out";
  EXPECT_FALSE(state().usable());
  load("580.95.05");
  EXPECT_NE(state(), before) << "the same version, loaded again";
  before = state();
  root.write("driver/usr/lib64/libnvidia-ml.so.580.95.05", "replaced");
  EXPECT_NE(state(), before) << "the file under the same name is another";
  before = state();
  root.write("proc/sys/kernel/random/boot_id", "boot-2\n");
  EXPECT_NE(state(), before);
  before = state();
  fs::rename(root / "driver", root / "gone");
  EXPECT_EQ(state().library_path, "") << "the mount is gone";
  EXPECT_FALSE(state().usable());
}

TEST_F(DriverStateTest, AModuleHalfOutIsNone) {
  fs::remove(root / "proc/driver/nvidia/version");
  EXPECT_EQ(state().module_version, "");
  load("580.95.05");
  root.write("sys/module/nvidia/version", "580.105.08\n");
  EXPECT_EQ(state().module_version, "") << "the two do not agree";
}

TEST(DriverState, VersionsAreFoundInTheKernelsWords) {
  EXPECT_EQ(module_version_in("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.54.03  Tue\n"),
            "535.54.03");
  EXPECT_EQ(module_version_in("NVRM version: NVIDIA UNIX x86_64 Kernel Module  390.157  Tue\n"),
            "390.157");
  EXPECT_EQ(module_version_in("GCC version: gcc 12.2.0\n"), "");
  EXPECT_EQ(module_version_in(""), "");
}

}  // namespace
}  // namespace lockstep::dra::driver_state_test
