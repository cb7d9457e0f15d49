#include "sim/actors/workload_controllers.h"

#include <gtest/gtest.h>

#include "objects/job.h"
#include "sim/actors/sim_test_util.h"

namespace lockstep::sim::workload_controllers_test {
namespace {

size_t ready_count(const std::vector<Pod>& pods) {
  return static_cast<size_t>(std::count_if(pods.begin(), pods.end(), [](const Pod& pod) {
    return pod.ready && !pod.meta.is_deleting();
  }));
}

TEST(WorkloadControllersTest, ADeploymentReplacesItsPods) {
  ClusterOptions options = fleet_of(3);
  options.simulated.fleet.workloads.deployment_replicas = 3;
  Cluster cluster(options);
  ASSERT_TRUE(cluster.start());
  cluster.loop.run_for(minutes(1));
  auto pods = pods_in(cluster, "ml-training");
  ASSERT_EQ(ready_count(pods), 3u);
  EXPECT_EQ(pods[0].meta.controller()->kind, "ReplicaSet");
  ASSERT_TRUE(cluster.call(kube::remove(resource::pods, pods[0].meta.key())));
  cluster.loop.run_for(minutes(1));
  EXPECT_EQ(ready_count(pods_in(cluster, "ml-training")), 3u);
  EXPECT_FALSE(cluster.get(resource::pods, pods[0].meta.key()));
  Document deployment = cluster.get(resource::deployments, {"ml-training", "inference"});
  EXPECT_EQ(as_integer(find(*deployment, "status", "availableReplicas")), 3);
}

TEST(WorkloadControllersTest, ADeploymentFollowsItsScaleAndTemplate) {
  ClusterOptions options = fleet_of(3);
  options.simulated.fleet.workloads.deployment_replicas = 3;
  options.simulated.fleet.workloads.deployment_gpus = 1;
  Cluster cluster(options);
  ASSERT_TRUE(cluster.start());
  cluster.loop.run_for(minutes(1));
  auto patch = [&](JsonObject spec) {
    ASSERT_TRUE(cluster.call(merge_patch(resource::deployments, {"ml-training", "inference"},
                                         JsonObject{{"spec", std::move(spec)}})));
    cluster.loop.run_for(minutes(2));
  };
  patch({{"replicas", 1}});
  EXPECT_EQ(pods_in(cluster, "ml-training").size(), 1u);
  patch({{"template",
          JsonObject{{"metadata", JsonObject{{"annotations", JsonObject{{"v", "2"}}}}}}}});
  auto pods = pods_in(cluster, "ml-training");
  ASSERT_EQ(pods.size(), 1u);
  EXPECT_EQ(pods[0].meta.annotations.get("v"), "2");
}

TEST(WorkloadControllersTest, AJobEndsWhenItsPodsHaveAndReplacesThoseThatAreLost) {
  ClusterOptions options = fleet_of(3);
  options.simulated.fleet.workloads.job_pods = 3;
  options.simulated.fleet.workloads.job_seconds = 600;
  Cluster cluster(options);
  ASSERT_TRUE(cluster.start());
  cluster.loop.run_for(minutes(1));
  auto pods = pods_in(cluster, "ml-training");
  ASSERT_EQ(pods.size(), 3u);
  EXPECT_EQ(pods[0].meta.controller()->kind, "Job");
  ASSERT_TRUE(cluster.call(kube::remove(resource::pods, pods[0].meta.key())));
  cluster.loop.run_for(minutes(20));
  DecodeContext context;
  auto job =
      decode_object<Job>(*cluster.get(resource::jobs, {"ml-training", "llm-pretrain"}), context);
  ASSERT_TRUE(job);
  EXPECT_TRUE(job->is_complete());
  EXPECT_EQ(job->succeeded, 3);
  EXPECT_EQ(job->active, 0);
  EXPECT_TRUE(job->completed.is_set());
  EXPECT_EQ(pods_in(cluster, "ml-training").size(), 3u);
}

}  // namespace
}  // namespace lockstep::sim::workload_controllers_test
