#include "sim/actors/nvidia_controller.h"

#include <optional>

#include "sim/actors/sim_test_util.h"
#include "sim/actors/writer.h"

namespace lockstep::sim::nvidia_controller_test {
namespace {

class NvidiaControllerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(cluster.start());
    controller.emplace(Parts{cluster.api("nvidia-gpu-operator"), cluster.loop, random, log});
    set_policy(JsonObject{{"autoUpgrade", true}, {"maxParallelUpgrades", 1}});
    cluster.loop.run_for(minutes(1));
  }
  void set_policy(Json policy) {
    EXPECT_TRUE(cluster.call(merge_patch(
        fleet::cluster_policies, {"", "cluster-policy"},
        JsonObject{
            {"spec", JsonObject{{"driver", JsonObject{{"upgradePolicy", std::move(policy)}}}}}})));
  }
  void label(const std::string& node, const std::string& key, Json value) {
    EXPECT_TRUE(cluster.call(merge_patch(
        resource::nodes, {"", node},
        JsonObject{{"metadata", JsonObject{{"labels", JsonObject{{key, std::move(value)}}}}}})));
  }
  std::string state_of(const std::string& node) {
    return std::string(
        text_at(*cluster.get(resource::nodes, {"", node}), "metadata", "labels", keys.state));
  }
  bool reaches(const std::string& node, const std::string& state) {
    return run_until(cluster, [&] { return state_of(node) == state; }, minutes(30));
  }

  fleet::Keys keys;
  Cluster cluster{fleet_of(3)};
  SeededRandom random{1};
  SilentLog log;
  std::optional<NvidiaController> controller;
};

TEST_F(NvidiaControllerTest, UpgradesNodeByNodeAndLeavesTheClients) {
  EXPECT_EQ(state_of("gpu-1"), "upgrade-done");
  const std::string client = pod_of(cluster, dra_daemon_set_name, "gpu-1").meta.uid.str();
  ASSERT_TRUE(cluster.set_driver_version(new_version));
  ASSERT_TRUE(reaches("gpu-1", "cordon-required") || reaches("gpu-1", "upgrade-done"));
  for (const char* node : {"gpu-1", "gpu-2", "gpu-3"}) {
    EXPECT_TRUE(run_until(
        cluster,
        [&] {
          return state_of(node) == "upgrade-done" &&
                 cluster.kubelets().machine(node).version() == new_version;
        },
        minutes(30)))
        << node;
    EXPECT_FALSE(as_bool(find(*cluster.get(resource::nodes, {"", node}), "spec", "unschedulable")));
  }
  EXPECT_EQ(pod_of(cluster, dra_daemon_set_name, "gpu-1").meta.uid, client);
}

TEST_F(NvidiaControllerTest, LooksAtTheSkipLabelOnlyBeforeItBegins) {
  for (const char* node : {"gpu-1", "gpu-2", "gpu-3"}) label(node, keys.skip, "true");
  ASSERT_TRUE(cluster.set_driver_version(new_version));
  ASSERT_TRUE(reaches("gpu-1", "upgrade-required"));
  cluster.loop.run_for(minutes(10));
  EXPECT_EQ(state_of("gpu-1"), "upgrade-required");
  label("gpu-1", keys.skip, nullptr);
  ASSERT_TRUE(
      run_until(cluster, [&] { return state_of("gpu-1") == "pod-restart-required"; }, minutes(10)));
  label("gpu-1", keys.skip, "true");
  EXPECT_TRUE(reaches("gpu-1", "upgrade-done"));
  EXPECT_EQ(cluster.kubelets().machine("gpu-1").version(), new_version);
  EXPECT_EQ(state_of("gpu-2"), "upgrade-required");
}

TEST_F(NvidiaControllerTest, DoesNotTakeBackWhatIsNoLongerNeeded) {
  label("gpu-1", keys.skip, "true");
  ASSERT_TRUE(cluster.set_driver_version(new_version));
  ASSERT_TRUE(reaches("gpu-1", "upgrade-required"));
  ASSERT_TRUE(cluster.set_driver_version(old_version));
  cluster.loop.run_for(minutes(10));
  EXPECT_EQ(state_of("gpu-1"), "upgrade-required");
}

TEST_F(NvidiaControllerTest, TakesItsLabelsOffWhenAutoUpgradeIsFalse) {
  set_policy(JsonObject{{"autoUpgrade", false}});
  EXPECT_TRUE(reaches("gpu-1", ""));
}

}  // namespace
}  // namespace lockstep::sim::nvidia_controller_test
