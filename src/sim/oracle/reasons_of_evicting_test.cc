#include "sim/oracle/reasons_test_util.h"

namespace lockstep::sim::reasons_of_evicting_test {
namespace {

class EvictingReasonsTest : public ReasonsTest {
 protected:
  void go_to_eviction(const std::string& node) {
    change_driver();
    go(node, {State::required, State::cordon, State::wait_for_jobs, State::pod_deletion});
  }
  // With a controller that would recreate it.
  void add_work(const std::string& name, const std::string& node, JsonObject more = {}) {
    JsonObject metadata = std::move(more);
    metadata["name"] = name;
    metadata["labels"] = JsonObject{{"app", "work"}};
    metadata["ownerReferences"] = JsonArray{owner()};
    JsonObject container{
        {"name", "main"},
        {"image", "registry.example/work:1"},
        {"resources", JsonObject{{"limits", JsonObject{{"nvidia.com/gpu", "1"}}}}}};
    EXPECT_TRUE(cluster->call(kube::create(
        resource::pods, "ml-training",
        JsonObject{{"apiVersion", "v1"},
                   {"kind", "Pod"},
                   {"metadata", std::move(metadata)},
                   {"spec", JsonObject{{"nodeName", node},
                                       {"containers", JsonArray{std::move(container)}}}}})));
  }
  // Any object that is there.
  Json owner() {
    const std::string ns = "ml-training";
    Document made = cluster->get(resource::config_maps, {ns, "owner"});
    if (!made) {
      auto created = cluster->call(
          kube::create(resource::config_maps, ns,
                       JsonObject{{"apiVersion", "v1"},
                                  {"kind", "ConfigMap"},
                                  {"metadata", JsonObject{{"name", "owner"}, {"namespace", ns}}}}));
      EXPECT_TRUE(created);
      made = *created;
    }
    return JsonObject{{"apiVersion", "v1"},
                      {"kind", "ConfigMap"},
                      {"name", "owner"},
                      {"uid", text_at(*made, "metadata", "uid")},
                      {"controller", true}};
  }
  void start_with_hung_kubelet() {
    start(JsonObject{{"autoUpgrade", true},
                     {"waitForCompletion", JsonObject{{"podSelector", "app=work"}}}});
    cluster->kubelets().set_hung("gpu-1", true);
  }
};

TEST_F(EvictingReasonsTest, OfANodeThatIsLost) {
  start_with_hung_kubelet();
  add_work("train", "gpu-1");
  go_to_eviction("gpu-1");
  EXPECT_EQ(evict({"ml-training", "train"}), 201);
  everybody_knows();
  expect_false("gpu-1", {"NodeLost"});
  cluster->kubelets().set_ready("gpu-1", false);
  everybody_knows();
  expect_true("gpu-1", {"NodeLost"});
}

TEST_F(EvictingReasonsTest, OfANodeWithoutWorkNothingIsToBeMoved) {
  start();
  go_to_eviction("gpu-1");
  everybody_knows();
  expect_true("gpu-1", {"Drained", "NoGpuPodsLeft", "NoJobsLeft"});
  expect_false("gpu-1", {"BlockedByDisruptionBudget", "EvictionFailed", "EvictionRefused",
                         "EvictsPods", "ForceDeletes", "GpuPodsCameBack", "GpuPodsRemain",
                         "PodsKeepComing", "PodsStuckTerminating", "PodsTerminating",
                         "ProtectedPods", "WaitTimedOut", "WaitsForJobs"});
}

TEST_F(EvictingReasonsTest, OfANodeWithWorkThatHasToLeave) {
  start_with_hung_kubelet();
  add_work("work", "gpu-1");
  go_to_eviction("gpu-1");
  everybody_knows();
  expect_true("gpu-1",
              {"EvictsPods", "GpuPodsCameBack", "GpuPodsRemain", "WaitTimedOut", "WaitsForJobs"});
  expect_false("gpu-1", {"Drained", "NoGpuPodsLeft", "NoJobsLeft", "PodsTerminating",
                         "ProtectedPods", "PodsKeepComing"});
}

TEST_F(EvictingReasonsTest, AWaitIsOverWhenItsTimeIsUp) {
  start(JsonObject{
      {"autoUpgrade", true},
      {"waitForCompletion", JsonObject{{"podSelector", "app=work"}, {"timeoutSeconds", 60}}}});
  cluster->kubelets().set_hung("gpu-1", true);
  add_work("work", "gpu-1");
  change_driver();
  go("gpu-1", {State::required, State::cordon, State::wait_for_jobs});
  cluster->loop.run_for(seconds(30));
  expect_true("gpu-1", {"WaitsForJobs"});
  expect_false("gpu-1", {"WaitTimedOut"});
  cluster->loop.run_for(seconds(30));
  expect_true("gpu-1", {"WaitTimedOut"});
}

TEST_F(EvictingReasonsTest, OfANodeWithWorkThatEndsAndDoesNot) {
  start_with_hung_kubelet();
  add_work("work", "gpu-1", JsonObject{{"finalizers", JsonArray{"example.com/kept"}}});
  go_to_eviction("gpu-1");
  EXPECT_EQ(evict({"ml-training", "work"}), 201);
  everybody_knows();
  expect_true("gpu-1", {"PodsTerminating", "ForceDeletes"});
  expect_false("gpu-1", {"EvictsPods", "PodsStuckTerminating"});
  EXPECT_TRUE(cluster->call(kube::remove(
      resource::pods, {"ml-training", "work"},
      JsonObject{{"apiVersion", "v1"}, {"kind", "DeleteOptions"}, {"gracePeriodSeconds", 0}})));
  everybody_knows();
  expect_true("gpu-1", {"PodsStuckTerminating"});
}

TEST_F(EvictingReasonsTest, APodThatNobodyWouldMakeAgainIsProtected) {
  start();
  add_gpu_pod(*cluster, "notebook", "gpu-1");
  go_to_eviction("gpu-1");
  everybody_knows();
  expect_true("gpu-1", {"ProtectedPods"});
  change_policy(JsonObject{{"podDeletion", JsonObject{{"force", true}}}});
  expect_false("gpu-1", {"ProtectedPods"});
  expect_true("gpu-1", {"EvictsPods"});
}

TEST_F(EvictingReasonsTest, APodThatCameTooLate) {
  start_with_hung_kubelet();
  go_to_eviction("gpu-1");
  cluster->loop.run_for(minutes(6));
  add_work("late", "gpu-1");
  everybody_knows();
  expect_true("gpu-1", {"PodsKeepComing"});
}

TEST_F(EvictingReasonsTest, AnEvictionThatWentWrong) {
  start_with_hung_kubelet();
  add_work("work", "gpu-1");
  go_to_eviction("gpu-1");
  kube::Request request;
  request.verb = kube::Verb::create;
  request.type = resource::pods;
  request.ns = "ml-training";
  request.name = "work";
  request.subresource = "eviction";
  everybody_knows();
  expect_false("gpu-1", {"EvictionRefused", "EvictionFailed"});
  kube::Response refusal;
  refusal.code = 500;
  witness->see_call(1, request);
  witness->see_reply(1, request, refusal);
  expect_true("gpu-1", {"EvictionRefused", "EvictionFailed"});
  kube::Response done;
  done.code = 201;
  witness->see_reply(1, request, done);
  expect_false("gpu-1", {"EvictionRefused", "EvictionFailed"});
}

TEST_F(EvictingReasonsTest, ABudgetThatAllowsNothingMayBeBlamed) {
  WorkloadOptions workloads;
  workloads.deployment_replicas = 4;
  workloads.min_available = 4;
  start(JsonObject{{"autoUpgrade", true}}, workloads);
  cluster->loop.run_for(minutes(2));
  go_to_eviction("gpu-1");
  expect_true("gpu-1", {"BlockedByDisruptionBudget"});
  EXPECT_TRUE(
      cluster->call(kube::remove(resource::pod_disruption_budgets, {"ml-training", "inference"})));
  // The next try is half a minute away.
  cluster->loop.run_for(seconds(40));
  expect_true("gpu-1", {"BlockedByDisruptionBudget"});
  cluster->loop.run_for(seconds(40));
  expect_false("gpu-1", {"BlockedByDisruptionBudget"});
}

}  // namespace
}  // namespace lockstep::sim::reasons_of_evicting_test
