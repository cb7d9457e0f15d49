// Machines that are switched off, come back, vanish and are replaced.
#include <gtest/gtest.h>

#include "sim/actors/sim_test_util.h"

namespace lockstep::sim::kubelet_power_test {
namespace {

bool is_ready_node(Cluster& cluster, const std::string& node) {
  DecodeContext context;
  Document object = cluster.get(resource::nodes, {"", node});
  return object && decode_object<Node>(*object, context)->ready();
}

TEST(KubeletPower, AfterARebootTheDriverIsLoadedAgainAndPodsStartAnew) {
  Cluster cluster(fleet_of(2));
  ASSERT_TRUE(cluster.start());
  add_gpu_pod(cluster, "work", "gpu-1");
  ASSERT_TRUE(run_until(cluster, [&] { return work_pod(cluster, "work").ready; }, minutes(1)));
  uint64_t loads = cluster.kubelets().machine("gpu-1").generation();
  Text uid = pod_of(cluster, driver_daemon_set_name, "gpu-1").meta.uid;
  cluster.kubelets().switch_off("gpu-1");
  cluster.loop.run_for(minutes(2));
  EXPECT_FALSE(is_ready_node(cluster, "gpu-1"));
  EXPECT_TRUE(is_ready_node(cluster, "gpu-2"));
  EXPECT_FALSE(cluster.kubelets().machine("gpu-1").loaded());
  cluster.kubelets().switch_on("gpu-1");
  cluster.loop.run_for(seconds(5));
  EXPECT_TRUE(is_ready_node(cluster, "gpu-1"));
  EXPECT_FALSE(work_pod(cluster, "work").ready);
  ASSERT_TRUE(
      run_until(cluster, [&] { return has_driver(cluster, "gpu-1", old_version); }, minutes(10)));
  EXPECT_EQ(cluster.kubelets().machine("gpu-1").generation(), loads + 1);
  EXPECT_EQ(pod_of(cluster, driver_daemon_set_name, "gpu-1").meta.uid, uid);
  ASSERT_TRUE(run_until(cluster, [&] { return work_pod(cluster, "work").ready; }, minutes(5)));
  EXPECT_EQ(work_pod(cluster, "work").container_statuses[0].restarts, 1);
  // The module was not unloaded under it: the machine went as a whole.
  EXPECT_TRUE(cluster.kubelets().accidents().empty());
}

TEST(KubeletPower, AClaimOfAPodIsPreparedAgainWithAFreshHandle) {
  ClusterOptions options = fleet_of(1);
  options.simulated.fleet.workloads.claim_pods = 1;
  Cluster cluster(options);
  ASSERT_TRUE(cluster.start());
  cluster.loop.run_for(minutes(5));
  cluster.kubelets().switch_off("gpu-1");
  cluster.loop.run_for(minutes(1));
  Time on = cluster.loop.now();
  cluster.kubelets().switch_on("gpu-1");
  cluster.loop.run_for(minutes(15));
  bool prepared = false;
  for (const Preparation& attempt : cluster.kubelets().preparations().all()) {
    if (attempt.at > on && attempt.error.empty()) prepared = true;
  }
  EXPECT_TRUE(prepared);
  for (const Pod& pod : pods_in(cluster, "ml-training")) EXPECT_TRUE(pod.ready);
}

TEST(KubeletPower, APodThatIsNotToBeRestartedHasFailedAfterAReboot) {
  ClusterOptions options = fleet_of(1);
  options.simulated.fleet.workloads.job_pods = 1;
  options.simulated.fleet.workloads.job_seconds = 3600;
  Cluster cluster(options);
  ASSERT_TRUE(cluster.start());
  cluster.loop.run_for(minutes(5));
  ASSERT_EQ(pods_in(cluster, "ml-training").size(), 1u);
  Text first = pods_in(cluster, "ml-training")[0].meta.uid;
  cluster.kubelets().switch_off("gpu-1");
  cluster.loop.run_for(seconds(30));
  cluster.kubelets().switch_on("gpu-1");
  cluster.loop.run_for(minutes(10));
  bool failed = false;
  bool another_runs = false;
  for (const Pod& pod : pods_in(cluster, "ml-training")) {
    if (pod.meta.uid == first) failed = pod.phase == PodPhase::failed;
    if (pod.meta.uid != first) another_runs = pod.ready;
  }
  EXPECT_TRUE(failed);
  EXPECT_TRUE(another_runs);
}

TEST(KubeletPower, APodThatWasDeletedWhileTheMachineWasOffGoesWhenItIsOn) {
  Cluster cluster(fleet_of(1));
  ASSERT_TRUE(cluster.start());
  add_gpu_pod(cluster, "work", "gpu-1");
  cluster.loop.run_for(minutes(1));
  cluster.kubelets().switch_off("gpu-1");
  ASSERT_TRUE(cluster.call(kube::remove(resource::pods, {"ml-training", "work"})));
  cluster.loop.run_for(minutes(10));
  EXPECT_FALSE(work_pod(cluster, "work").meta.name.empty());
  cluster.kubelets().switch_on("gpu-1");
  cluster.loop.run_for(seconds(10));
  EXPECT_TRUE(work_pod(cluster, "work").meta.name.empty());
}

TEST(KubeletPower, APodThatWasBoundAndDeletedWhileTheMachineWasOffGoesWhenItIsOn) {
  Cluster cluster(fleet_of(1));
  ASSERT_TRUE(cluster.start());
  cluster.kubelets().switch_off("gpu-1");
  add_gpu_pod(cluster, "work", "gpu-1");
  ASSERT_TRUE(cluster.call(kube::remove(resource::pods, {"ml-training", "work"})));
  cluster.loop.run_for(minutes(1));
  EXPECT_FALSE(work_pod(cluster, "work").meta.name.empty());
  cluster.kubelets().switch_on("gpu-1");
  cluster.loop.run_for(seconds(10));
  EXPECT_TRUE(work_pod(cluster, "work").meta.name.empty());
}

TEST(KubeletPower, APodThatWasBoundWhileTheMachineWasOffStartsWhenItIsOn) {
  Cluster cluster(fleet_of(1));
  ASSERT_TRUE(cluster.start());
  cluster.kubelets().switch_off("gpu-1");
  add_gpu_pod(cluster, "work", "gpu-1");
  cluster.loop.run_for(minutes(1));
  EXPECT_EQ(cluster.kubelets().find_run("gpu-1", {"ml-training", "work"}), nullptr);
  cluster.kubelets().switch_on("gpu-1");
  EXPECT_TRUE(run_until(cluster, [&] { return work_pod(cluster, "work").ready; }, minutes(10)));
}

TEST(KubeletPower, AHungKubeletStopsNoPods) {
  Cluster cluster(fleet_of(1));
  ASSERT_TRUE(cluster.start());
  add_gpu_pod(cluster, "work", "gpu-1");
  cluster.loop.run_for(minutes(1));
  cluster.kubelets().set_hung("gpu-1", true);
  ASSERT_TRUE(cluster.call(kube::remove(resource::pods, {"ml-training", "work"})));
  cluster.loop.run_for(minutes(5));
  EXPECT_FALSE(work_pod(cluster, "work").meta.name.empty());
  EXPECT_TRUE(is_ready_node(cluster, "gpu-1"));
  cluster.kubelets().set_hung("gpu-1", false);
  cluster.loop.run_for(minutes(1));
  EXPECT_TRUE(work_pod(cluster, "work").meta.name.empty());
}

TEST(KubeletPower, AMachineThatIsReplacedBeginsWithNothing) {
  Cluster cluster(fleet_of(2));
  ASSERT_TRUE(cluster.start());
  Document before = cluster.get(resource::nodes, {"", "gpu-2"});
  cluster.kubelets().take_away("gpu-2");
  EXPECT_FALSE(cluster.kubelets().is_there("gpu-2"));
  ASSERT_TRUE(cluster.call(kube::remove(resource::nodes, {"", "gpu-2"})));
  cluster.loop.run_for(minutes(2));
  EXPECT_FALSE(cluster.get(resource::nodes, {"", "gpu-2"}));
  EXPECT_TRUE(cluster.pods_of(driver_daemon_set_name, "gpu-2").empty());
  cluster.kubelets().bring_back("gpu-2");
  ASSERT_TRUE(
      run_until(cluster, [&] { return has_driver(cluster, "gpu-2", old_version); }, minutes(10)));
  Document after = cluster.get(resource::nodes, {"", "gpu-2"});
  EXPECT_NE(text_at(*before, "metadata", "uid"), text_at(*after, "metadata", "uid"));
  EXPECT_TRUE(is_ready_node(cluster, "gpu-2"));
}

}  // namespace
}  // namespace lockstep::sim::kubelet_power_test
