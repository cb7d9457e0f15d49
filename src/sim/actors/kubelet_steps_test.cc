// The steps of a pod's life, seen from its status.
#include <gtest/gtest.h>

#include "sim/actors/kubelets.h"
#include "sim/actors/sim_test_util.h"

namespace lockstep::sim::kubelet_steps_test {
namespace {

TEST(KubeletStepsTest, AnImageThatCannotBePulledIsTriedAgainEverMoreSlowly) {
  ClusterOptions options = fleet_of(1);
  options.simulated.kubelets.behaviours["gpu-1"].image_pull_fails = new_version;
  Cluster cluster(options);
  ASSERT_TRUE(cluster.start());
  ASSERT_TRUE(cluster.set_driver_version(new_version));
  cluster.loop.run_for(seconds(5));
  ASSERT_TRUE(delete_pod_of(cluster, driver_daemon_set_name, "gpu-1"));
  auto reason = [&] {
    Pod pod = pod_of(cluster, driver_daemon_set_name, "gpu-1");
    return pod.container_statuses.empty() ? std::string()
                                          : pod.container_statuses[0].waiting_reason.str();
  };
  EXPECT_TRUE(run_until(cluster, [&] { return reason() == "ErrImagePull"; }, minutes(2)));
  EXPECT_TRUE(run_until(cluster, [&] { return reason() == "ImagePullBackOff"; }, minutes(1)));
  EXPECT_EQ(pod_of(cluster, driver_daemon_set_name, "gpu-1").phase, PodPhase::pending);
  EXPECT_FALSE(cluster.kubelets().machine("gpu-1").loaded());
  uint64_t before = cluster.kubelets().write_counts().sent;
  cluster.loop.run_for(hours(1));
  // Every five minutes at the end, two writes each.
  EXPECT_LT(cluster.kubelets().write_counts().sent - before, 40u);
  cluster.kubelets().set_behaviour("gpu-1", {});
  EXPECT_TRUE(
      run_until(cluster, [&] { return has_driver(cluster, "gpu-1", new_version); }, minutes(15)));
}

TEST(KubeletStepsTest, ACrashingContainerIsRestartedEverMoreSlowly) {
  ClusterOptions options = fleet_of(1);
  NodeBehaviour& behaviour = options.simulated.kubelets.behaviours["gpu-1"];
  behaviour.driver_crashes = old_version;
  behaviour.driver_crash_count = 3;
  Cluster cluster(options);
  cluster.fleet.start();
  auto status = [&] {
    Pod pod = pod_of(cluster, driver_daemon_set_name, "gpu-1");
    return pod.container_statuses.empty() ? ContainerStatus() : pod.container_statuses[0];
  };
  EXPECT_TRUE(run_until(
      cluster, [&] { return status().waiting_reason == "CrashLoopBackOff"; }, minutes(5)));
  EXPECT_EQ(status().exit_code, 1);
  EXPECT_TRUE(
      run_until(cluster, [&] { return has_driver(cluster, "gpu-1", old_version); }, minutes(30)));
  EXPECT_EQ(status().restarts, 3);
  EXPECT_TRUE(status().ready);
}

TEST(KubeletStepsTest, AGpuPodWaitsForTheDriver) {
  ClusterOptions options = fleet_of(1);
  options.simulated.kubelets.behaviours["gpu-1"].driver_load = minutes(20);
  Cluster cluster(options);
  cluster.fleet.start();
  cluster.loop.run_for(seconds(5));
  add_gpu_pod(cluster, "work", "gpu-1");
  cluster.loop.run_for(minutes(15));
  EXPECT_EQ(work_pod(cluster, "work").phase, PodPhase::pending);
  cluster.loop.run_for(minutes(10));
  EXPECT_TRUE(work_pod(cluster, "work").ready);
}

TEST(KubeletStepsTest, SpeedDividesEveryDuration) {
  auto time_to_start = [](double speed) {
    ClusterOptions options = fleet_of(3);
    options.simulated.kubelets.latencies.speed = speed;
    Cluster cluster(options);
    EXPECT_TRUE(cluster.start());
    return cluster.loop.uptime();
  };
  EXPECT_LT(time_to_start(20.0) * 5, time_to_start(1.0));
}

}  // namespace
}  // namespace lockstep::sim::kubelet_steps_test
