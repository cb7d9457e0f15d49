// What driver pods, DRA plugins and validators do to their machine.
#include <gtest/gtest.h>

#include "sim/actors/kubelets.h"
#include "sim/actors/sim_test_util.h"

namespace lockstep::sim::kubelet_roles_test {
namespace {

// A new driver on gpu-1, by hand.
void upgrade(Cluster& cluster) {
  ASSERT_TRUE(cluster.set_driver_version(new_version));
  cluster.loop.run_for(seconds(5));
  ASSERT_TRUE(delete_pod_of(cluster, driver_daemon_set_name, "gpu-1"));
}

TEST(KubeletRolesTest, ReloadingUnderARunningGpuPodIsAnAccident) {
  Cluster cluster(fleet_of(1));
  ASSERT_TRUE(cluster.start());
  add_gpu_pod(cluster, "work", "gpu-1");
  cluster.loop.run_for(minutes(1));
  upgrade(cluster);
  ASSERT_TRUE(
      run_until(cluster, [&] { return has_driver(cluster, "gpu-1", new_version); }, minutes(10)));
  ASSERT_EQ(cluster.kubelets().accidents().size(), 1u);
  const Accident& accident = cluster.kubelets().accidents()[0];
  EXPECT_EQ(accident.node, "gpu-1");
  EXPECT_EQ(accident.pod, (ObjectKey{"ml-training", "work"}));
  EXPECT_FALSE(accident.of_daemon_set);
}

TEST(KubeletRolesTest, ReloadingAnIdleMachineIsNone) {
  Cluster cluster(fleet_of(1));
  ASSERT_TRUE(cluster.start());
  add_gpu_pod(cluster, "work", "gpu-1", {{"sim.lockstep.dev/run-seconds", "5"}});
  cluster.loop.run_for(minutes(1));
  upgrade(cluster);
  ASSERT_TRUE(
      run_until(cluster, [&] { return has_driver(cluster, "gpu-1", new_version); }, minutes(10)));
  EXPECT_TRUE(cluster.kubelets().accidents().empty());
}

TEST(KubeletRolesTest, ACosmeticChangeReloadsNothing) {
  Cluster cluster(fleet_of(1));
  ASSERT_TRUE(cluster.start());
  add_gpu_pod(cluster, "work", "gpu-1");
  cluster.loop.run_for(minutes(1));
  Pod before = pod_of(cluster, driver_daemon_set_name, "gpu-1");
  ASSERT_TRUE(cluster.call(merge_patch(
      cluster_policies, {"", "cluster-policy"},
      JsonObject{{"spec", JsonObject{{"daemonsets", JsonObject{{"annotations",
                                                                JsonObject{{"team", "ml"}}}}}}}})));
  cluster.loop.run_for(seconds(5));
  ASSERT_TRUE(delete_pod_of(cluster, driver_daemon_set_name, "gpu-1"));
  ASSERT_TRUE(run_until(
      cluster,
      [&] {
        Pod pod = pod_of(cluster, driver_daemon_set_name, "gpu-1");
        return pod.ready && pod.meta.uid != before.meta.uid;
      },
      minutes(2)));
  Pod after = pod_of(cluster, driver_daemon_set_name, "gpu-1");
  EXPECT_NE(after.meta.labels.get("controller-revision-hash"),
            before.meta.labels.get("controller-revision-hash"));
  EXPECT_EQ(after.meta.annotations.get("team"), "ml");
  EXPECT_EQ(cluster.kubelets().machine("gpu-1").generation(), 1u);
  EXPECT_TRUE(cluster.kubelets().accidents().empty());
}

TEST(KubeletRolesTest, ARestartedDriverContainerReloads) {
  Cluster cluster(fleet_of(1));
  ASSERT_TRUE(cluster.start());
  cluster.kubelets().crash_driver("gpu-1");
  cluster.loop.run_for(seconds(1));
  EXPECT_FALSE(pod_of(cluster, driver_daemon_set_name, "gpu-1").ready);
  ASSERT_TRUE(
      run_until(cluster, [&] { return has_driver(cluster, "gpu-1", old_version); }, minutes(10)));
  EXPECT_EQ(cluster.kubelets().machine("gpu-1").generation(), 2u);
}

TEST(KubeletRolesTest, TheValidatorIsPausedAndValidatesAgain) {
  Cluster cluster(fleet_of(1));
  ASSERT_TRUE(cluster.start());
  Pod before = pod_of(cluster, validator_daemon_set_name, "gpu-1");
  ASSERT_TRUE(before.ready);
  upgrade(cluster);
  cluster.loop.run_for(seconds(40));
  EXPECT_FALSE(pod_of(cluster, validator_daemon_set_name, "gpu-1").ready);
  ASSERT_TRUE(run_until(
      cluster, [&] { return pod_of(cluster, validator_daemon_set_name, "gpu-1").ready; },
      minutes(10)));
  EXPECT_TRUE(has_driver(cluster, "gpu-1", new_version));
  EXPECT_NE(pod_of(cluster, validator_daemon_set_name, "gpu-1").meta.uid, before.meta.uid);
}

TEST(KubeletRolesTest, AMachineMayFailItsValidationOrLoadTheWrongVersion) {
  ClusterOptions options = fleet_of(1);
  options.simulated.kubelets.behaviours["gpu-1"].validation_fails = "580.1";
  options.simulated.kubelets.behaviours["gpu-1"].loads_instead = "580.1";
  Cluster cluster(options);
  cluster.fleet.start();
  cluster.loop.run_for(minutes(30));
  EXPECT_TRUE(has_driver(cluster, "gpu-1", "580.1"));
  EXPECT_FALSE(pod_of(cluster, validator_daemon_set_name, "gpu-1").ready);
  cluster.kubelets().set_behaviour("gpu-1", {});
  cluster.loop.run_for(minutes(1));
  EXPECT_TRUE(pod_of(cluster, validator_daemon_set_name, "gpu-1").ready);
}

TEST(KubeletRolesTest, ADriverMayNeverBecomeReady) {
  ClusterOptions options = fleet_of(1);
  options.simulated.kubelets.behaviours["gpu-1"].driver_never_ready = new_version;
  Cluster cluster(options);
  ASSERT_TRUE(cluster.start());
  upgrade(cluster);
  cluster.loop.run_for(hours(2));
  Pod pod = pod_of(cluster, driver_daemon_set_name, "gpu-1");
  EXPECT_EQ(pod.phase, PodPhase::running);
  EXPECT_FALSE(pod.ready);
}

TEST(KubeletRolesTest, APluginMayPublishItsDevicesLate) {
  ClusterOptions options = fleet_of(1);
  options.simulated.kubelets.behaviours["gpu-1"].slices_late = minutes(5);
  Cluster cluster(options);
  cluster.fleet.start();
  auto slice = [&] {
    return cluster.backend.store.shelf("resourceslices.resource.k8s.io")
        .find({"", slice_name("gpu-1")});
  };
  ASSERT_TRUE(run_until(
      cluster, [&] { return pod_of(cluster, dra_daemon_set_name, "gpu-1").ready; }, minutes(10)));
  cluster.loop.run_for(minutes(4));
  EXPECT_EQ(slice(), nullptr);
  cluster.loop.run_for(minutes(2));
  EXPECT_NE(slice(), nullptr);
}

// Seed 001: the plugin was restarted while the machine was between two drivers.
TEST(KubeletRolesTest, APluginThatStartsDuringTheMigrationHasEmptyDevices) {
  Cluster cluster(fleet_of(1));
  ASSERT_TRUE(cluster.start());
  upgrade(cluster);
  ASSERT_TRUE(run_until(
      cluster, [&] { return cluster.kubelets().machine("gpu-1").migrating(); }, minutes(1)));
  ASSERT_TRUE(delete_pod_of(cluster, dra_daemon_set_name, "gpu-1"));
  ASSERT_TRUE(
      run_until(cluster, [&] { return has_driver(cluster, "gpu-1", new_version); }, minutes(10)));
  WorkloadOptions workloads;
  workloads.claim_pods = 1;
  for (const kube::Request& request : workload_requests(workloads))
    ASSERT_TRUE(cluster.call(request));
  cluster.loop.run_for(minutes(2));
  ASSERT_FALSE(cluster.kubelets().preparations().all().empty());
  EXPECT_NE(
      cluster.kubelets().preparations().all().back().error.find("-gpu-0\": empty device edits"),
      std::string::npos);
  auto pods = pods_in(cluster, "ml-training", "dra-inference");
  ASSERT_EQ(pods.size(), 1u);
  EXPECT_EQ(pods[0].container_statuses[0].waiting_reason, "ContainerCreating");
}

// As `lockstep dra-plugin` does it; NVIDIA's keeps what it opened.
TEST(KubeletRolesTest, APluginThatFollowsItsDriverIsNotStale) {
  for (bool follows : {true, false}) {
    auto options = fleet_of(1);
    if (follows) {
      options.simulated.fleet.node_labels["gpu-1"] = {{"sim.lockstep.dev/dra-plugin", "lockstep"}};
    }
    Cluster cluster(options);
    ASSERT_TRUE(cluster.start());
    cluster.loop.run_for(minutes(2));
    const Pod plugin = pod_of(cluster, dra_daemon_set_name, "gpu-1");
    upgrade(cluster);
    ASSERT_TRUE(
        run_until(cluster, [&] { return has_driver(cluster, "gpu-1", new_version); }, minutes(10)));
    const PodRun* run = cluster.kubelets().find_run("gpu-1", plugin.meta.key());
    ASSERT_NE(run, nullptr) << "nobody restarted it";
    EXPECT_EQ(run->nvml.generation == cluster.kubelets().machine("gpu-1").generation(), follows);
    EXPECT_EQ(run->nvml.version == new_version, follows);
  }
}

}  // namespace
}  // namespace lockstep::sim::kubelet_roles_test
