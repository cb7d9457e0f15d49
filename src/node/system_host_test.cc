#include "node/system_host.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "base/patience_test_util.h"

namespace lockstep::node::system_host_test {
namespace {

namespace fs = std::filesystem;

// A directory that imitates a machine, and a kernel that records its calls.
class MachineTest : public ::testing::Test, public Kernel {
 protected:
  MachineTest() {
    std::string name = (fs::temp_directory_path() / "lockstep-machine-XXXXXX").string();
    root_ = mkdtemp(name.data());
    write("proc/modules", "");
    write("proc/self/mountinfo", "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n");
    fs::create_directories(root_ + "/run/nvidia");
  }
  ~MachineTest() override { fs::remove_all(root_); }

  void write(const std::string& path, const std::string& text, int mode = 0644) {
    fs::create_directories(fs::path(root_ + "/" + path).parent_path());
    ASSERT_TRUE(files_.write(root_ + "/" + path, text, mode));
  }
  void open_file(const std::string& process, const std::string& number, const std::string& target) {
    fs::create_directories(root_ + "/proc/" + process + "/fd");
    fs::create_symlink(target, root_ + "/proc/" + process + "/fd/" + number);
  }
  SystemHost host() {
    SystemHostOptions options;
    options.proc = root_ + "/proc";
    options.run = root_ + "/run/nvidia";
    options.host_root = root_ + "/host";
    options.program_limit = limit_;
    return {files_, processes_, *this, options};
  }
  Result<void> unload(const std::string& module) override {
    calls_.push_back("unload " + module);
    return {};
  }
  Result<void> unmount(const std::string& target) override {
    calls_.push_back("unmount " + target);
    return {};
  }

  std::string root_;
  SystemFiles files_;
  SystemProcesses processes_;
  Duration limit_ = test_patience;
  std::vector<std::string> calls_;
};

TEST_F(MachineTest, AMachineWithoutADriver) {
  SystemHost machine = host();
  auto view = machine.look();
  ASSERT_TRUE(view) << view.error().text();
  EXPECT_TRUE(view->modules.empty());
  EXPECT_TRUE(view->driver_mounts.empty());
  EXPECT_EQ(view->digest, "");
  EXPECT_EQ(view->digest_file, "");
  EXPECT_EQ(view->process_file, "");
  auto installed = machine.installed_driver();
  ASSERT_TRUE(installed);
  EXPECT_FALSE(installed->has_value());
}

TEST_F(MachineTest, ADriverContainersTracesAreSeen) {
  write("proc/modules", "nvidia_uvm 1 1 - Live 0x0\nnvidia 1 2 nvidia_uvm, Live 0x0\n");
  write("proc/self/mountinfo", "1 0 8:1 / / rw\n2 1 0:2 / " + root_ +
                                   "/run/nvidia/driver rw\n3 2 0:3 / " + root_ +
                                   "/run/nvidia/driver/sys rw\n");
  write("run/nvidia/nvidia-driver.state", "sha256:abc\n");
  write("run/nvidia/nvidia-driver.pid", "4711\n");
  open_file("4711", "0", "/dev/null");
  open_file("4711", "5", "/dev/nvidia-uvm");
  write("proc/4711/comm", "python3\n");
  open_file("12", "3", "/dev/nvidiactl");
  open_file("13", "3", "/dev/null");
  auto view = host().look();
  ASSERT_TRUE(view) << view.error().text();
  EXPECT_EQ(view->modules.size(), 2u);
  EXPECT_EQ(view->driver_mounts, (std::vector<std::string>{root_ + "/run/nvidia/driver/sys",
                                                           root_ + "/run/nvidia/driver"}));
  EXPECT_EQ(view->digest, "sha256:abc");
  EXPECT_EQ(view->digest_file, root_ + "/run/nvidia/nvidia-driver.state");
  EXPECT_EQ(view->process_file, root_ + "/run/nvidia/nvidia-driver.pid");
  EXPECT_EQ(view->holders, (std::vector<DeviceHolder>{{12, "?"}, {4711, "python3"}}));
}

TEST_F(MachineTest, WhatCannotBeReadIsAnErrorThatNamesTheFile) {
  write("proc/modules", "nonsense\n");
  auto view = host().look();
  ASSERT_FALSE(view);
  EXPECT_NE(view.error().text().find("/proc/modules"), std::string::npos) << view.error().text();
  write("proc/modules", "");
  write("proc/self/mountinfo", "nonsense\n");
  view = host().look();
  ASSERT_FALSE(view);
  EXPECT_NE(view.error().text().find("mountinfo"), std::string::npos) << view.error().text();
  fs::remove(root_ + "/proc/modules");
  EXPECT_FALSE(host().look());
}

TEST_F(MachineTest, ADriverOfTheHostIsKnownByItsProgramThatWorks) {
  write("host/usr/bin/nvidia-smi", "#!/bin/sh\necho 580.105.08\necho 580.105.08\n", 0755);
  auto installed = host().installed_driver();
  ASSERT_TRUE(installed) << installed.error().text();
  EXPECT_EQ(*installed, "580.105.08");
}

TEST_F(MachineTest, WhatIsLeftOfADriverThatWasTakenOffIsNone) {
  write("host/usr/bin/nvidia-smi", "#!/bin/sh\necho could not communicate >&2\nexit 9\n", 0755);
  auto installed = host().installed_driver();
  ASSERT_TRUE(installed);
  EXPECT_FALSE(installed->has_value());
  // The next place is searched anyway.
  write("host/opt/bin/nvidia-smi", "#!/bin/sh\necho 570.1\n", 0755);
  installed = host().installed_driver();
  ASSERT_TRUE(installed);
  EXPECT_EQ(*installed, "570.1");
}

TEST_F(MachineTest, AProgramThatHangsSaysNothingEitherWay) {
  limit_ = milliseconds(100);
  write("host/usr/bin/nvidia-smi", "#!/bin/sh\nexec sleep 60\n", 0755);
  auto installed = host().installed_driver();
  ASSERT_FALSE(installed);
  EXPECT_EQ(installed.error().kind, ErrorKind::timed_out);
}

TEST_F(MachineTest, TheKernelIsAskedByName) {
  SystemHost machine = host();
  EXPECT_TRUE(machine.unload("nvidia_uvm"));
  EXPECT_TRUE(machine.unmount("/run/nvidia/driver"));
  EXPECT_EQ(calls_, (std::vector<std::string>{"unload nvidia_uvm", "unmount /run/nvidia/driver"}));
  write("run/nvidia/nvidia-driver.pid", "1");
  EXPECT_TRUE(machine.remove(root_ + "/run/nvidia/nvidia-driver.pid"));
  EXPECT_FALSE(fs::exists(root_ + "/run/nvidia/nvidia-driver.pid"));
}

TEST_F(MachineTest, OnADirectoryTheKernelIsNotTouched) {
  NoKernel kernel;
  auto unloaded = kernel.unload("nvidia");
  ASSERT_FALSE(unloaded);
  EXPECT_EQ(unloaded.error().kind, ErrorKind::unsupported);
  EXPECT_FALSE(kernel.unmount("/run/nvidia/driver"));
}

// A process that may unmount finds no mount, which is success; one that may not gets an
// error.
TEST(SystemKernelTest, WhatIsNotMountedNeedNotBeUnmounted) {
  SystemKernel kernel;
  auto unmounted = kernel.unmount("/lockstep/no/such/mount");
  EXPECT_TRUE(unmounted || unmounted.error().kind == ErrorKind::forbidden)
      << unmounted.error().text();
  auto unloaded = kernel.unload("lockstep_no_such_module");
  EXPECT_TRUE(unloaded || unloaded.error().kind != ErrorKind::conflict);
}

}  // namespace
}  // namespace lockstep::node::system_host_test
