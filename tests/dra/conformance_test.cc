// The seven behaviours of the proposed conformance suite for DRA drivers (KEP-5970), by name; with
// the plugin's executable, the kubelet's real protocol and a fake driver under it.
#include <gtest/gtest.h>

#include "dra_node.h"

namespace lockstep::dra::conformance_test {
namespace {

struct Conformance : ::testing::Test {
  void SetUp() override {
    node.start_plugin();
    node.wait_ready();
  }
  DraNode node;
};

TEST_F(Conformance, Registration) {
  ASSERT_EQ(node.kubelet().endpoints().size(), 1u);
  EXPECT_EQ(node.kubelet().endpoints()[0], node.path("kubelet/plugins/gpu.lockstep.dev/dra.sock"));
  node.kubelet().restart();
  EXPECT_TRUE(node.kubelet().look().empty()) << "a kubelet that starts again finds it again";
  EXPECT_EQ(node.kubelet().endpoints().size(), 1u);
  EXPECT_EQ(node.end_plugin(), 0);
  EXPECT_TRUE(node.files_in("kubelet/plugins_registry").empty()) << "its socket goes with it";
  node.kubelet().look();
  EXPECT_TRUE(node.kubelet().endpoints().empty());
}

TEST_F(Conformance, SlicePublishing) {
  ASSERT_EQ(node.slices().size(), 1u);
  Json slice = node.slices()[0];
  EXPECT_EQ(text_at(slice, "spec", "driver"), "gpu.lockstep.dev");
  EXPECT_EQ(text_at(slice, "spec", "nodeName"), "gpu-1");
  const JsonArray& devices = find(slice, "spec", "devices")->as_array();
  ASSERT_EQ(devices.size(), 2u);
  EXPECT_EQ(text_at(devices[1], "attributes", "uuid", "string"), "GPU-fake-1");
  EXPECT_EQ(text_at(devices[1], "attributes", "architecture", "string"), "Hopper");
  EXPECT_EQ(text_at(devices[1], "attributes", "pcieBusID", "string"), "00000000:02:00.0");
  EXPECT_EQ(text_at(devices[1], "capacity", "memory", "value"), "143771Mi");
  EXPECT_EQ(node.driver_in_slice(), "580.95.5");
  // The kubelet takes slices away at its start.
  node.must(kube::remove(resource::resource_slices,
                         {"", std::string(text_at(slice, "metadata", "name"))}));
  EXPECT_TRUE(node.wait([&] { return node.slices().size() == 1; }));
}

TEST_F(Conformance, Allocation) {
  EXPECT_EQ(node.free_devices(), (std::vector<std::string>{"gpu-0", "gpu-1"}));
  node.claim("a");
  EXPECT_EQ(node.free_devices(), (std::vector<std::string>{"gpu-1"}));
}

TEST_F(Conformance, Prepare) {
  KubeletClaim claim = node.claim("a");
  auto answer = node.kubelet().prepare({claim});
  ASSERT_TRUE(answer) << answer.error().text();
  ASSERT_EQ(answer->size(), 1u);
  const ClaimAnswer& prepared = answer->at(claim.uid);
  EXPECT_EQ(prepared.error, "");
  ASSERT_EQ(prepared.devices.size(), 1u);
  EXPECT_EQ(prepared.devices[0].device, "gpu-0");
  EXPECT_EQ(prepared.devices[0].pool, "gpu-1");
  EXPECT_EQ(prepared.devices[0].requests, (std::vector<std::string>{"gpu"}));
  EXPECT_EQ(prepared.devices[0].cdi_ids,
            (std::vector<std::string>{"gpu.lockstep.dev/claim=" + claim.uid + "-gpu-0"}));
  auto again = node.kubelet().prepare({claim});
  ASSERT_TRUE(again);
  EXPECT_EQ(again->at(claim.uid).devices[0].cdi_ids, prepared.devices[0].cdi_ids);
}

TEST_F(Conformance, PodRunsWithTheCdiEnvironment) {
  KubeletClaim claim =
      node.claim("a", "gpu-1", R"({"apiVersion":"gpu.lockstep.dev/v1alpha1","kind":"GpuConfig",
                                   "environment":{"NCCL_DEBUG":"yes"}})");
  PodRun pod = node.kubelet().start_pod({claim});
  ASSERT_EQ(pod.phase, PodPhase::running) << pod.message;
  EXPECT_EQ(
      DraNode::run_container(pod, "echo $LOCKSTEP_GPU_1 $LOCKSTEP_DRIVER_VERSION $NCCL_DEBUG"),
      "GPU-fake-1 580.95.05 yes\n");
  EXPECT_NE(
      std::find(pod.device_nodes.begin(), pod.device_nodes.end(), node.path("root/dev/nvidia1")),
      pod.device_nodes.end());
}

TEST_F(Conformance, Unprepare) {
  KubeletClaim claim = node.claim("a");
  ASSERT_TRUE(node.kubelet().prepare({claim}));
  EXPECT_EQ(node.files_in("cdi").size(), 1u);
  KubeletClaim unknown{"default", "00000000-0000-4000-8000-000000000000", "unknown"};
  auto answer = node.kubelet().unprepare({claim, unknown});
  ASSERT_TRUE(answer) << answer.error().text();
  EXPECT_EQ(*answer, (std::map<std::string, std::string>{{claim.uid, ""}, {unknown.uid, ""}}));
  EXPECT_TRUE(node.files_in("cdi").empty());
  auto none = node.kubelet().unprepare({});
  ASSERT_TRUE(none);
  EXPECT_TRUE(none->empty());
}

TEST_F(Conformance, Reuse) {
  KubeletClaim first = node.claim("a", "gpu-0");
  ASSERT_EQ(node.kubelet().start_pod({first}).phase, PodPhase::running);
  ASSERT_TRUE(node.kubelet().end_pod({first}));
  node.remove_claim("a");
  KubeletClaim second = node.claim("b", "gpu-0");
  PodRun pod = node.kubelet().start_pod({second});
  EXPECT_EQ(pod.phase, PodPhase::running) << pod.message;
  EXPECT_EQ(pod.environment["LOCKSTEP_GPU_0"], "GPU-fake-0");
}

// The kubelets before 1.34.
TEST(ConformanceOld, AnOldKubeletIsServedByTheOldVersions) {
  KubeletOptions old;
  old.old = true;
  DraNode node(1, old);
  node.start_plugin();
  node.wait_ready();
  PodRun pod = node.kubelet().start_pod({node.claim("a")});
  EXPECT_EQ(pod.phase, PodPhase::running) << pod.message;
  EXPECT_TRUE(node.wait([&] { return node.kubelet().health("gpu-0") == "HEALTHY"; }));
}

}  // namespace
}  // namespace lockstep::dra::conformance_test
