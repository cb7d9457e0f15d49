#include "view/lookalikes.h"

#include <gtest/gtest.h>

#include "view/watched_fleet_test_util.h"

namespace lockstep::view::lookalikes_test {
namespace {

TEST(Lookalikes, AreNamedByKindAndPlace) {
  WatchedFleet scene;
  scene.add_usual();
  scene.add_set(plugin_ns, plugin_set, R"({})");
  scene.start();
  EXPECT_TRUE(find_lookalikes(*scene.watch).empty());
  scene.add_set("team-a", driver_set);
  scene.add_pod("team-a", driver_set, "of-a-set-that-is-named", "gpu-1");
  scene.add_set("team-a", validator_set);
  scene.add_set("team-a", plugin_set);
  scene.add_set("team-a", "intel-gpu-kubelet-plugin");
  scene.put(resource::pods, {"team-b", "by-hand"},
            json_of(R"({"metadata":{"labels":{"app":"nvidia-driver-daemonset"}},
                        "status":{"phase":"Running"}})"));
  scene.put(resource::deployments, {"team-b", "gpu-operator"},
            json_of(R"({"metadata":{"labels":{"app":"gpu-operator"}},"spec":{"replicas":1}})"));
  scene.put(resource::pods, {std::string(operator_ns), "by-hand"},
            json_of(R"({"metadata":{"labels":{"app":"nvidia-operator-validator"}},
                        "status":{"phase":"Running"}})"));
  scene.settle();
  EXPECT_EQ(
      find_lookalikes(*scene.watch),
      (std::vector<Lookalike>{{"DaemonSet", {"team-a", std::string(plugin_set)}, "a DRA plugin"},
                              {"DaemonSet", {"team-a", std::string(driver_set)}, "the GPU driver"},
                              {"DaemonSet", {"team-a", std::string(validator_set)}, "a validator"},
                              {"Deployment", {"team-b", "gpu-operator"}, "NVIDIA's GPU Operator"},
                              {"Pod", {"gpu-operator", "by-hand"}, "a validator"},
                              {"Pod", {"team-b", "by-hand"}, "the GPU driver"}}));
}

}  // namespace
}  // namespace lockstep::view::lookalikes_test
