#include "sim/oracle/invariant_pods.h"

#include "sim/oracle/invariant_test_util.h"

namespace lockstep::sim::invariant_pods_test {
namespace {

class PodsTest : public InvariantTest {
 protected:
  // A pod of a Deployment on every node.
  void start_with_work(Json policy = JsonObject{{"autoUpgrade", true}}, WorkloadOptions more = {}) {
    more.deployment_replicas = 4;
    more.deployment_gpus = 4;
    start(std::move(policy), more);
    witness.reset();
    cluster->loop.run_for(minutes(2));
    WitnessOptions options;
    options.blindness = seconds(5);
    witness.emplace(*cluster, options);
  }
  ObjectKey work_on(const std::string& node, std::string_view app = "inference") {
    for (const Pod& pod : pods_in(*cluster, "ml-training", app)) {
      if (pod.node_name == node && !pod.meta.is_deleting()) return pod.meta.key();
    }
    ADD_FAILURE() << "no " << app << " on " << node;
    return {};
  }
  std::string node_of_app(std::string_view app) {
    auto pods = pods_in(*cluster, "ml-training", app);
    EXPECT_EQ(pods.size(), 1);
    return pods.empty() ? "" : pods[0].node_name.str();
  }
  void go_to_eviction(const std::string& node) {
    go(node, {State::required, State::cordon, State::wait_for_jobs, State::pod_deletion});
  }
  void label_pod(const ObjectKey& pod, const std::string& key, Json value) {
    EXPECT_TRUE(cluster->call(merge_patch(
        resource::pods, pod,
        JsonObject{{"metadata", JsonObject{{"labels", JsonObject{{key, std::move(value)}}}}}})));
  }
};

TEST_F(PodsTest, SeesADriverRestartedOnANodeInService) {
  start();
  change_driver();
  meddle("gpu-1", label(State::pod_restart));
  cluster->loop.run_for(minutes(1));
  restart_driver("gpu-1");
  expect_violation("the driver of gpu-1 was restarted while the node was schedulable");
}

TEST_F(PodsTest, ANodeThatAPersonUncordonedAMomentAgoIsNotOurFault) {
  start();
  change_driver();
  go_to_restart("gpu-1");
  cordon(*cluster, "gpu-1", false);
  restart_driver("gpu-1");
  expect_innocent();
}

TEST_F(PodsTest, SeesADriverRestartedUnderAGpuPod) {
  start();
  add_gpu_pod(*cluster, "victim", "gpu-1");
  change_driver();
  go_to_restart("gpu-1");
  restart_driver("gpu-1");
  expect_violation("the driver of gpu-1 was restarted under the GPU pod ml-training/victim");
}

// The restart was to reload nothing: another driver came while it was on its way.
TEST_F(PodsTest, ADriverThatWasChangedAMomentAgoIsNotOurFault) {
  for (bool just_now : {true, false}) {
    start();
    add_gpu_pod(*cluster, "victim", "gpu-1");
    EXPECT_TRUE(cluster->call(merge_patch(
        cluster_policies, {"", "cluster-policy"},
        parse_json(R"({"spec": {"daemonsets": {"annotations": {"a/b": "c"}}}})").value())));
    cluster->loop.run_for(minutes(1));
    go("gpu-1", {State::required});
    patch("gpu-1", step(State::pod_restart));
    EXPECT_TRUE(cluster->set_driver_version(new_version));
    cluster->loop.run_for(just_now ? seconds(1) : seconds(20));
    restart_driver("gpu-1");
    if (just_now) {
      expect_innocent();
    } else {
      expect_violation("the driver of gpu-1 was restarted under the GPU pod ml-training/victim");
    }
  }
}

TEST_F(PodsTest, APodThatCameAMomentAgoIsNotOurFault) {
  start();
  change_driver();
  go_to_restart("gpu-1");
  add_gpu_pod(*cluster, "late", "gpu-1");
  restart_driver("gpu-1");
  expect_innocent();
}

TEST_F(PodsTest, OthersMayRestartADriver) {
  start();
  EXPECT_TRUE(delete_pod_of(*cluster, driver_daemon_set_name, "gpu-1"));
  expect_innocent();
}

TEST_F(PodsTest, EvictsGpuPodsOfANodeUnderUpgrade) {
  start_with_work();
  change_driver();
  go_to_eviction("gpu-1");
  EXPECT_EQ(evict(work_on("gpu-1")), 201);
  expect_innocent();
}

TEST_F(PodsTest, SeesAnEvictionFromANodeThatIsNotUnderUpgrade) {
  start_with_work();
  change_driver();
  ObjectKey pod = work_on("gpu-2");
  EXPECT_EQ(evict(pod), 201);
  expect_violation(pod.text() + " was removed from gpu-2 in unknown");
}

TEST_F(PodsTest, SeesADeletionThatAsksNoBudget) {
  start_with_work();
  change_driver();
  go_to_eviction("gpu-1");
  ObjectKey pod = work_on("gpu-1");
  EXPECT_EQ(remove(pod), 200);
  expect_violation(pod.text() + " was deleted from gpu-1 without asking its budgets");
}

TEST_F(PodsTest, SeesAPodEvictedThatNobodyWouldMakeAgain) {
  start();
  add_gpu_pod(*cluster, "bare", "gpu-1");
  change_driver();
  go_to_eviction("gpu-1");
  EXPECT_EQ(evict({"ml-training", "bare"}), 201);
  expect_violation(
      "ml-training/bare was evicted from gpu-1 in pod-deletion-required, and the policy protects "
      "it");
}

TEST_F(PodsTest, ForceAllowsIt) {
  start(JsonObject{{"autoUpgrade", true}, {"podDeletion", JsonObject{{"force", true}}}});
  add_gpu_pod(*cluster, "bare", "gpu-1");
  change_driver();
  go_to_eviction("gpu-1");
  EXPECT_EQ(evict({"ml-training", "bare"}), 201);
  expect_innocent();
}

TEST_F(PodsTest, SeesAnEmptyDirThatIsLost) {
  WorkloadOptions workloads;
  workloads.empty_dir_pod = true;
  start_with_work(JsonObject{{"autoUpgrade", true}}, workloads);
  change_driver();
  std::string node = node_of_app("scratch");
  go_to_eviction(node);
  ObjectKey pod = work_on(node, "scratch");
  EXPECT_EQ(evict(pod), 201);
  expect_violation(pod.text() + " was evicted from " + node);
}

TEST_F(PodsTest, SeesAnEvictionThatCannotEndBecauseAnotherPodIsProtected) {
  start_with_work();
  add_gpu_pod(*cluster, "bare", "gpu-1");
  change_driver();
  go_to_eviction("gpu-1");
  ObjectKey pod = work_on("gpu-1");
  EXPECT_EQ(evict(pod), 201);
  expect_violation(pod.text() +
                   " was evicted from gpu-1 for nothing: ml-training/bare is there too, and the "
                   "policy protects it");
}

TEST_F(PodsTest, SeesADrainThatTakesWhatItMustSkip) {
  start_with_work(JsonObject{{"autoUpgrade", true}, {"drain", JsonObject{{"enable", true}}}});
  change_driver();
  ObjectKey pod = work_on("gpu-1");
  label_pod(pod, keys.drain_skip, "true");
  go_to_eviction("gpu-1");
  go("gpu-1", {State::drain});
  cluster->loop.run_for(minutes(1));
  EXPECT_EQ(evict(pod), 201);
  expect_violation(pod.text() + " was evicted from gpu-1 in drain-required, and the policy");
}

TEST_F(PodsTest, ADrainTakesTheOthers) {
  start_with_work(JsonObject{{"autoUpgrade", true}, {"drain", JsonObject{{"enable", true}}}});
  change_driver();
  go_to_eviction("gpu-1");
  go("gpu-1", {State::drain});
  cluster->loop.run_for(minutes(1));
  EXPECT_EQ(evict(work_on("gpu-1")), 201);
  expect_innocent();
}

TEST_F(PodsTest, SeesADaemonSetsPodRemovedAtTheWrongTime) {
  start();
  change_driver();
  go_to_eviction("gpu-1");
  cluster->loop.run_for(minutes(1));
  ObjectKey client = pod_on(dra_daemon_set_name, "gpu-1");
  EXPECT_EQ(remove(client), 200);
  expect_violation(client.text() +
                   " of a DaemonSet was removed from gpu-1 in pod-deletion-required");
}

TEST_F(PodsTest, AStalePluginMayBeRestartedAtAnyTime) {
  start();
  cluster->kubelets().crash_driver("gpu-1");
  cluster->loop.run_for(minutes(5));
  EXPECT_EQ(remove(pod_on(dra_daemon_set_name, "gpu-1")), 200);
  expect_innocent();
  cluster->loop.run_for(minutes(5));
  EXPECT_EQ(remove(pod_on(dra_daemon_set_name, "gpu-1")), 200);
  expect_violation("of a DaemonSet was removed from gpu-1");
}

TEST_F(PodsTest, SeesAMirrorPodRemoved) {
  start();
  add_gpu_pod(*cluster, "static", "gpu-1", {{"kubernetes.io/config.mirror", "hash"}});
  change_driver();
  go_to_eviction("gpu-1");
  EXPECT_EQ(evict({"ml-training", "static"}), 201);
  expect_violation("the mirror pod ml-training/static was removed from gpu-1");
}

TEST_F(PodsTest, SeesAnEvictionForACosmeticChange) {
  start_with_work();
  EXPECT_TRUE(cluster->call(merge_patch(
      cluster_policies, {"", "cluster-policy"},
      JsonObject{{"spec", JsonObject{{"daemonsets",
                                      JsonObject{{"annotations", JsonObject{{"team", "a"}}}}}}}})));
  cluster->loop.run_for(seconds(30));
  go_to_eviction("gpu-1");
  ObjectKey pod = work_on("gpu-1");
  EXPECT_EQ(evict(pod), 201);
  expect_violation(
      pod.text() +
      " was evicted from gpu-1 although the driver there has the wanted configuration");
}

TEST_F(PodsTest, ADriverThatDoesNotRunIsNoReasonToStay) {
  start_with_work();
  EXPECT_TRUE(cluster->call(merge_patch(
      cluster_policies, {"", "cluster-policy"},
      JsonObject{{"spec", JsonObject{{"daemonsets",
                                      JsonObject{{"annotations", JsonObject{{"team", "a"}}}}}}}})));
  ObjectKey pod = work_on("gpu-1");
  NodeBehaviour broken;
  broken.driver_never_ready = "*";
  cluster->kubelets().set_behaviour("gpu-1", broken);
  cluster->kubelets().crash_driver("gpu-1");
  cluster->loop.run_for(minutes(2));
  go_to_eviction("gpu-1");
  EXPECT_EQ(evict(pod), 201);
  expect_innocent();
}

TEST_F(PodsTest, WhatWasAskedForIsNotCosmetic) {
  start_with_work();
  meddle("gpu-1", annotations({{keys.requested, "true"}}));
  cluster->loop.run_for(seconds(30));
  go_to_eviction("gpu-1");
  EXPECT_EQ(evict(work_on("gpu-1")), 201);
  expect_innocent();
}

TEST_F(PodsTest, SeesAPodThatIsDeletedByForceFromANodeThatIsNotReady) {
  start_with_work();
  ObjectKey pod = work_on("gpu-1");
  invariants = {"ProtectedPods"};
  go_to_eviction("gpu-1");
  cluster->kubelets().set_ready("gpu-1", false);
  cluster->loop.run_for(seconds(10));
  EXPECT_EQ(evict(pod), 201);
  expect_innocent();
  kube::Request force = kube::remove(
      resource::pods, pod,
      JsonObject{{"apiVersion", "v1"}, {"kind", "DeleteOptions"}, {"gracePeriodSeconds", 0}});
  witness->see_request(force);
  expect_violation("was deleted by force from gpu-1, which is not Ready");
  cluster->kubelets().set_ready("gpu-1", true);
  cluster->loop.run_for(seconds(10));
  witness->see_request(force);
  EXPECT_EQ(violations().size(), 1U);
}

TEST_F(PodsTest, WhatOthersDeleteIsNotHeldAgainstUs) {
  start_with_work();
  EXPECT_TRUE(cluster->call(kube::remove(resource::pods, work_on("gpu-3"))));
  expect_innocent();
}

}  // namespace
}  // namespace lockstep::sim::invariant_pods_test
