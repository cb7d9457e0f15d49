// The two bugs that NVIDIA's plugin has (seeds 000 and 001), played against ours: no annotation on
// the DaemonSet, no hook after the upgrade, no controller that restarts anything. After the node is
// back no prepare fails for a driver that is gone.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "dra_node.h"
#include "world/files.h"

namespace lockstep::dra::seed_bugs_test {
namespace {

struct SeedBugs : ::testing::Test {
  void start(const std::vector<std::string>& flags = {}) {
    node.start_plugin("plugin", flags);
    node.wait_ready();
  }
  // One pod after the other, as a Deployment makes them: each must run at its first try.
  void expect_pods_run(const std::string& version, int count = 3) {
    for (int i = 0; i < count; ++i) {
      const std::string name = fmt::format("pod-{}", ++made_);
      KubeletClaim claim = node.claim(name, "gpu-0");
      PodRun pod = node.kubelet().start_pod({claim});
      EXPECT_EQ(pod.phase, PodPhase::running) << pod.message;
      EXPECT_EQ(pod.environment["LOCKSTEP_DRIVER_VERSION"], version);
      auto ended = node.kubelet().end_pod({claim});
      ASSERT_TRUE(ended) << ended.error().text();
      node.remove_claim(name);
    }
  }

  DraNode node;

 private:
  int made_ = 0;
};

// Seed 000: the chart is bumped, the driver moves on, and the plugin runs on.
TEST_F(SeedBugs, StaleNvmlNobodyRestartsThePluginWhenTheDriverMoves) {
  start();
  expect_pods_run(old_driver);
  node.unload_driver();
  ASSERT_TRUE(node.wait([&] { return node.taints().size() == 2; }));
  node.load_driver(new_driver);
  expect_pods_run(new_driver);
  EXPECT_TRUE(node.wait([&] { return node.driver_in_slice() == "580.105.8"; }));
}

// Seed 001: the annotation restarts the plugin while its node is between two modules.
TEST_F(SeedBugs, TimingRaceThePluginStartsBetweenTwoModules) {
  start();
  node.unload_driver();
  EXPECT_EQ(node.end_plugin(), 0);
  // It serves anyway: unprepare needs no driver.
  node.start_plugin("plugin");
  ASSERT_TRUE(node.wait([&] {
    return !node.kubelet().endpoints().empty() &&
           node.status("/readyz").find(" 503 ") != std::string::npos;
  }));
  node.load_driver(new_driver);
  expect_pods_run(new_driver);
  EXPECT_TRUE(node.wait([&] { return node.taints().empty(); }));
}

// The same, a moment earlier: the new library is there, and the old module still loaded.
TEST_F(SeedBugs, TimingRaceThePluginStartsWithALibraryThatTheModuleRefuses) {
  start();
  EXPECT_EQ(node.end_plugin(), 0);
  node.load_driver(new_driver);
  const std::string version = node.path("root/proc/driver/nvidia/version");
  const std::string loaded = *SystemFiles().read(version);
  ASSERT_TRUE(SystemFiles().write(
      version, "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.95.05  x\n"));
  ASSERT_TRUE(SystemFiles().write(node.path("root/sys/module/nvidia/version"), "580.95.05\n"));
  node.start_plugin("plugin", {"--call-limit", "3s"});
  ASSERT_TRUE(node.wait([&] {
    return !node.kubelet().endpoints().empty() &&
           node.status("/readyz").find("of different versions") != std::string::npos;
  }));
  KubeletClaim early = node.claim("early", "gpu-1");
  PodRun pod = node.kubelet().start_pod({early});
  EXPECT_EQ(pod.phase, PodPhase::pending);
  EXPECT_NE(pod.message.find("try again"), std::string::npos) << pod.message;
  node.load_driver(new_driver);
  EXPECT_EQ(*SystemFiles().read(version), loaded);
  expect_pods_run(new_driver);
  EXPECT_EQ(node.kubelet().start_pod({early}).phase, PodPhase::running);
}

}  // namespace
}  // namespace lockstep::dra::seed_bugs_test
