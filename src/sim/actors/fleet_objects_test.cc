#include "sim/actors/fleet_objects.h"

#include <gtest/gtest.h>

#include "sim/actors/sim_test_util.h"

namespace lockstep::sim::fleet_objects_test {
namespace {

TEST(FleetObjectsTest, EveryObjectIsAcceptedAndMayBeSentAgain) {
  Cluster cluster(fleet_of(0));
  FleetOptions options;
  options.nvidia_drivers = {{"blue", "580.1"}};
  options.workloads.deployment_replicas = 2;
  options.workloads.min_available = 1;
  options.workloads.job_pods = 2;
  options.workloads.claim_pods = 2;
  options.workloads.bare_pod = true;
  options.workloads.empty_dir_pod = true;
  options.workloads.daemon_set_pods = true;
  for (const kube::Request& request : fleet_requests(options)) {
    auto created = cluster.call(request);
    EXPECT_TRUE(created || created.error().kind == ErrorKind::exists)
        << request.describe() << ": " << created.error().text();
    auto again = cluster.call(request);
    ASSERT_FALSE(again) << request.describe();
    EXPECT_EQ(again.error().kind, ErrorKind::exists) << again.error().text();
  }
}

TEST(FleetObjectsTest, NodesAreThoseOfAGpuFleet) {
  FleetOptions options;
  options.gpus_per_node = 4;
  options.node_labels["gpu-2"] = {{"rack", "r7"}};
  Json node = node_object(1, options, Time::from_unix(1'767'225'600));
  EXPECT_EQ(text_at(node, "metadata", "name"), "gpu-2");
  EXPECT_EQ(text_at(node, "metadata", "labels", "rack"), "r7");
  EXPECT_EQ(text_at(node, "metadata", "labels", "topology.kubernetes.io/zone"), "zone-b");
  EXPECT_EQ(text_at(node, "status", "allocatable", "nvidia.com/gpu"), "4");
  DecodeContext context;
  EXPECT_TRUE(decode_object<Node>(node, context)->ready());
  EXPECT_EQ(text_at(node, "metadata", "labels", driver_owner_label), "");
}

TEST(FleetObjectsTest, NodesAreDealtOutToNvidiaDrivers) {
  FleetOptions options;
  options.nvidia_drivers = {{"blue", "1"}, {"green", "2"}};
  auto owner = [&](int index) {
    return std::string(text_at(node_object(index, options, Time::from_unix(1)), "metadata",
                               "labels", driver_owner_label));
  };
  EXPECT_EQ(owner(0), "blue");
  EXPECT_EQ(owner(1), "green");
  EXPECT_EQ(owner(2), "blue");
}

TEST(FleetObjectsTest, ThePolicyCarriesItsUpgradePolicyAndChart) {
  FleetOptions options;
  options.upgrade_policy = JsonObject{{"maxParallelUpgrades", 4}};
  Json policy = cluster_policy(options);
  EXPECT_EQ(as_integer(find(policy, "spec", "driver", "upgradePolicy", "maxParallelUpgrades")), 4);
  EXPECT_EQ(text_at(policy, "metadata", "labels", "helm.sh/chart"), "gpu-operator-v25.10.1");
}

}  // namespace
}  // namespace lockstep::sim::fleet_objects_test
