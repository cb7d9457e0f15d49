#include "sim/oracle/reasons_test_util.h"
#include "sim/scenario/rollout_part.h"
#include "view/rollout_watch.h"

namespace lockstep::sim::reasons_of_slots_test {
namespace {

class SlotReasonsTest : public ReasonsTest {
 protected:
  void wait_for_slot(Json policy = JsonObject{{"autoUpgrade", true},
                                              {"maxParallelUpgrades", 1},
                                              {"maxUnavailable", 1}}) {
    start(std::move(policy));
    change_driver();
    go("gpu-2", {State::required});
  }
  void start_rollout(Json more) {
    scenario.rollout = JsonObject{
        {"driver", JsonObject{{"kind", "ClusterPolicy"}, {"name", "cluster-policy"}}},
        {"waves", JsonArray{JsonObject{{"name", "all"}, {"nodes", JsonObject{{"rest", true}}}}}}};
    deep_merge(scenario.rollout, more);
    part.emplace(*cluster, scenario, 1);
    ASSERT_TRUE(part->start());
  }
  void open_waves() {
    const PodTruth* pod = witness->truth().driver_pod("gpu-2");
    const std::string newest = witness->truth().driver_of(*pod->object)->newest;
    write_status(JsonObject{
        {"phase", "Upgrading"},
        {"openWaves", 1},
        {"openFor",
         JsonObject{{"revisions", JsonObject{{"gpu-operator/nvidia-driver-daemonset", newest}}}}}});
  }
  void write_status(Json status) {
    kube::Request request = merge_patch(fleet::driver_rollouts, {"", std::string(rollout_name)},
                                        JsonObject{{"status", std::move(status)}});
    request.subresource = "status";
    EXPECT_EQ(act(request), 200);
    everybody_knows();
  }
  void group(const std::string& node, std::string_view rack) {
    meddle(node, JsonObject{{"metadata", JsonObject{{"labels", JsonObject{{"rack", rack}}}}}});
  }
  void start_groups() {
    wait_for_slot(JsonObject{{"autoUpgrade", true},
                             {"maxParallelUpgrades", 2},
                             {"maxUnavailable", 2},
                             {"maxFailures", 4}});
    start_rollout(JsonObject{{"groups", JsonObject{{"by", "rack"}}}});
    open_waves();
    for (const char* node : {"gpu-2", "gpu-3"}) group(node, "a");
    go("gpu-3", {State::required});
    everybody_knows();
  }

  Scenario scenario;
  std::optional<RolloutPart> part;
};

TEST_F(SlotReasonsTest, WhereASlotIsFreeNothingElseIsTrue) {
  wait_for_slot();
  expect_true("gpu-2", {"NextInLine"});
  expect_false("gpu-2", {"AutoUpgradeOff", "FailureBudget", "GroupTooLarge", "GroupWaits",
                         "GroupIncomplete", "InvalidPolicy", "NoPolicy", "OutsideWindow",
                         "ParallelLimit", "Paused", "ConflictingController", "RolloutPaused",
                         "UnavailableLimit", "UpgradedOutsideWave", "WaveNotOpen"});
}

TEST_F(SlotReasonsTest, ALimitThatIsReached) {
  wait_for_slot();
  go("gpu-1", {State::required, State::cordon});
  expect_true("gpu-2", {"ParallelLimit", "UnavailableLimit"});
  expect_false("gpu-2", {"NextInLine", "FailureBudget"});
  fail("gpu-1", "NodeNotReady");
  expect_true("gpu-2", {"FailureBudget"});
}

TEST_F(SlotReasonsTest, ADriverThatKubernetesRestartsByItself) {
  wait_for_slot();
  expect_false("gpu-2", {"RollingUpdateDriver"});
  set_driver_strategy("RollingUpdate");
  everybody_knows();
  expect_true("gpu-2", {"RollingUpdateDriver"});
}

TEST_F(SlotReasonsTest, WhoRetriesANodeDoesNotWaitForOthersThatFailed) {
  wait_for_slot();
  go("gpu-1", {State::required, State::cordon});
  fail("gpu-1", "NodeNotReady");
  expect_true("gpu-2", {"FailureBudget"});
  meddle("gpu-2", annotations({{fleet::failure_annotation, "NodeNotReady: so"}}));
  everybody_knows();
  expect_false("gpu-2", {"FailureBudget"});
  expect_true("gpu-2", {"NextInLine"});
}

TEST_F(SlotReasonsTest, ASwitch) {
  wait_for_slot();
  EXPECT_TRUE(cluster->call(merge_patch(cluster_policies, {"", "cluster-policy"},
                                        annotations({{fleet::paused_annotation, "by alice"}}))));
  everybody_knows();
  expect_true("gpu-2", {"Paused"});
  change_policy(JsonObject{{"maxUnavailable", "some"}});
  expect_true("gpu-2", {"InvalidPolicy"});
  change_policy(JsonObject{{"autoUpgrade", false}, {"maxUnavailable", 1}});
  expect_true("gpu-2", {"AutoUpgradeOff"});
  expect_false("gpu-2", {"InvalidPolicy", "NoPolicy"});
  EXPECT_TRUE(cluster->call(kube::remove(cluster_policies, {"", "cluster-policy"})));
  everybody_knows();
  expect_true("gpu-2", {"NoPolicy"});
}

TEST_F(SlotReasonsTest, ARivalIsAPodThatRuns) {
  wait_for_slot();
  add_gpu_pod(*cluster, "gpu-operator", "gpu-1");
  cluster->loop.run_for(minutes(1));
  expect_false("gpu-2", {"ConflictingController"});
  EXPECT_TRUE(cluster->call(merge_patch(
      resource::pods, {"ml-training", "gpu-operator"},
      JsonObject{{"metadata", JsonObject{{"labels", JsonObject{{"app", "gpu-operator"}}}}}})));
  expect_false("gpu-2", {"ConflictingController"});
  Json pod = *cluster->get(resource::pods, {"ml-training", "gpu-operator"});
  pod.as_object()["metadata"] =
      JsonObject{{"name", "gpu-operator"}, {"labels", JsonObject{{"app", "gpu-operator"}}}};
  EXPECT_TRUE(
      cluster->call(kube::create(resource::pods, std::string(operator_namespace), std::move(pod))));
  cluster->loop.run_for(minutes(1));
  expect_true("gpu-2", {"ConflictingController"});
}

TEST_F(SlotReasonsTest, ARolloutHoldsByOneThingAtATime) {
  wait_for_slot();
  start_rollout(JsonObject{});
  everybody_knows();
  expect_true("gpu-2", {"WaveNotOpen"});
  expect_false("gpu-2", {"RolloutPaused", "OutsideWindow"});
  open_waves();
  expect_false("gpu-2", {"WaveNotOpen", "RolloutPaused", "OutsideWindow"});
  ASSERT_TRUE(part->change_spec(JsonObject{{"paused", true}}));
  everybody_knows();
  expect_true("gpu-2", {"RolloutPaused"});
  // One that has been.
  ASSERT_TRUE(part->change_spec(JsonObject{
      {"paused", false}, {"windows", JsonArray{JsonObject{{"from", "00:00"}, {"to", "00:01"}}}}}));
  cluster->loop.run_for(minutes(10));
  expect_true("gpu-2", {"OutsideWindow"});
}

TEST_F(SlotReasonsTest, AGroupWaitsForRoom) {
  start_groups();
  expect_false("gpu-2", {"GroupWaits", "GroupTooLarge", "GroupIncomplete"});
  go("gpu-1", {State::required, State::cordon});
  expect_true("gpu-2", {"GroupWaits"});
  expect_false("gpu-2", {"GroupTooLarge"});
}

TEST_F(SlotReasonsTest, AGroupThatNeverFits) {
  start_groups();
  change_policy(JsonObject{{"maxParallelUpgrades", 1}});
  expect_true("gpu-2", {"GroupTooLarge"});
  expect_false("gpu-2", {"GroupWaits"});
}

TEST_F(SlotReasonsTest, AGroupOfWhichOneMayNotStart) {
  start_groups();
  meddle("gpu-3",
         JsonObject{{"metadata", JsonObject{{"labels", JsonObject{{keys.skip, "true"}}}}}});
  expect_true("gpu-2", {"GroupIncomplete"});
}

TEST_F(SlotReasonsTest, TheCanaryToleratesNoFailure) {
  wait_for_slot(JsonObject{{"autoUpgrade", true}, {"maxFailures", 4}});
  go("gpu-1", {State::required, State::cordon});
  fail("gpu-1", "NodeNotReady");
  expect_false("gpu-2", {"FailureBudget"});
  start_rollout(JsonObject{});
  open_waves();
  expect_true("gpu-2", {"FailureBudget"});
}

}  // namespace
}  // namespace lockstep::sim::reasons_of_slots_test
