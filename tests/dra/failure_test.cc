// KEP-5322's own list, by name, and what this kubelet plugin promises beyond it: a driver that
// changes under it, devices that break, two instances, and the end at any moment.
#include <filesystem>

#include <gtest/gtest.h>

#include "base/sanitizers.h"
#include "child.h"
#include "dra_node.h"

namespace lockstep::dra::failure_test {
namespace {

const char* const wrong_config =
    R"({"apiVersion":"gpu.lockstep.dev/v1alpha1","kind":"GpuConfig","shering":{}})";
using Texts = std::vector<std::string>;

KubeletOptions kubelet_of_kep_5322() {
  KubeletOptions options;
  options.knows_error_type = true;
  return options;
}

struct PermanentFailure : ::testing::Test {
  void start(const Texts& flags = {"--send-error-type", "--call-limit", "3s"}) {
    node.start_plugin("plugin", flags);
    node.wait_ready();
  }
  DraNode node{2, kubelet_of_kep_5322()};
};

TEST_F(PermanentFailure, PermanentErrorFailsThePod) {
  start();
  PodRun pod = node.kubelet().start_pod({node.claim("a", "gpu-0", wrong_config)});
  EXPECT_EQ(pod.phase, PodPhase::failed);
  EXPECT_NE(pod.message.find("the request is wrong"), std::string::npos) << pod.message;
  EXPECT_NE(pod.message.find("default/a"), std::string::npos) << pod.message;
  EXPECT_TRUE(node.wait([&] { return node.has_event("PrepareFailedBadConfig"); }));
  EXPECT_TRUE(node.taints().empty()) << "a wrong request is not the device's fault";
}

TEST_F(PermanentFailure, WithoutTheFlagTheKubeletIsNotTold) {
  start({"--call-limit", "3s"});
  EXPECT_EQ(node.kubelet().start_pod({node.claim("a", "gpu-0", wrong_config)}).phase,
            PodPhase::pending);
}

TEST_F(PermanentFailure, TransientErrorLeavesThePodPendingThenItRuns) {
  start();
  KubeletClaim claim = node.claim("a", "gpu-0");
  node.unload_driver();
  ASSERT_TRUE(node.wait([&] { return node.taints().size() == 2; }));
  PodRun pod = node.kubelet().start_pod({claim});
  EXPECT_EQ(pod.phase, PodPhase::pending);
  EXPECT_NE(pod.message.find("try again"), std::string::npos) << pod.message;
  EXPECT_EQ(node.kubelet().start_pod({claim}).message, pod.message) << "the same words";
  node.load_driver(new_driver);
  ASSERT_TRUE(node.wait([&] { return node.taints().empty(); }));
  pod = node.kubelet().start_pod({claim});
  EXPECT_EQ(pod.phase, PodPhase::running) << pod.message;
}

TEST_F(PermanentFailure, APodWithAPermanentErrorIsDeletedByAnotherInstance) {
  start();
  KubeletClaim bad = node.claim("a", "gpu-0", wrong_config);
  ASSERT_EQ(node.kubelet().start_pod({bad}).phase, PodPhase::failed);
  node.kill_plugin();
  node.start_plugin("another", {"--pod-uid", "uid-2"});
  ASSERT_TRUE(node.wait([&] { return node.kubelet().endpoints().size() == 2; }));
  auto ended = node.kubelet().end_pod({bad});
  EXPECT_TRUE(ended) << ended.error().text();
}

TEST_F(PermanentFailure, NothingLeaksUnderManyFailures) {
  start();
  KubeletClaim bad = node.claim("a", "gpu-0", wrong_config);
  auto memory = [&] {
    auto text = SystemFiles().read(fmt::format("/proc/{}/statm", node.plugin().pid()));
    return std::stol(text->substr(text->find(' '))) * 4 / 1024;
  };
  auto descriptors = [&] {
    return std::distance(
        std::filesystem::directory_iterator(fmt::format("/proc/{}/fd", node.plugin().pid())),
        std::filesystem::directory_iterator());
  };
  for (int i = 0; i < 500; ++i) ASSERT_TRUE(node.kubelet().prepare({bad}));
  long before = memory();
  auto open_before = descriptors();
  for (int i = 0; i < 9'500; ++i) {
    auto answer = node.kubelet().prepare({bad});
    ASSERT_TRUE(answer);
    ASSERT_TRUE(answer->at(bad.uid).permanent);
  }
  // A sanitizer's own memory grows with what it has seen.
  if (!sanitized) EXPECT_LE(memory(), before + 4) << "megabytes";
  // A probe of the driver may be running at either moment.
  EXPECT_LE(descriptors(), open_before + 6);
  EXPECT_TRUE(node.files_in("cdi").empty());
  Json events = node.must(kube::list(resource::events));
  EXPECT_LE(find(events, "items")->as_array().size(), 5u);
}

struct DriverChange : ::testing::Test {
  void start(const Texts& flags = {}) {
    node.start_plugin("plugin", flags);
    node.wait_ready();
  }
  bool is_ready() { return node.status("/readyz").find(" 200 ") != std::string::npos; }
  DraNode node;
};

TEST_F(DriverChange, EverythingFollowsTheDriver) {
  start();
  KubeletClaim claim = node.claim("a", "gpu-0");
  ASSERT_EQ(node.kubelet().start_pod({claim}).phase, PodPhase::running);
  node.unload_driver();
  EXPECT_TRUE(node.wait([&] {
    return node.taints() == Texts{"gpu-0: gpu.lockstep.dev/driver-upgrading:NoSchedule",
                                  "gpu-1: gpu.lockstep.dev/driver-upgrading:NoSchedule"};
  }));
  EXPECT_TRUE(node.wait([&] { return node.kubelet().health("gpu-0") == "UNKNOWN"; }));
  EXPECT_FALSE(is_ready());
  EXPECT_NE(node.status("/healthz").find(" 200 "), std::string::npos) << "alive all the same";
  node.load_driver(new_driver);
  EXPECT_TRUE(node.wait([&] { return node.driver_in_slice() == "580.105.8"; }));
  EXPECT_TRUE(node.wait([&] { return node.taints().empty() && is_ready(); }));
  EXPECT_TRUE(node.wait([&] { return node.kubelet().health("gpu-0") == "HEALTHY"; }));
  // The container of the claim that was prepared before: it starts again, and is not prepared
  // again.
  EXPECT_TRUE(node.wait([&] {
    PodRun pod = node.kubelet().start_pod({claim});
    return pod.environment["LOCKSTEP_DRIVER_VERSION"] == new_driver;
  }));
  EXPECT_TRUE(node.wait([&] { return node.has_event("DriverUsable"); }));
}

TEST_F(DriverChange, NoPrepareFailsForStalenessAfterASwap) {
  start();
  for (int i = 0; i < 4; ++i) {
    node.load_driver(i % 2 == 0 ? new_driver : old_driver);
    std::string name = fmt::format("c-{}", i);
    KubeletClaim claim = node.claim(name, "gpu-0");
    PodRun pod = node.kubelet().start_pod({claim});
    EXPECT_EQ(pod.phase, PodPhase::running) << pod.message;
    EXPECT_EQ(pod.environment["LOCKSTEP_DRIVER_VERSION"], i % 2 == 0 ? new_driver : old_driver);
    auto ended = node.kubelet().end_pod({claim});
    EXPECT_TRUE(ended) << ended.error().text();
    node.remove_claim(name);
  }
}

TEST_F(DriverChange, NothingOfTheDriverStaysOpen) {
  start();
  auto open_files = [&] {
    std::string all;
    for (const auto& entry :
         std::filesystem::directory_iterator(fmt::format("/proc/{}/fd", node.plugin().pid()))) {
      std::error_code error;
      all += std::filesystem::read_symlink(entry.path(), error).string() + "\n";
    }
    return all + SystemFiles().read(fmt::format("/proc/{}/maps", node.plugin().pid())).value_or("");
  };
  EXPECT_EQ(open_files().find("libnvidia-ml"), std::string::npos);
  EXPECT_EQ(open_files().find("/dev/nvidia"), std::string::npos);
}

TEST_F(DriverChange, ANvmlThatHangsIsEndedAndTheRestGoesOn) {
  start({"--nvml-limit", "1s"});
  KubeletClaim claim = node.claim("a", "gpu-0");
  ASSERT_EQ(node.kubelet().start_pod({claim}).phase, PodPhase::running);
  node.set_scenario("hang nvmlInit_v2\n");
  EXPECT_TRUE(node.wait([&] { return node.taints().size() == 2; }));
  auto ended = node.kubelet().end_pod({claim});
  EXPECT_TRUE(ended) << ended.error().text();
  node.set_scenario("");
  EXPECT_TRUE(node.wait([&] { return node.taints().empty(); }));
}

TEST_F(DriverChange, ABrokenDeviceIsTaintedAndHealedByItself) {
  start();
  node.set_scenario("1.recovery_action 1\n");
  EXPECT_TRUE(node.wait(
      [&] { return node.taints() == Texts{"gpu-1: gpu.lockstep.dev/unhealthy:NoExecute"}; }));
  EXPECT_TRUE(node.wait([&] { return node.kubelet().health("gpu-1") == "UNHEALTHY"; }));
  EXPECT_EQ(node.kubelet().health("gpu-0"), "HEALTHY");
  EXPECT_EQ(node.free_devices(), Texts{"gpu-0"});
  auto answer = node.kubelet().prepare({node.claim("b", "gpu-1")});
  ASSERT_TRUE(answer);
  EXPECT_NE(answer->begin()->second.error.find("the device is broken"), std::string::npos);
  node.set_scenario("");
  EXPECT_TRUE(node.wait([&] { return node.taints().empty(); }));
  EXPECT_TRUE(node.wait([&] { return node.kubelet().health("gpu-1") == "HEALTHY"; }));
}

TEST_F(DriverChange, ATimeSliceIsSetByTheDriversNvidiaSmiAndAgainForTheNextDriver) {
  const std::string program = node.path("root/usr/bin/nvidia-smi");
  const std::string words = node.path("smi-words");
  std::filesystem::create_directories(node.path("root/usr/bin"));
  ASSERT_TRUE(SystemFiles().write(program, "#!/bin/sh\necho \"$@\" >> " + words + "\n", 0755));
  start();
  auto said = [&] { return SystemFiles().read(words).value_or(""); };
  const std::string to_short = "compute-policy -i GPU-fake-1 --set-timeslice 1\n";
  KubeletClaim claim = node.claim("a", "gpu-1", R"({"apiVersion":"gpu.lockstep.dev/v1alpha1",
      "kind":"GpuConfig","sharing":{"strategy":"TimeSlicing","timeSlicing":{"interval":"Short"}}})");
  PodRun pod = node.kubelet().start_pod({claim});
  ASSERT_EQ(pod.phase, PodPhase::running) << pod.message;
  EXPECT_EQ(said(), to_short);
  node.load_driver(new_driver);
  EXPECT_TRUE(node.wait([&] { return said() == to_short + to_short; })) << said();
  ASSERT_TRUE(node.kubelet().end_pod({claim}));
  EXPECT_TRUE(node.wait([&] { return said().ends_with("--set-timeslice 0\n"); })) << said();
}

struct PluginLife : ::testing::Test {
  DraNode node;
};

TEST_F(PluginLife, TwoInstancesInARollingUpdateShareWhatTheyRemember) {
  node.start_plugin("old", {"--pod-uid", "3a0c7a1e-6c5f-4d0c-9d2f-0c8c1a6f3b11"});
  node.wait_ready("old");
  KubeletClaim first = node.claim("a", "gpu-0");
  ASSERT_EQ(node.kubelet().start_pod({first}).phase, PodPhase::running);
  node.start_plugin("new",
                    {"--pod-uid", "8d9b2f0e-0a3c-4c55-8f6b-7d0b9c1e2f33", "--call-limit", "1s"});
  ASSERT_TRUE(node.wait([&] { return node.kubelet().endpoints().size() == 2; }));
  node.wait_ready("new");
  auto twice = node.kubelet().prepare({node.claim("b", "gpu-0")});
  ASSERT_TRUE(twice) << twice.error().text();
  EXPECT_NE(twice->begin()->second.error.find("prepared for claim default/a"), std::string::npos)
      << "the new one knows what the old one gave away";
  EXPECT_EQ(node.end_plugin("old"), 0);
  node.wait([&] { return node.kubelet().endpoints().size() == 1; });
  EXPECT_EQ(node.kubelet().endpoints().size(), 1u);
  EXPECT_EQ(node.slices().size(), 1u);
  auto ended = node.kubelet().end_pod({first});
  EXPECT_TRUE(ended) << ended.error().text();
  EXPECT_TRUE(node.files_in("cdi").empty());
}

TEST_F(PluginLife, UnprepareNeedsNeitherDriverNorNvmlNorApiServer) {
  node.start_plugin();
  node.wait_ready();
  KubeletClaim claim = node.claim("a", "gpu-0");
  ASSERT_EQ(node.kubelet().start_pod({claim}).phase, PodPhase::running);
  node.kill_plugin();
  node.unload_driver();
  std::filesystem::remove_all(node.path("root/usr/lib64"));
  node.lose_api_server();
  node.start_plugin();
  // The socket of the one that was killed is there until the next takes its place.
  Result<void> ended = fail(ErrorKind::unreachable, "not yet");
  EXPECT_TRUE(node.wait([&] {
    ended = node.kubelet().end_pod({claim});
    return ended.has_value();
  })) << ended.error().text();
  EXPECT_TRUE(node.files_in("cdi").empty());
}

TEST_F(PluginLife, ACheckpointThatIsTornOrForeignCostsNoMoreThanItsClaims) {
  node.start_plugin();
  node.wait_ready();
  KubeletClaim good = node.claim("a", "gpu-0");
  KubeletClaim torn = node.claim("b", "gpu-1");
  ASSERT_EQ(node.kubelet().start_pod({good}).phase, PodPhase::running);
  ASSERT_EQ(node.kubelet().start_pod({torn}).phase, PodPhase::running);
  node.kill_plugin();
  std::string path = node.path("kubelet/plugins/gpu.lockstep.dev/checkpoint");
  std::string text = *SystemFiles().read(path);
  size_t at = text.find(torn.uid);
  text[at] = text[at] == '0' ? '1' : '0';
  ASSERT_TRUE(SystemFiles().write(path, text));
  // With the kubelet, which otherwise has no reason to prepare again what it saw prepared.
  node.kubelet().restart();
  node.start_plugin();
  node.wait_ready();
  EXPECT_NE(node.said().find("set aside"), std::string::npos);
  EXPECT_EQ(node.kubelet().start_pod({good}).phase, PodPhase::running);
  EXPECT_EQ(node.kubelet().start_pod({torn}).phase, PodPhase::running) << "prepared anew";
  node.kill_plugin();
  ASSERT_TRUE(SystemFiles().write(path, "another program's file\n"));
  node.kubelet().restart();
  node.start_plugin();
  node.wait_ready();
  EXPECT_EQ(node.kubelet().start_pod({good}).phase, PodPhase::running);
}

TEST_F(PluginLife, ADeviceNameCannotLeaveItsFolder) {
  node.start_plugin("plugin", {"--call-limit", "1s"});
  node.wait_ready();
  KubeletClaim evil{"default", "../../evil", "a"};
  auto answer = node.kubelet().prepare({evil});
  ASSERT_TRUE(answer);
  EXPECT_NE(answer->at(evil.uid).error, "");
  auto undone = node.kubelet().unprepare({evil});
  ASSERT_TRUE(undone);
  EXPECT_EQ(undone->at(evil.uid), "") << "nothing of ours has such a name";
  EXPECT_TRUE(node.files_in("cdi").empty());
}

}  // namespace
}  // namespace lockstep::dra::failure_test
