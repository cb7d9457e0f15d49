#include "sim/actors/kubelets.h"

#include <gtest/gtest.h>

#include "sim/actors/sim_test_util.h"

namespace lockstep::sim::kubelets_test {
namespace {

TEST(KubeletsTest, APodRunsAndEndsAfterItsRunTime) {
  Cluster cluster(fleet_of(1));
  ASSERT_TRUE(cluster.start());
  add_gpu_pod(cluster, "work", "gpu-1", {{"sim.lockstep.dev/run-seconds", "100"}});
  ASSERT_TRUE(run_until(cluster, [&] { return work_pod(cluster, "work").ready; }, minutes(1)));
  Pod running = work_pod(cluster, "work");
  EXPECT_EQ(running.phase, PodPhase::running);
  EXPECT_TRUE(running.container_statuses[0].running());
  cluster.loop.run_for(seconds(110));
  Pod ended = work_pod(cluster, "work");
  EXPECT_EQ(ended.phase, PodPhase::succeeded);
  EXPECT_FALSE(ended.ready);
  EXPECT_EQ(ended.container_statuses[0].terminated_reason, "Completed");
}

TEST(KubeletsTest, WritesAPodsStatusAsRarelyAsARealKubelet) {
  Cluster cluster(fleet_of(1));
  ASSERT_TRUE(cluster.start());
  cluster.loop.run_for(minutes(1));
  uint64_t before = cluster.kubelets().write_counts().sent;
  add_gpu_pod(cluster, "work", "gpu-1");
  cluster.loop.run_for(minutes(10));
  // Pending, running, ready.
  EXPECT_EQ(cluster.kubelets().write_counts().sent - before, 3u);
}

TEST(KubeletsTest, APodThatSomebodyCalledUnreadyIsReadyAgain) {
  ClusterOptions options = fleet_of(1);
  options.simulated.kubelets.lease_interval = seconds(10);
  Cluster cluster(options);
  ASSERT_TRUE(cluster.start());
  add_gpu_pod(cluster, "work", "gpu-1");
  ASSERT_TRUE(run_until(cluster, [&] { return work_pod(cluster, "work").ready; }, minutes(1)));
  kube::Request request = kube::patch(
      resource::pods, {"ml-training", "work"}, kube::PatchType::strategic,
      parse_json(R"({"status":{"conditions":[{"type":"Ready","status":"False"}]}})").value());
  request.subresource = "status";
  ASSERT_TRUE(cluster.call(std::move(request)));
  ASSERT_FALSE(work_pod(cluster, "work").ready);
  cluster.loop.run_for(seconds(5));
  EXPECT_TRUE(work_pod(cluster, "work").ready);
}

TEST(KubeletsTest, APodTakesItsTimeToStopButNoMoreThanItsGracePeriod) {
  Cluster cluster(fleet_of(1));
  ASSERT_TRUE(cluster.start());
  add_gpu_pod(cluster, "quick", "gpu-1", {{"sim.lockstep.dev/stop-seconds", "10"}});
  add_gpu_pod(cluster, "slow", "gpu-1", {{"sim.lockstep.dev/stop-seconds", "500"}}, 60);
  add_gpu_pod(cluster, "deaf", "gpu-1", {{"sim.lockstep.dev/ignore-stop", "true"}});
  cluster.loop.run_for(minutes(1));
  for (auto name : {"quick", "slow", "deaf"})
    ASSERT_TRUE(cluster.call(kube::remove(resource::pods, {"ml-training", name})));
  auto there = [&](const char* name) { return !work_pod(cluster, name).meta.name.empty(); };
  cluster.loop.run_for(seconds(9));
  EXPECT_TRUE(there("quick"));
  cluster.loop.run_for(seconds(2));
  EXPECT_FALSE(there("quick"));
  cluster.loop.run_for(seconds(48));
  EXPECT_TRUE(there("slow"));
  cluster.loop.run_for(seconds(2));
  EXPECT_FALSE(there("slow"));
  cluster.loop.run_for(hours(1));
  EXPECT_TRUE(there("deaf"));
  ASSERT_TRUE(cluster.call(kube::remove(resource::pods, {"ml-training", "deaf"},
                                        JsonObject{{"gracePeriodSeconds", 0}})));
  cluster.loop.run_for(seconds(1));
  EXPECT_FALSE(there("deaf"));
  EXPECT_EQ(cluster.kubelets().find_run("gpu-1", {"ml-training", "deaf"}), nullptr);
}

TEST(KubeletsTest, AShorterGracePeriodCountsWhileAPodStops) {
  Cluster cluster(fleet_of(1));
  ASSERT_TRUE(cluster.start());
  add_gpu_pod(cluster, "slow", "gpu-1", {{"sim.lockstep.dev/stop-seconds", "500"}}, 600);
  cluster.loop.run_for(minutes(1));
  ASSERT_TRUE(cluster.call(kube::remove(resource::pods, {"ml-training", "slow"})));
  cluster.loop.run_for(minutes(1));
  EXPECT_FALSE(work_pod(cluster, "slow").meta.name.empty());
  ASSERT_TRUE(cluster.call(kube::remove(resource::pods, {"ml-training", "slow"},
                                        JsonObject{{"gracePeriodSeconds", 5}})));
  cluster.loop.run_for(seconds(6));
  EXPECT_TRUE(work_pod(cluster, "slow").meta.name.empty());
}

// A write that was long on its way comes after a newer one.
TEST(KubeletsTest, AStatusThatIsOverwrittenIsWrittenAgain) {
  Cluster cluster(fleet_of(1));
  ASSERT_TRUE(cluster.start());
  add_gpu_pod(cluster, "work", "gpu-1");
  add_gpu_pod(cluster, "job", "gpu-1", {{"sim.lockstep.dev/run-seconds", "60"}});
  cluster.loop.run_for(minutes(5));
  ASSERT_TRUE(work_pod(cluster, "work").ready);
  ASSERT_EQ(work_pod(cluster, "job").phase, PodPhase::succeeded);
  auto overwrite = [&](const char* name, const char* status) {
    ASSERT_TRUE(cluster.call(
        status_patch(resource::pods, {"ml-training", name}, parse_json(status).value())));
  };
  overwrite("work", R"({"conditions": [{"type": "Ready", "status": "False"}]})");
  overwrite("job", R"({"phase": "Running"})");
  EXPECT_FALSE(work_pod(cluster, "work").ready);
  cluster.loop.run_for(seconds(1));
  EXPECT_TRUE(work_pod(cluster, "work").ready);
  EXPECT_EQ(work_pod(cluster, "job").phase, PodPhase::succeeded);
}

TEST(KubeletsTest, AKubeletThatHangsDoesNothingUntilItIsBack) {
  Cluster cluster(fleet_of(1));
  ASSERT_TRUE(cluster.start());
  NodeBehaviour behaviour;
  behaviour.hangs = true;
  cluster.kubelets().set_behaviour("gpu-1", behaviour);
  add_gpu_pod(cluster, "work", "gpu-1");
  cluster.loop.run_for(minutes(10));
  EXPECT_FALSE(work_pod(cluster, "work").ready);
  cluster.kubelets().set_behaviour("gpu-1", {});
  cluster.loop.run_for(minutes(1));
  EXPECT_TRUE(work_pod(cluster, "work").ready);
}

TEST(KubeletsTest, AnOutageMakesTheNodeNotReadyForItsTime) {
  ClusterOptions options = fleet_of(2);
  options.simulated.kubelets.behaviours["gpu-2"].outages = {{minutes(10), minutes(20)}};
  Cluster cluster(options);
  ASSERT_TRUE(cluster.start());
  DecodeContext context;
  auto ready = [&] {
    return decode_object<Node>(*cluster.get(resource::nodes, {"", "gpu-2"}), context)->ready();
  };
  EXPECT_TRUE(ready());
  cluster.loop.run_for(minutes(11) - cluster.loop.uptime());
  EXPECT_FALSE(ready());
  add_gpu_pod(cluster, "work", "gpu-2");
  cluster.loop.run_for(minutes(5));
  EXPECT_FALSE(work_pod(cluster, "work").ready);
  cluster.loop.run_for(minutes(5));
  EXPECT_TRUE(ready());
  EXPECT_TRUE(work_pod(cluster, "work").ready);
}

// As when the process that simulates the nodes is started again.
TEST(KubeletsTest, NewKubeletsAdoptThePodsThatRun) {
  Cluster cluster(fleet_of(2));
  ASSERT_TRUE(cluster.start());
  cluster.loop.run_for(minutes(1));
  SeededRandom random(9);
  SilentLog log;
  SimulatedFleetOptions options;
  options.fleet.nodes = 2;
  options.actors = Actors::nodes_only();
  SimulatedFleet second(Parts{cluster.api("second"), cluster.loop, random, log}, options);
  uint64_t before = cluster.backend.store.version();
  second.start();
  cluster.loop.run_for(minutes(5));
  EXPECT_TRUE(second.running());
  EXPECT_EQ(second.kubelets().machine("gpu-1").version(), old_version);
  EXPECT_TRUE(second.kubelets().machine("gpu-2").loaded());
  // The nodes' status, and nothing about pods.
  EXPECT_LE(cluster.backend.store.version() - before, 2u);
}

}  // namespace
}  // namespace lockstep::sim::kubelets_test
