// `lockstep gate` as a process: exit codes, the three outputs, baselines, and one clear line for
// what is wrong.
#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>

#include "base/patience_test_util.h"
#include "data/json.h"
#include "world/directories_test_util.h"
#include "world/files.h"
#include "world/process.h"

namespace lockstep::gate_command_test {
namespace {

class GateCommand : public ::testing::Test {
 protected:
  GateCommand() {
    write("root/proc/driver/nvidia/version",
          "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.95.05  x\n");
    for (const char* node : {"nvidiactl", "nvidia-uvm", "nvidia0", "kmsg"})
      write(std::string("root/dev/") + node, "");
  }
  std::string path(const std::string& name) const { return folder_ / name; }
  void write(const std::string& name, const std::string& text) const { folder_.write(name, text); }
  ProcessOutput gate(const std::string& scenario, std::vector<std::string> words) const {
    write("scenario", scenario);
    ProcessSpec spec;
    spec.limit = test_patience;
    spec.command = {std::getenv("LOCKSTEP_PROGRAM"),
                    "gate",
                    "--root",
                    path("root"),
                    "--library-dir",
                    std::getenv("FAKE_DRIVER"),
                    "--product-size",
                    "256",
                    "--copy-bytes",
                    "65536"};
    spec.command.insert(spec.command.end(), words.begin(), words.end());
    spec.environment = {{"LOCKSTEP_FAKE_GPU", path("scenario")}};
    auto output = SystemProcesses().run(spec);
    EXPECT_TRUE(output.has_value()) << output.error().text();
    return output ? *output : ProcessOutput{};
  }

  lockstep::testing::TemporaryDirectory folder_;
};

TEST_F(GateCommand, ATableAndExitCodeZeroWhereAllPasses) {
  const ProcessOutput output =
      gate("gpus 1\n", {"--check", "driver,ecc,training,memory", "--expect-driver", "580.95.05"});
  EXPECT_EQ(output.exit_code, 0) << output.output << output.error;
  EXPECT_NE(output.output.find("training   Passed"), std::string::npos) << output.output;
  EXPECT_NE(output.output.find("\nPassed in "), std::string::npos);
  EXPECT_TRUE(output.error.empty()) << output.error;
}

TEST_F(GateCommand, JsonAndCtrfAreWholeDocuments) {
  const ProcessOutput failed = gate("flip_memory 1\n", {"--check", "memory", "-o", "json"});
  EXPECT_EQ(failed.exit_code, 1);
  auto json = parse_json(failed.output);
  ASSERT_TRUE(json.has_value()) << failed.output;
  EXPECT_EQ(text_at(*json, "verdict"), "Failed");
  auto ctrf = parse_json(gate("gpus 1\n", {"--check", "driver", "-o", "ctrf"}).output);
  ASSERT_TRUE(ctrf.has_value());
  EXPECT_EQ(as_integer(find(*ctrf, "results", "summary", "passed")), 1);
}

TEST_F(GateCommand, WhatARolloutReadsIsLeftInTheTerminationMessage) {
  // As the kubelet mounts it: a file that is there, and stays the same one.
  write("message", "something longer than nothing that must not be left at the end of it");
  std::filesystem::create_hard_link(path("message"), path("link"));
  const ProcessOutput failed =
      gate("flip_memory 1\n", {"memory", "--termination-message", path("message")});
  EXPECT_EQ(failed.exit_code, 1);
  auto json = parse_json(*SystemFiles().read(path("link")));
  ASSERT_TRUE(json.has_value());
  EXPECT_EQ(text_at(*json, "verdict"), "Failed");
  const Json& result = find(*json, "results")->as_array()[0];
  EXPECT_EQ(text_at(result, "check"), "memory");
  EXPECT_EQ(text_at(result, "verdict"), "Failed");
  EXPECT_EQ(text_at(result, "gpu"), "GPU-fake-0");
  EXPECT_GT(as_integer(find(result, "measured", "wrong_cells")), 0);
  EXPECT_EQ(as_integer(find(result, "limit", "wrong_cells")), 0);
  // A gate that could not be made leaves its reason.
  EXPECT_EQ(gate("gpus 0\n", {"--termination-message", path("message")}).exit_code, 3);
  json = parse_json(*SystemFiles().read(path("message")));
  ASSERT_TRUE(json.has_value());
  EXPECT_EQ(text_at(*json, "verdict"), "Error");
  EXPECT_NE(text_at(*json, "error").find("no GPU found"), std::string_view::npos);
  // One that cannot be written changes no verdict.
  const ProcessOutput unwritten =
      gate("gpus 1\n", {"ecc", "--termination-message", path("none/message")});
  EXPECT_EQ(unwritten.exit_code, 0);
  EXPECT_NE(unwritten.error.find("--termination-message"), std::string::npos) << unwritten.error;
}

TEST_F(GateCommand, TheTestSwitchIsCaughtByEachOfTheThree) {
  for (const char* check : {"training", "inference", "memory"}) {
    const ProcessOutput output =
        gate("gpus 1\n", {"--check", check, "--inject-wrong-result", check});
    EXPECT_EQ(output.exit_code, 1) << check << output.output;
    EXPECT_NE(output.output.find("Failed"), std::string::npos) << check;
  }
}

TEST_F(GateCommand, ABaselineIsSavedAndComparedWith) {
  ASSERT_EQ(gate("gpus 1\n", {"--check", "driver,pcie,memory", "--save-baseline", path("b.json")})
                .exit_code,
            0);
  EXPECT_EQ(
      gate("gpus 1\n", {"--check", "driver,pcie,memory", "--baseline", path("b.json")}).exit_code,
      0);
  const ProcessOutput slow = gate("pcie 40\n", {"--check", "pcie", "--baseline", path("b.json")});
  EXPECT_EQ(slow.exit_code, 1);
  EXPECT_NE(slow.output.find("0.9 x baseline"), std::string::npos) << slow.output;
  EXPECT_EQ(gate("uuid GPU-new\n", {"--check", "driver", "--baseline", path("b.json")}).exit_code,
            1);
}

TEST_F(GateCommand, ATruncatedForeignOrMissingBaselineIsOneClearLine) {
  write("cut.json", "{\"kind\": \"lockstep-gate-base");
  write("pod.json", "{\"kind\": \"Pod\"}");
  for (const char* name : {"cut.json", "pod.json"}) {
    const ProcessOutput output = gate("gpus 1\n", {"--baseline", path(name)});
    EXPECT_EQ(output.exit_code, 2) << name;
    EXPECT_TRUE(output.output.empty());
    EXPECT_EQ(output.error.find('\n'), output.error.size() - 1) << output.error;
    EXPECT_NE(output.error.find(name), std::string::npos) << output.error;
  }
  EXPECT_EQ(gate("gpus 1\n", {"--baseline", path("none.json")}).exit_code, 3);
}

TEST_F(GateCommand, NoGpuAndNoDriverAreExitCodeThreeInOneLine) {
  const ProcessOutput none = gate("gpus 0\n", {});
  EXPECT_EQ(none.exit_code, 3);
  EXPECT_EQ(none.error, "lockstep: no GPU found: the driver is loaded and sees none\n");
  const ProcessOutput unloaded = gate("fail nvmlInit_v2 9\n", {});
  EXPECT_EQ(unloaded.exit_code, 3);
  EXPECT_NE(unloaded.error.find("no driver found"), std::string::npos);
}

TEST_F(GateCommand, WrongUsageIsExitCodeTwo) {
  EXPECT_EQ(gate("gpus 1\n", {"--check", "memroy"}).exit_code, 2);
  EXPECT_EQ(gate("gpus 1\n", {"--budget", "soon"}).exit_code, 2);
  EXPECT_EQ(gate("gpus 1\n", {"--gpus", "GPU-none"}).exit_code, 2);
  EXPECT_EQ(gate("gpus 1\n", {"-o", "xml"}).exit_code, 2);
}

TEST_F(GateCommand, TheBudgetEndsItWithExitCodeFive) {
  const ProcessOutput output = gate("hang cuInit\n", {"--check", "pcie", "--budget", "700ms"});
  EXPECT_EQ(output.exit_code, 5) << output.output;
  EXPECT_NE(output.output.find("time budget was over"), std::string::npos);
}

TEST_F(GateCommand, TheListNamesTheChecks) {
  const ProcessOutput output = gate("gpus 1\n", {"--list"});
  EXPECT_EQ(output.exit_code, 0);
  EXPECT_NE(output.output.find("throttle"), std::string::npos);
}

}  // namespace
}  // namespace lockstep::gate_command_test
