#include "view/pool_rules.h"

#include <gtest/gtest.h>

#include "view/watched_fleet_test_util.h"

namespace lockstep::view::pool_rules_test {
namespace {

TEST(PoolRules, InItsOwnKeyDomainTheOperatorIsARivalWhateverItsPolicy) {
  for (std::string_view policy : {R"({"autoUpgrade":true})", R"({"autoUpgrade":false})"}) {
    WatchedFleet scene;
    scene.add_usual();
    scene.add_policy(policy);
    scene.start();
    EXPECT_FALSE(scene.watch->conflicting_controller());
    auto operator_pod = [&](std::string_view phase) {
      scene.put(resource::pods, {"gpu-operator", "gpu-operator-7f"},
                json_of(fmt::format(R"({{"metadata":{{"labels":{{"app":"gpu-operator"}}}},
                                         "spec":{{"nodeName":"cpu-1"}},"status":{{"phase":"{}"}}}})",
                                    phase)));
      scene.settle();
    };
    operator_pod("Pending");
    EXPECT_FALSE(scene.watch->conflicting_controller());
    scene.looked_at.clear();
    operator_pod("Running");
    ASSERT_TRUE(scene.watch->conflicting_controller());
    EXPECT_NE(scene.watch->conflicting_controller()->remedy.find("--key-domain lockstep.dev"),
              std::string::npos);
    EXPECT_TRUE(scene.watch->pool("").frozen);
    EXPECT_EQ(scene.looked_at.count("gpu-1"), 1U);
    scene.api.erase(resource::pods, {"gpu-operator", "gpu-operator-7f"});
    scene.settle();
    EXPECT_FALSE(scene.watch->conflicting_controller());
  }
}

// Its pod is Pending while it is moved or restarted: for those seconds no controller may begin.
TEST(ConflictingController, IsThereWhileItsDeploymentWantsAPod) {
  WatchedFleet scene;
  scene.add_usual();
  auto deployment = [&](std::string_view patch) {
    scene.put(resource::deployments, {"gpu-operator", "gpu-operator"},
              merged(json_of(R"({"metadata":{"name":"gpu-operator","namespace":"gpu-operator"},
                                 "spec":{"replicas":1,"template":{"metadata":{
                                   "labels":{"app":"gpu-operator"}}}}})"),
                     patch));
    scene.settle();
  };
  deployment("{}");
  scene.start();
  ASSERT_TRUE(scene.watch->conflicting_controller());
  EXPECT_NE(
      scene.watch->conflicting_controller()->text.find("Deployment gpu-operator/gpu-operator"),
      std::string::npos);
  EXPECT_TRUE(scene.watch->pool("").frozen);
  scene.looked_at.clear();
  deployment(R"({"spec":{"replicas":0}})");
  EXPECT_FALSE(scene.watch->conflicting_controller());
  EXPECT_EQ(scene.looked_at.count("gpu-1"), 1U);
  deployment("{}");
  EXPECT_TRUE(scene.watch->conflicting_controller());
  scene.api.erase(resource::deployments, {"gpu-operator", "gpu-operator"});
  scene.settle();
  EXPECT_FALSE(scene.watch->conflicting_controller());
  deployment(R"({"spec":{"template":{"metadata":{"labels":{"app":"other"}}}}})");
  EXPECT_FALSE(scene.watch->conflicting_controller());
}

TEST(PoolRules, InOurKeyDomainTheOperatorIsARivalWhileItUpgradesItself) {
  FleetWatchOptions options;
  options.key_domain = "lockstep.dev";
  WatchedFleet scene(options);
  scene.add_usual();
  scene.put(resource::pods, {"gpu-operator", "gpu-operator-7f"},
            json_of(R"({"metadata":{"labels":{"app.kubernetes.io/component":"gpu-operator"}},
                        "status":{"phase":"Running"}})"));
  scene.start();
  ASSERT_TRUE(scene.watch->conflicting_controller());
  EXPECT_NE(scene.watch->conflicting_controller()->text.find("ClusterPolicy cluster-policy"),
            std::string::npos);
  scene.add_policy(R"({"autoUpgrade":false})");
  scene.settle();
  EXPECT_FALSE(scene.watch->conflicting_controller());
  // Ours is another switch.
  EXPECT_TRUE(scene.watch->policy("").auto_upgrade);
  scene.add_policy(R"({"autoUpgrade":false})",
                   R"({"metadata":{"annotations":{"lockstep.dev/auto-upgrade":"false"}}})");
  scene.settle();
  EXPECT_FALSE(scene.watch->policy("").auto_upgrade);
  // One NVIDIADriver of several is enough.
  scene.put(nvidia_drivers, {"", "blue"},
            nvidia_driver_json("blue", R"({"upgradePolicy":{"autoUpgrade":true}})"));
  scene.settle();
  ASSERT_TRUE(scene.watch->conflicting_controller());
  EXPECT_NE(scene.watch->conflicting_controller()->text.find("NVIDIADriver blue"),
            std::string::npos);
}

}  // namespace
}  // namespace lockstep::view::pool_rules_test
