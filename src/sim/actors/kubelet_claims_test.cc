// The claims of simulated pods: when they are prepared and tried again, and what is left at the
// end.
#include <gtest/gtest.h>

#include "sim/actors/kubelets.h"
#include "sim/actors/sim_test_util.h"

namespace lockstep::sim::kubelet_claims_test {
namespace {

void add_work(Cluster& cluster, const WorkloadOptions& workloads) {
  for (const kube::Request& request : workload_requests(workloads)) {
    ASSERT_TRUE(cluster.call(request));
  }
}

std::vector<Preparation> attempts_of(Cluster& cluster, std::string_view pod) {
  std::vector<Preparation> attempts;
  for (const Preparation& attempt : cluster.kubelets().preparations().all()) {
    if (attempt.pod.name == pod) attempts.push_back(attempt);
  }
  return attempts;
}

WorkloadOptions wrong_request() {
  WorkloadOptions workloads;
  workloads.bad_config_pod = true;
  return workloads;
}

TEST(KubeletClaimsTest, AClaimIsPreparedOnceAndUnpreparedWithItsPod) {
  Cluster cluster(fleet_of(1));
  ASSERT_TRUE(cluster.start());
  WorkloadOptions workloads;
  workloads.claim_pods = 1;
  add_work(cluster, workloads);
  cluster.loop.run_for(minutes(5));
  auto pods = pods_in(cluster, "ml-training", "dra-inference");
  ASSERT_EQ(pods.size(), 1u);
  EXPECT_TRUE(pods[0].ready);
  EXPECT_EQ(attempts_of(cluster, pods[0].meta.name.view()).size(), 1u);
  EXPECT_FALSE(cluster.kubelets().claims("gpu-1").empty());
  ASSERT_TRUE(cluster.call(kube::remove(resource::deployments, {"ml-training", "dra-inference"})));
  cluster.loop.run_for(minutes(5));
  EXPECT_TRUE(cluster.kubelets().claims("gpu-1").empty()) << "nothing outlives its pod";
}

TEST(KubeletClaimsTest, AWrongRequestIsTriedForEverByTheKubeletsThatThereAre) {
  Cluster cluster(fleet_of(1));
  ASSERT_TRUE(cluster.start());
  add_work(cluster, wrong_request());
  cluster.loop.run_for(minutes(15));
  EXPECT_EQ(work_pod(cluster, "bad-config").phase, PodPhase::pending);
  // Every 60 to 90 seconds.
  size_t tries = attempts_of(cluster, "bad-config").size();
  EXPECT_GE(tries, 9u);
  EXPECT_LE(tries, 16u);
  EXPECT_NE(attempts_of(cluster, "bad-config")[0].error.find(
                "Failed to prepare dynamic resources: NodePrepareResources failed for "
                "ResourceClaim bad-config-gpu"),
            std::string::npos)
      << attempts_of(cluster, "bad-config")[0].error;
}

TEST(KubeletClaimsTest, WithKep5322AWrongRequestEndsThePodAtOnceAndLeavesNothing) {
  ClusterOptions options = fleet_of(1);
  options.simulated.kubelets.knows_error_type = true;
  Cluster cluster(options);
  ASSERT_TRUE(cluster.start());
  add_work(cluster, wrong_request());
  cluster.loop.run_for(minutes(15));
  EXPECT_EQ(work_pod(cluster, "bad-config").phase, PodPhase::failed);
  EXPECT_EQ(attempts_of(cluster, "bad-config").size(), 1u);
  EXPECT_TRUE(cluster.kubelets().claims("gpu-1").empty());
  Document pod = cluster.get(resource::pods, {"ml-training", "bad-config"});
  ASSERT_TRUE(pod);
  EXPECT_EQ(text_at(*pod, "status", "reason"), "FailedPrepareDynamicResources");
  EXPECT_NE(text_at(*pod, "status", "message").find("unknown field"), std::string_view::npos);
  ASSERT_TRUE(cluster.call(kube::remove(resource::pods, {"ml-training", "bad-config"})));
  cluster.loop.run_for(minutes(1));
  EXPECT_TRUE(work_pod(cluster, "bad-config").meta.name.empty()) << "it can be deleted";
}

TEST(KubeletClaimsTest, AFailureThatPassesIsNoneOfKep5322) {
  ClusterOptions options = fleet_of(1);
  options.simulated.kubelets.knows_error_type = true;
  options.simulated.kubelets.behaviours["gpu-1"].prepare_fails = "*";
  Cluster cluster(options);
  ASSERT_TRUE(cluster.start());
  WorkloadOptions workloads;
  workloads.claim_pods = 1;
  add_work(cluster, workloads);
  cluster.loop.run_for(minutes(5));
  auto pods = pods_in(cluster, "ml-training", "dra-inference");
  ASSERT_EQ(pods.size(), 1u);
  EXPECT_EQ(pods[0].phase, PodPhase::pending);
  cluster.kubelets().set_behaviour("gpu-1", {});
  cluster.loop.run_for(minutes(5));
  EXPECT_TRUE(pods_in(cluster, "ml-training", "dra-inference")[0].ready);
}

}  // namespace
}  // namespace lockstep::sim::kubelet_claims_test
