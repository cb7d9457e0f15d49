#include "sim/actors/scheduler.h"

#include <map>

#include <gtest/gtest.h>

#include "sim/actors/sim_test_util.h"

namespace lockstep::sim::scheduler_test {
namespace {

void load(Cluster& cluster, const WorkloadOptions& workloads) {
  for (const kube::Request& request : workload_requests(workloads))
    ASSERT_TRUE(cluster.call(request)) << request.describe();
  cluster.loop.run_for(minutes(2));
}

std::map<std::string, int> pods_by_node(Cluster& cluster) {
  std::map<std::string, int> counts;
  for (const Pod& pod : pods_in(cluster, "ml-training")) ++counts[pod.node_name.str()];
  return counts;
}

TEST(SchedulerTest, SpreadsAndNeverGivesMoreGpusThanThereAre) {
  Cluster cluster(fleet_of(3));
  ASSERT_TRUE(cluster.start());
  WorkloadOptions workloads;
  workloads.deployment_replicas = 8;
  workloads.deployment_gpus = 4;
  load(cluster, workloads);
  auto counts = pods_by_node(cluster);
  EXPECT_EQ(counts["gpu-1"], 2);
  EXPECT_EQ(counts["gpu-2"], 2);
  EXPECT_EQ(counts["gpu-3"], 2);
  EXPECT_EQ(counts[""], 2);
  for (const Pod& pod : pods_in(cluster, "ml-training")) {
    if (!pod.node_name.empty()) continue;
    const Condition* condition = find_condition(pod.conditions, "PodScheduled");
    ASSERT_NE(condition, nullptr);
    EXPECT_EQ(condition->reason, "Unschedulable");
    EXPECT_EQ(pod.phase, PodPhase::pending);
  }
}

TEST(SchedulerTest, LeavesCordonedAndUnreadyNodesAlone) {
  Cluster cluster(fleet_of(3));
  ASSERT_TRUE(cluster.start());
  cordon(cluster, "gpu-1");
  cluster.kubelets().set_ready("gpu-2", false);
  cluster.loop.run_for(seconds(5));
  WorkloadOptions workloads;
  workloads.deployment_replicas = 3;
  load(cluster, workloads);
  auto counts = pods_by_node(cluster);
  EXPECT_EQ(counts["gpu-3"], 1);
  EXPECT_EQ(counts[""], 2);
  // What waited goes where there is room now.
  cordon(cluster, "gpu-1", false);
  cluster.kubelets().set_ready("gpu-2", true);
  cluster.loop.run_for(minutes(1));
  counts = pods_by_node(cluster);
  EXPECT_EQ(counts["gpu-1"], 1);
  EXPECT_EQ(counts["gpu-2"], 1);
}

TEST(SchedulerTest, APodThatEndsMakesRoom) {
  Cluster cluster(fleet_of(1));
  ASSERT_TRUE(cluster.start());
  WorkloadOptions workloads;
  workloads.job_pods = 1;
  workloads.job_seconds = 300;
  load(cluster, workloads);
  WorkloadOptions more;
  more.deployment_replicas = 1;
  load(cluster, more);
  EXPECT_EQ(pods_by_node(cluster)[""], 1);
  cluster.loop.run_for(minutes(6));
  EXPECT_EQ(pods_by_node(cluster)[""], 0);
}

TEST(SchedulerTest, AllocatesEachDeviceOnce) {
  Cluster cluster(fleet_of(2));
  ASSERT_TRUE(cluster.start());
  WorkloadOptions workloads;
  workloads.claim_pods = 20;
  load(cluster, workloads);
  auto counts = pods_by_node(cluster);
  EXPECT_EQ(counts["gpu-1"], 8);
  EXPECT_EQ(counts["gpu-2"], 8);
  EXPECT_EQ(counts[""], 4);
  std::set<std::string> devices;
  DecodeContext context;
  for (const Document& document : cluster.list(resource::resource_claims)) {
    auto claim = decode_object<ResourceClaim>(*document, context);
    for (const auto& device : claim->devices)
      EXPECT_TRUE(devices.insert(device.pool.str() + "/" + device.device.str()).second);
  }
  EXPECT_EQ(devices.size(), 16u);
}

TEST(SchedulerTest, ObeysSelectorsAndTaints) {
  Cluster cluster(fleet_of(3));
  ASSERT_TRUE(cluster.start());
  ASSERT_TRUE(cluster.call(merge_patch(
      resource::nodes, {"", "gpu-3"},
      JsonObject{
          {"spec", JsonObject{{"taints", JsonArray{JsonObject{{"key", "keep"},
                                                              {"value", "off"},
                                                              {"effect", "NoSchedule"}}}}}}})));
  auto add = [&](const char* name, JsonObject spec) {
    spec["containers"] = JsonArray{JsonObject{{"name", "c"}, {"image", "i"}}};
    auto created = cluster.call(kube::create(resource::pods, "ml-training",
                                             JsonObject{{"apiVersion", "v1"},
                                                        {"kind", "Pod"},
                                                        {"metadata", JsonObject{{"name", name}}},
                                                        {"spec", std::move(spec)}}));
    ASSERT_TRUE(created) << created.error().text();
  };
  add("b", {{"nodeSelector", JsonObject{{"topology.kubernetes.io/zone", "zone-b"}}}});
  add("c", {{"nodeSelector", JsonObject{{"topology.kubernetes.io/zone", "zone-c"}}}});
  add("d", {{"nodeSelector", JsonObject{{"topology.kubernetes.io/zone", "zone-c"}}},
            {"tolerations", JsonArray{JsonObject{{"key", "keep"}, {"operator", "Exists"}}}}});
  cluster.loop.run_for(minutes(1));
  EXPECT_EQ(work_pod(cluster, "b").node_name, "gpu-2");
  EXPECT_EQ(work_pod(cluster, "c").node_name, "");
  EXPECT_EQ(work_pod(cluster, "d").node_name, "gpu-3");
}

}  // namespace
}  // namespace lockstep::sim::scheduler_test
