#include "sim/actors/operator.h"

#include <gtest/gtest.h>

#include "sim/actors/sim_test_util.h"

namespace lockstep::sim::operator_test {
namespace {

std::string state_of(Cluster& cluster) {
  return std::string(
      text_at(*cluster.get(cluster_policies, {"", "cluster-policy"}), "status", "state"));
}

TEST(OperatorTest, ThePolicyIsReadyWhenEveryDriverPodIsNewAndReady) {
  Cluster cluster(fleet_of(2));
  ASSERT_TRUE(cluster.start());
  cluster.loop.run_for(seconds(5));
  EXPECT_EQ(state_of(cluster), "ready");
  ASSERT_TRUE(cluster.set_driver_version(new_version));
  cluster.loop.run_for(seconds(5));
  EXPECT_EQ(state_of(cluster), "notReady");
  for (auto node : {"gpu-1", "gpu-2"})
    ASSERT_TRUE(delete_pod_of(cluster, driver_daemon_set_name, node));
  EXPECT_TRUE(run_until(cluster, [&] { return state_of(cluster) == "ready"; }, minutes(10)));
  EXPECT_TRUE(has_driver(cluster, "gpu-2", new_version));
}

TEST(OperatorTest, ADaemonSetThatSomebodyDeletedIsMadeAgain) {
  Cluster cluster(fleet_of(1));
  ASSERT_TRUE(cluster.start());
  ObjectKey key{std::string(operator_namespace), std::string(driver_daemon_set_name)};
  ASSERT_TRUE(cluster.call(kube::remove(resource::daemon_sets, key)));
  cluster.loop.run_for(minutes(5));
  EXPECT_TRUE(cluster.get(resource::daemon_sets, key));
  EXPECT_TRUE(has_driver(cluster, "gpu-1", old_version));
}

TEST(OperatorTest, EveryNvidiaDriverHasItsNodes) {
  ClusterOptions options = fleet_of(4);
  options.simulated.fleet.nvidia_drivers = {{"blue", "580.1"}, {"green", "580.2"}};
  Cluster cluster(options);
  ASSERT_TRUE(cluster.start());
  EXPECT_EQ(cluster.kubelets().machine("gpu-1").version(), "580.1");
  EXPECT_EQ(cluster.kubelets().machine("gpu-2").version(), "580.2");
  EXPECT_FALSE(cluster.get(resource::daemon_sets,
                           {std::string(operator_namespace), std::string(driver_daemon_set_name)}));
  cluster.loop.run_for(seconds(5));
  EXPECT_EQ(text_at(*cluster.get(nvidia_drivers, {"", "blue"}), "status", "state"), "ready");
  // Another selector: the operator labels the nodes that it names.
  ASSERT_TRUE(cluster.call(merge_patch(
      nvidia_drivers, {"", "blue"},
      JsonObject{{"spec", JsonObject{{"nodeSelector",
                                      JsonObject{{pool_label, nullptr},
                                                 {"topology.kubernetes.io/zone", "zone-b"}}}}}})));
  ASSERT_TRUE(cluster.call(kube::remove(nvidia_drivers, {"", "green"})));
  cluster.loop.run_for(minutes(10));
  EXPECT_EQ(text_at(*cluster.get(resource::nodes, {"", "gpu-2"}), "metadata", "labels",
                    driver_owner_label),
            "blue");
  // No driver selects it.
  EXPECT_EQ(text_at(*cluster.get(resource::nodes, {"", "gpu-1"}), "metadata", "labels",
                    driver_owner_label),
            "");
}

TEST(OperatorTest, TheDefaultNvidiaDriverHasTheNodesThatNobodyElseSelects) {
  ClusterOptions options = fleet_of(3);
  options.simulated.fleet.nvidia_drivers = {{"default", "580.1"}};
  Cluster cluster(options);
  ASSERT_TRUE(cluster.start());
  auto owner_of = [&](const std::string& node) {
    return std::string(text_at(*cluster.get(resource::nodes, {"", node}), "metadata", "labels",
                               driver_owner_label));
  };
  auto create = [&](const std::string& name, const std::string& zone) {
    return cluster.call(kube::create(
        nvidia_drivers, "",
        JsonObject{{"apiVersion", nvidia_drivers.api_version()},
                   {"kind", nvidia_drivers.kind},
                   {"metadata", JsonObject{{"name", name}}},
                   {"spec", JsonObject{{"version", "580.2"},
                                       {"nodeSelector",
                                        JsonObject{{"topology.kubernetes.io/zone", zone}}}}}}));
  };
  ASSERT_TRUE(create("canary", "zone-b"));
  cluster.loop.run_for(minutes(10));
  EXPECT_EQ(owner_of("gpu-1"), "default");
  EXPECT_EQ(owner_of("gpu-2"), "canary");
  EXPECT_EQ(cluster.kubelets().machine("gpu-1").version(), "580.1");
  EXPECT_EQ(cluster.kubelets().machine("gpu-2").version(), "580.2");
  // Two that want the same node: it stays as it is.
  ASSERT_TRUE(create("second", "zone-b"));
  cluster.loop.run_for(minutes(10));
  EXPECT_EQ(owner_of("gpu-2"), "canary");
}

std::string chart_annotation(Cluster& cluster, std::string_view key) {
  Document set = cluster.get(resource::daemon_sets,
                             {std::string(dra_namespace), std::string(dra_daemon_set_name)});
  return std::string(text_at(*set, "spec", "template", "metadata", "annotations", key));
}

// Seed 000's mitigation, and seed 001's race: the plugins restart while the nodes migrate.
TEST(OperatorTest, TheChartsVersionRestartsTheDraPluginsTooEarly) {
  ClusterOptions options = fleet_of(3);
  options.simulated.gpu_operator.annotate_dra = true;
  Cluster cluster(options);
  ASSERT_TRUE(cluster.start());
  ASSERT_TRUE(cluster.set_driver_version(new_version, "v26.3.1"));
  cluster.loop.run_for(minutes(5));
  EXPECT_EQ(chart_annotation(cluster, "aicr.nvidia.com/gpu-operator-chart-version"), "v26.3.1");
  for (const Pod& pod : pods_in(cluster, std::string(dra_namespace))) {
    EXPECT_EQ(pod.meta.annotations.get("aicr.nvidia.com/gpu-operator-chart-version"), "v26.3.1");
    // New, and before the driver.
    const PodRun* run = cluster.kubelets().find_run(pod.node_name.str(), pod.meta.key());
    ASSERT_NE(run, nullptr);
    EXPECT_EQ(run->nvml.version, old_version);
  }
}

TEST(OperatorTest, TheHookRestartsTheDraPluginsWhenTheLastDriverIsReady) {
  ClusterOptions options = fleet_of(3);
  options.simulated.gpu_operator.restart_dra_after_upgrade = true;
  Cluster cluster(options);
  ASSERT_TRUE(cluster.start());
  cluster.loop.run_for(minutes(1));
  constexpr std::string_view key = "kubectl.kubernetes.io/restartedAt";
  EXPECT_EQ(chart_annotation(cluster, key), "");
  ASSERT_TRUE(cluster.set_driver_version(new_version));
  cluster.loop.run_for(seconds(10));
  for (auto node : {"gpu-1", "gpu-2"})
    ASSERT_TRUE(delete_pod_of(cluster, driver_daemon_set_name, node));
  cluster.loop.run_for(minutes(10));
  EXPECT_EQ(chart_annotation(cluster, key), "");
  ASSERT_TRUE(delete_pod_of(cluster, driver_daemon_set_name, "gpu-3"));
  cluster.loop.run_for(minutes(10));
  EXPECT_NE(chart_annotation(cluster, key), "");
  for (const Pod& pod : pods_in(cluster, std::string(dra_namespace)))
    EXPECT_EQ(cluster.kubelets().find_run(pod.node_name.str(), pod.meta.key())->nvml.version,
              new_version);
}

}  // namespace
}  // namespace lockstep::sim::operator_test
