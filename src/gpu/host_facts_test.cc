#include "gpu/host_facts.h"

#include "gpu/fake_test_util.h"

namespace lockstep::gpu::host_facts_test {
namespace {

TEST(HostFacts, TheVersionOfTheModuleIsReadFromEitherOfItsForms) {
  EXPECT_EQ(module_version_in("NVRM version: NVIDIA UNIX x86_64 Kernel Module  560.35.03  Fri Aug "
                              "16\nGCC version: 12.2.0\n"),
            "560.35.03");
  EXPECT_EQ(module_version_in("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04 "
                              " Release Build  (x@)\n"),
            "580.159.04");
  EXPECT_EQ(module_version_in("GCC version:  gcc version 15.3.0 (GCC)\n"), std::nullopt);
}

TEST(HostFacts, MissingDeviceNodesAreNamed) {
  FakeRoot root;
  root.write("dev/nvidiactl", "");
  root.write("dev/nvidia0", "");
  root.write("sys/module/nvidia/version", "580.95.05\n");
  const Json facts = host_facts(root.path, {0, 1});
  EXPECT_EQ(text_at(facts, "module_version"), "580.95.05");
  EXPECT_EQ(*find(facts, "missing_nodes"),
            (JsonArray{Json("/dev/nvidia-uvm"), Json("/dev/nvidia1")}));
}

TEST(HostFacts, AHostWithoutTheModuleSaysNothingOfIt) {
  FakeRoot root;
  EXPECT_EQ(find(Json(host_facts(root.path, {})), "module_version"), nullptr);
  EXPECT_TRUE(names_in(root.path + "/none").empty());
}

}  // namespace
}  // namespace lockstep::gpu::host_facts_test
