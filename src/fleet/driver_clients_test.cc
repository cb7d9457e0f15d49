#include "fleet/driver_clients.h"

#include <gtest/gtest.h>

namespace lockstep::fleet::driver_clients_test {
namespace {

TEST(DriverClients, ThePluginIsFoundUnderEveryNameOfItsChart) {
  struct Case {
    std::string ns;
    std::string name;
    StringMap labels;
    bool found;
  };
  for (const Case& c : std::vector<Case>{
           {"nvidia-dra-driver", "nvidia-dra-driver-gpu-kubelet-plugin", {}, true},
           {"dra-driver-nvidia-gpu",
            "dra-driver-nvidia-gpu-kubelet-plugin",
            {{"dra-driver-nvidia-gpu-component", "kubelet-plugin"}},
            true},
           {"gpu-operator", "x", {{"dra-driver-nvidia-gpu-component", "kubelet-plugin"}}, true},
           // By `nameOverride`.
           {"nvidia-dra-driver-gpu", "x", {{"mine-component", "kubelet-plugin"}}, true},
           {"nvidia-dra-driver", "x", {{"dra-driver-nvidia-gpu-component", "controller"}}, false},
           {"nvidia-dra-driver", "nvidia-dra-driver-gpu-controller", {}, false},
           // Of a tenant, who gave it these labels.
           {"team-a",
            "dra-driver-nvidia-gpu-kubelet-plugin",
            {{"dra-driver-nvidia-gpu-component", "kubelet-plugin"}},
            false}}) {
    auto found = find_driver_client(c.ns, c.name, c.labels, {});
    EXPECT_EQ(found.has_value(), c.found) << c.ns << "/" << c.name;
    EXPECT_EQ(found ? found->dra_driver : "gpu.nvidia.com", "gpu.nvidia.com");
  }
}

TEST(DriverClients, OurOwnPluginIsFoundAndSaysWhetherItOpensTheDriverAgain) {
  StringMap labels{{"app.kubernetes.io/name", "lockstep"},
                   {"app.kubernetes.io/component", "dra-plugin"}};
  auto before = find_driver_client("lockstep-system", "lockstep-dra-plugin", labels, {});
  ASSERT_TRUE(before);
  EXPECT_EQ(before->dra_driver, "gpu.lockstep.dev");
  EXPECT_FALSE(before->reopens_driver);
  labels.set(Text(reopens_driver_label), Text("true"));
  EXPECT_TRUE(
      find_driver_client("lockstep-system", "lockstep-dra-plugin", labels, {})->reopens_driver);
  EXPECT_FALSE(find_driver_client("team-a", "lockstep-dra-plugin", labels, {}));
}

TEST(DriverClients, WhatAUserNamesIsAClientInAnyNamespace) {
  ClientOptions options;
  options.named = {"team-a/agent"};
  EXPECT_TRUE(find_driver_client("team-a", "agent", {}, options));
  EXPECT_EQ(find_driver_client("team-a", "agent", {}, options)->dra_driver, "");
  EXPECT_FALSE(find_driver_client("team-b", "agent", {}, options));
  EXPECT_FALSE(options.empty());
  EXPECT_TRUE((ClientOptions{{}, {}}.empty()));
}

}  // namespace
}  // namespace lockstep::fleet::driver_clients_test
