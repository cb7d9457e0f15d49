// The whole gate against the fake driver, with worker processes as in real life.
#include "gpu/gate.h"

#include <map>

#include "base/patience_test_util.h"
#include "gpu/fake_test_util.h"
#include "gpu/judge_test_util.h"

namespace lockstep::gpu::gate_test {
namespace {

class GateTest : public ::testing::Test {
 protected:
  GateTest() {
    root_.write("proc/driver/nvidia/version",
                "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.95.05  x\n");
    root_.write("dev/kmsg", "");
    for (const char* node : {"nvidiactl", "nvidia-uvm", "nvidia0", "nvidia1"})
      root_.write(fmt::format("dev/{}", node), "");
    options_.root = root_.path;
    options_.worker = {GATE_WORKER};
    options_.measure.product_size = 256;
    options_.measure.copy_bytes = 1 << 20;
    options_.budget = test_patience;
    options_.call_deadline = test_patience;
  }

  Result<GateOutcome> run(const std::string& scenario, std::vector<std::string> checks = {}) {
    FakeGpu fake(scenario);
    if (options_.places.directory.empty()) options_.places = fake.places;
    options_.checks = std::move(checks);
    return run_gate(options_);
  }
  // The worst of the results of a check, with its text.
  CheckResult of(const Result<GateOutcome>& outcome, std::string_view check) {
    EXPECT_TRUE(outcome.has_value()) << outcome.error().text();
    CheckResult worst;
    bool found = false;
    for (const CheckResult& result : outcome ? outcome->results : std::vector<CheckResult>()) {
      if (result.check != check) continue;
      if (!found || result.verdict > worst.verdict) worst = result;
      found = true;
    }
    EXPECT_TRUE(found) << check;
    return worst;
  }
  bool says(const CheckResult& result, std::string_view words) {
    return result.text.find(words) != std::string::npos;
  }

  FakeRoot root_;
  GateOptions options_;
};

TEST_F(GateTest, AGoodNodePassesEverything) {
  auto outcome = run("gpus 2\n");
  ASSERT_TRUE(outcome.has_value()) << outcome.error().text();
  for (const CheckResult& result : outcome->results) {
    // Copies between GPUs and products of this size have no minimum, and RDMA is missing.
    if (result.check == "peer" || result.check == "inference")
      EXPECT_EQ(result.verdict, Verdict::inconclusive) << result.text;
    else if (result.check == "rdma")
      EXPECT_EQ(result.verdict, Verdict::skipped) << result.text;
    else
      EXPECT_EQ(result.verdict, Verdict::passed) << result.check << ": " << result.text;
  }
  EXPECT_EQ(exit_code_of(*outcome), 1);
  // With its own facts as the baseline nothing is left open.
  options_.baseline = outcome->facts;
  auto again = run("gpus 2\n");
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(overall(*again), Verdict::passed);
  EXPECT_EQ(exit_code_of(*again), 0);
}

// `lockstep gate --list`, each seen to pass and to fail; a check that is new wants its two lines.
TEST_F(GateTest, EveryCheckPassesOnAGoodNodeAndFailsOnItsOwnTrouble) {
  root_.write("sys/class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE\n");
  root_.write("sys/class/infiniband/mlx5_0/ports/1/phys_state", "5: LinkUp\n");
  root_.write("sys/class/infiniband/mlx5_0/ports/1/rate", "400 Gb/sec (4X NDR)\n");
  const std::map<std::string_view, std::string> troubles = {{"driver", "driver 570.1\n"},
                                                            {"ecc", "remap_failed 1\n"},
                                                            {"memory", "flip_memory 1\n"},
                                                            {"training", "training"},
                                                            {"inference", "inference"},
                                                            {"pcie", "flip_download 1\n"},
                                                            {"peer", "flip_peer 1\n"},
                                                            {"nvlink", "nvlink_inactive 3\n"},
                                                            {"rdma", "rdma"},
                                                            {"xid", "xid 79\n"},
                                                            {"throttle", "throttle 0x40\n"}};
  auto first = run("gpus 2\n");
  ASSERT_TRUE(first.has_value()) << first.error().text();
  options_.baseline = first->facts;
  auto good = run("gpus 2\n");
  for (const GateCheck& check : gate_checks) {
    const std::string name(check.name);
    EXPECT_EQ(of(good, name).verdict, Verdict::passed) << name << ": " << of(good, name).text;
    auto trouble = troubles.find(check.name);
    ASSERT_NE(trouble, troubles.end()) << name << " has no trouble of its own";
    options_.measure.wrong = trouble->second == name ? name : "";
    if (name == "rdma") root_.write("sys/class/infiniband/mlx5_0/ports/1/state", "1: DOWN\n");
    const bool is_scenario = trouble->second.ends_with("\n");
    auto bad = run("gpus 2\n" + (is_scenario ? trouble->second : ""), {name});
    EXPECT_EQ(of(bad, name).verdict, Verdict::failed) << name << ": " << of(bad, name).text;
    EXPECT_EQ(exit_code_of(*bad), 1) << name;
  }
}

TEST_F(GateTest, OneBadGpuAmongGoodOnesIsNamed) {
  auto outcome = run("gpus 2\n1.flip_memory 1\n", {"memory"});
  ASSERT_TRUE(outcome.has_value()) << outcome.error().text();
  ASSERT_EQ(outcome->results.size(), 2U);
  EXPECT_EQ(outcome->results[0].verdict, Verdict::passed);
  EXPECT_EQ(outcome->results[1].verdict, Verdict::failed);
  EXPECT_EQ(outcome->results[1].gpu, "GPU-fake-1");
  EXPECT_EQ(exit_code_of(*outcome), 1);
}

TEST_F(GateTest, NoDriverIsNotFound) {
  options_.places = {root_.path, ""};
  auto outcome = run("gpus 1\n");
  ASSERT_FALSE(outcome.has_value());
  EXPECT_EQ(outcome.error().kind, ErrorKind::not_found);
  EXPECT_NE(outcome.error().message.find("libnvidia-ml.so.1"), std::string::npos);
}

TEST_F(GateTest, ALibraryWithoutSymbolsIsNotFoundAndTheSymbolIsNamed) {
  options_.places = {HOLLOW_DRIVER, ""};
  auto outcome = run("gpus 1\n");
  ASSERT_FALSE(outcome.has_value());
  EXPECT_EQ(outcome.error().kind, ErrorKind::not_found);
  EXPECT_NE(outcome.error().message.find("nvmlInit_v2"), std::string::npos);
}

TEST_F(GateTest, NoGpuIsNotFound) {
  auto outcome = run("gpus 0\n");
  ASSERT_FALSE(outcome.has_value());
  EXPECT_EQ(outcome.error().kind, ErrorKind::not_found);
}

TEST_F(GateTest, AMismatchFailsTheDriverAndTheRestIsNotPossible) {
  auto outcome = run("fail nvmlInit_v2 18\n", {"driver", "ecc", "memory"});
  EXPECT_EQ(of(outcome, "driver").verdict, Verdict::failed);
  EXPECT_TRUE(says(of(outcome, "driver"), "code 18"));
  EXPECT_EQ(of(outcome, "ecc").verdict, Verdict::error);
  EXPECT_EQ(of(outcome, "memory").verdict, Verdict::error);
  EXPECT_EQ(exit_code_of(*outcome), 1);
}

TEST_F(GateTest, AGpuThatDisappearsBetweenTwoCallsFails) {
  auto nvml = run("gpus 2\nfail 1.nvmlDeviceGetTotalEccErrors 15 5\n", {"ecc"});
  EXPECT_EQ(of(nvml, "ecc").verdict, Verdict::failed);
  EXPECT_TRUE(says(of(nvml, "ecc"), "lost")) << of(nvml, "ecc").text;
  auto cuda = run("fail cuEventSynchronize 999 3\n", {"memory"});
  EXPECT_EQ(of(cuda, "memory").verdict, Verdict::failed) << of(cuda, "memory").text;
}

TEST_F(GateTest, AHangInAnyCallIsAnErrorWithItsName) {
  options_.call_deadline = seconds(3);
  for (const char* call : {"nvmlInit_v2", "nvmlDeviceGetName", "nvmlDeviceGetTotalEccErrors",
                           "cuInit", "cuModuleLoadData", "cuMemAlloc_v2"}) {
    auto outcome = run(fmt::format("hang {}\n", call), {"driver", "ecc", "pcie"});
    bool named = false;
    for (const char* check : {"driver", "ecc", "pcie"}) {
      const CheckResult result = of(outcome, check);
      named = named ||
              (result.verdict == Verdict::error && says(result, fmt::format("hung in {}", call)));
    }
    EXPECT_TRUE(named) << call;
    EXPECT_EQ(exit_code_of(*outcome), 1) << call;
  }
}

TEST_F(GateTest, AHangOfOneGpuLeavesTheOthersTheirVerdict) {
  options_.call_deadline = seconds(3);
  auto outcome = run("gpus 2\nhang 1.cuDevicePrimaryCtxRetain\n", {"pcie"});
  ASSERT_TRUE(outcome.has_value());
  ASSERT_EQ(outcome->results.size(), 2U);
  EXPECT_EQ(outcome->results[0].verdict, Verdict::passed) << outcome->results[0].text;
  EXPECT_EQ(outcome->results[1].verdict, Verdict::error) << outcome->results[1].text;
}

TEST_F(GateTest, ACrashInTheDriverIsAnErrorWithTheCall) {
  auto outcome = run("crash cuModuleLoadData\n", {"pcie"});
  const CheckResult result = of(outcome, "pcie");
  EXPECT_EQ(result.verdict, Verdict::error);
  EXPECT_TRUE(says(result, "cuModuleLoadData")) << result.text;
}

TEST_F(GateTest, AnOverrunBudgetIsSaidAndHasItsOwnExitCode) {
  options_.budget = milliseconds(600);
  auto outcome = run("hang cuInit\n", {"driver", "pcie"});
  ASSERT_TRUE(outcome.has_value());
  EXPECT_TRUE(outcome->over_budget);
  EXPECT_EQ(of(outcome, "pcie").verdict, Verdict::inconclusive);
  EXPECT_TRUE(says(of(outcome, "pcie"), "budget"));
  EXPECT_EQ(exit_code_of(*outcome), 5);
}

TEST_F(GateTest, AnUnknownModelIsInconclusiveInItsSpeedAndPassedByItsBaseline) {
  const std::string scenario = "name NVIDIA Z900\n";
  auto first = run(scenario, {"memory", "training"});
  EXPECT_EQ(of(first, "memory").verdict, Verdict::inconclusive);
  EXPECT_EQ(of(first, "training").verdict, Verdict::passed);
  options_.baseline = first->facts;
  EXPECT_EQ(of(run(scenario, {"memory"}), "memory").verdict, Verdict::passed);
  EXPECT_EQ(of(run(scenario + "bandwidth 3000\n", {"memory"}), "memory").verdict, Verdict::failed);
}

TEST_F(GateTest, AnXidInTheLogOrFromNvmlFails) {
  EXPECT_EQ(of(run("gpus 1\n", {"xid"}), "xid").verdict, Verdict::passed);
  EXPECT_EQ(of(run("xid 79\n", {"xid"}), "xid").verdict, Verdict::failed);
  const std::string line =
      fmt::format("log {}/dev/kmsg NVRM: Xid (PCI:0000:01:00): 48, DBE\n", root_.path);
  EXPECT_EQ(of(run(line, {"xid", "pcie"}), "xid").verdict, Verdict::failed);
}

TEST_F(GateTest, WhatNvmlSaysOfLinksClocksAndErrorsIsJudged) {
  EXPECT_EQ(of(run("nvlink_inactive 3\n", {"nvlink"}), "nvlink").verdict, Verdict::failed);
  EXPECT_EQ(of(run("gpus 1\n", {"nvlink"}), "nvlink").verdict, Verdict::passed);
  EXPECT_EQ(of(run("throttle 0x40\n", {"throttle"}), "throttle").verdict, Verdict::failed);
  EXPECT_EQ(of(run("remap_pending 1\n", {"ecc"}), "ecc").verdict, Verdict::failed);
}

TEST_F(GateTest, PeersAreComparedAndAWrongByteFails) {
  EXPECT_EQ(of(run("gpus 2\nflip_peer 1\n", {"peer"}), "peer").verdict, Verdict::failed);
}

TEST_F(GateTest, TheDriversVersionsMustAgree) {
  EXPECT_EQ(of(run("driver 570.1\n", {"driver"}), "driver").verdict, Verdict::failed);
  options_.expect_driver = "580.95.05";
  EXPECT_EQ(of(run("gpus 1\n", {"driver"}), "driver").verdict, Verdict::passed);
  options_.expect_driver = "999";
  EXPECT_EQ(of(run("gpus 1\n", {"driver"}), "driver").verdict, Verdict::failed);
}

TEST_F(GateTest, RdmaPortsAreReadBeforeAndAfter) {
  root_.write("sys/class/infiniband/mlx5_0/ports/1/state", "1: DOWN\n");
  root_.write("sys/class/infiniband/mlx5_0/ports/1/phys_state", "2: Polling\n");
  options_.baseline =
      json(R"({"rdma":{"after":{"mlx5_0/1":{"state":"ACTIVE","phys_state":"LinkUp"}}}})");
  EXPECT_EQ(of(run("gpus 1\n", {"rdma"}), "rdma").verdict, Verdict::failed);
}

TEST_F(GateTest, OnlyTheChosenGpusWorkAndAnUnknownOneIsRefused) {
  options_.gpus = {"GPU-fake-1"};
  auto outcome = run("gpus 2\n0.flip_memory 1\n", {"memory"});
  ASSERT_TRUE(outcome.has_value());
  ASSERT_EQ(outcome->results.size(), 1U);
  EXPECT_EQ(outcome->results[0].verdict, Verdict::passed) << outcome->results[0].text;
  options_.gpus = {"GPU-none"};
  auto refused = run("gpus 2\n", {"memory"});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().kind, ErrorKind::invalid);
}

TEST_F(GateTest, AGpuInMigModeIsForAPerson) {
  const CheckResult result = of(run("mig 1\n", {"memory"}), "memory");
  EXPECT_EQ(result.verdict, Verdict::inconclusive);
  EXPECT_TRUE(says(result, "MIG"));
}

}  // namespace
}  // namespace lockstep::gpu::gate_test
