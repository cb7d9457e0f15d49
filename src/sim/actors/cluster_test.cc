#include "sim/actors/cluster.h"

#include <gtest/gtest.h>

#include "sim/actors/sim_test_util.h"

namespace lockstep::sim::cluster_test {
namespace {

TEST(ClusterTest, AFleetComesUp) {
  Cluster cluster(fleet_of(4));
  ASSERT_TRUE(cluster.start());
  EXPECT_FALSE(cluster.fleet.trouble());
  for (const std::string& node : cluster.kubelets().node_names()) {
    const Machine& machine = cluster.kubelets().machine(node);
    EXPECT_TRUE(machine.loaded()) << node;
    EXPECT_EQ(machine.version(), old_version);
    EXPECT_EQ(machine.generation(), 1u);
    EXPECT_TRUE(cluster.get(resource::resource_slices, {"", slice_name(node)}));
    Document object = cluster.get(resource::nodes, {"", node});
    EXPECT_EQ(text_at(*object, "metadata", "labels", "nvidia.com/cuda.driver-version.full"),
              old_version);
  }
  cluster.loop.run_for(seconds(5));
  Document policy = cluster.get(cluster_policies, {"", "cluster-policy"});
  EXPECT_EQ(text_at(*policy, "status", "state"), "ready");
}

// The story of the whole thing: what goes wrong when driver pods are replaced by hand.
TEST(ClusterTest, AfterANewDriverClaimsFailUntilTheDraPluginIsRestarted) {
  Cluster cluster(fleet_of(12));
  ASSERT_TRUE(cluster.start());
  // Only now, so that every node has devices to offer and gives one of them.
  WorkloadOptions workloads;
  workloads.claim_pods = 12;
  for (const kube::Request& request : workload_requests(workloads))
    ASSERT_TRUE(cluster.call(request));
  const Preparations& preparations = cluster.kubelets().preparations();
  cluster.loop.run_for(minutes(2));
  for (const std::string& node : cluster.kubelets().node_names())
    EXPECT_EQ(preparations.succeeded(node), 1u) << node;

  ASSERT_TRUE(cluster.set_driver_version(new_version));
  cluster.loop.run_for(minutes(2));
  // OnDelete: nothing restarts by itself.
  for (const std::string& node : cluster.kubelets().node_names())
    EXPECT_EQ(cluster.kubelets().machine(node).version(), old_version);
  for (const std::string& node : cluster.kubelets().node_names()) {
    ASSERT_TRUE(delete_pod_of(cluster, driver_daemon_set_name, node)) << node;
    auto validated = [&] {
      return has_driver(cluster, node, new_version) &&
             pod_of(cluster, validator_daemon_set_name, node).ready;
    };
    ASSERT_TRUE(run_until(cluster, validated, minutes(10))) << node;
    EXPECT_EQ(cluster.kubelets().machine(node).generation(), 2u);
  }
  // The claims' pods ran on meanwhile.
  EXPECT_EQ(cluster.kubelets().accidents().size(), 12u);

  // A new pod on a node with a stale plugin; it comes back there because the others are cordoned.
  std::string node = "gpu-5";
  for (const std::string& other : cluster.kubelets().node_names()) {
    if (other != node) cordon(cluster, other);
  }
  for (const Pod& pod : pods_in(cluster, "ml-training")) {
    if (pod.node_name != node) continue;
    ASSERT_TRUE(cluster.call(kube::remove(resource::pods, pod.meta.key())));
  }
  Time deleted = cluster.loop.now();
  cluster.loop.run_for(minutes(10));
  auto failures = preparations.failed_after(node, deleted);
  ASSERT_GE(failures.size(), 5u);
  EXPECT_NE(failures[0].error.find("failed to initialize NVML: Driver/library version mismatch"),
            std::string::npos)
      << failures[0].error;
  bool told = false;
  for (const Document& event : cluster.list(resource::events, "ml-training"))
    told = told || text_at(*event, "reason") == "FailedPrepareDynamicResources";
  EXPECT_TRUE(told);
  auto slice_text = [&] {
    return print_json(*cluster.get(resource::resource_slices, {"", slice_name(node)}));
  };
  EXPECT_NE(slice_text().find(semantic_version(old_version)), std::string::npos);

  Time restarted = cluster.loop.now();
  ASSERT_TRUE(delete_pod_of(cluster, dra_daemon_set_name, node));
  cluster.loop.run_for(minutes(5));
  // At most one attempt falls between the old plugin and the new.
  EXPECT_LE(preparations.failed_after(node, restarted).size(), 1u);
  EXPECT_EQ(preparations.succeeded(node), 2u);
  EXPECT_EQ(slice_text().find(semantic_version(old_version)), std::string::npos);
  EXPECT_NE(slice_text().find(new_version), std::string::npos);
}

// With an API that loses, refuses and delays it takes longer and comes to the same end.
TEST(ClusterTest, ABadNetworkDelaysTheFleetAndNoMore) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    ClusterOptions options = fleet_of(6, seed);
    options.fleet_faults = kube::FaultWeights::everything(0.2);
    options.simulated.fleet.workloads.deployment_replicas = 4;
    options.simulated.fleet.workloads.claim_pods = 4;
    Cluster cluster(options);
    ASSERT_TRUE(cluster.start(hours(4))) << seed;
    EXPECT_FALSE(cluster.fleet_api().injected().empty());
    ASSERT_TRUE(cluster.set_driver_version(new_version));
    cluster.loop.run_for(minutes(5));
    for (const std::string& node : cluster.kubelets().node_names())
      delete_pod_of(cluster, driver_daemon_set_name, node);
    cluster.loop.run_for(minutes(10));
    cluster.fleet_faults().weights = {};
    for (const std::string& node : cluster.kubelets().node_names()) {
      auto upgraded = [&] { return has_driver(cluster, node, new_version); };
      EXPECT_TRUE(run_until(cluster, upgraded, hours(1))) << seed << " " << node;
      EXPECT_EQ(cluster.pods_of(dra_daemon_set_name, node).size(), 1u) << seed;
    }
    cluster.loop.run_for(minutes(10));
    auto pods = pods_in(cluster, "ml-training", "inference");
    EXPECT_EQ(std::count_if(pods.begin(), pods.end(), [](const Pod& pod) { return pod.ready; }), 4)
        << seed;
    EXPECT_EQ(pods.size(), 4u) << seed;
    // Pods whose claims cannot be prepared are retried, with events, indefinitely: without them
    // there is nothing left to write.
    ASSERT_TRUE(
        cluster.call(kube::remove(resource::deployments, {"ml-training", "dra-inference"})));
    cluster.loop.run_for(minutes(10));
    uint64_t version = cluster.backend.store.version();
    cluster.loop.run_for(hours(1));
    EXPECT_EQ(cluster.backend.store.version(), version) << seed;
  }
}

TEST(ClusterTest, ChangesOfAFewMinutesAgoAreForgottenWhenThereAreMany) {
  // A fleet whose log may have 16,000 changes.
  Cluster cluster(fleet_of(1500, 1));
  ASSERT_TRUE(
      cluster.call(kube::create(resource::config_maps, "default",
                                JsonObject{{"metadata", JsonObject{{"name", "counter"}}}})));
  auto write_many = [&](int count) {
    for (int i = 0; i < count; ++i) {
      ASSERT_TRUE(
          cluster.call(merge_patch(resource::config_maps, {"default", "counter"},
                                   JsonObject{{"data", JsonObject{{"is", std::to_string(i)}}}})));
    }
  };
  const apiserver::Shelf& shelf = cluster.backend.store.shelf("configmaps");
  write_many(15'000);
  EXPECT_EQ(shelf.first_position(), 0U);
  cluster.loop.run_for(minutes(6));
  write_many(3'000);
  EXPECT_GT(shelf.first_position(), 0U);
  EXPECT_GE(shelf.end_position() - shelf.first_position(), 10'000U);
}

std::string digest_of_run(uint64_t seed) {
  ClusterOptions options = fleet_of(6, seed);
  options.simulated.fleet.workloads.deployment_replicas = 3;
  options.simulated.fleet.workloads.claim_pods = 3;
  Cluster cluster(options);
  EXPECT_TRUE(cluster.start());
  EXPECT_TRUE(cluster.set_driver_version(new_version));
  cluster.loop.run_for(seconds(30));
  for (const std::string& node : cluster.kubelets().node_names())
    EXPECT_TRUE(delete_pod_of(cluster, driver_daemon_set_name, node));
  cluster.loop.run_for(minutes(20));
  return cluster.digest();
}

TEST(ClusterTest, TheSameSeedGivesTheSameRun) {
  EXPECT_EQ(digest_of_run(7), digest_of_run(7));
  EXPECT_NE(digest_of_run(7), digest_of_run(8));
}

}  // namespace
}  // namespace lockstep::sim::cluster_test
