#include "controller/slot_ledger.h"
#include "sim/oracle/reasons_test_util.h"

namespace lockstep::sim::reasons_of_starting_test {
namespace {

using StartingReasonsTest = ReasonsTest;

TEST_F(StartingReasonsTest, OfANodeThatIsAsItShouldBeNoneIsTrue) {
  start();
  expect_false("gpu-1", {"Interrupted", "UncordonedByUser", "Cordoned", "CordonedAgain",
                         "CordonedIgnored", "NoDriver", "Resumed", "SafeLoad", "SafeToLoad",
                         "Skipped", "SlotGiven", "TimeNoted", "UpgradeRequested", "Upgraded"});
}

TEST_F(StartingReasonsTest, WhatStandsOnTheNodeIsTrue) {
  start();
  meddle("gpu-1", annotations({{keys.requested, "true"},
                               {keys.safe_load, "true"},
                               {fleet::unvalidated_annotation, "true"}}));
  meddle("gpu-1",
         JsonObject{{"metadata", JsonObject{{"labels", JsonObject{{keys.skip, "true"}}}}}});
  expect_true("gpu-1",
              {"UpgradeRequested", "SafeLoad", "SafeToLoad", "Interrupted", "Resumed", "Skipped"});
}

TEST_F(StartingReasonsTest, WhoseTheCordonIs) {
  start();
  cordon(*cluster, "gpu-1");
  everybody_knows();
  expect_false("gpu-1", {"CordonedIgnored"});
  change_policy(JsonObject{{"cordonedNodes", "ignore"}});
  expect_true("gpu-1", {"CordonedIgnored"});
  patch("gpu-2", annotations({{fleet::cordon_annotation, fleet::our_cordon}}));
  expect_true("gpu-2", {"UncordonedByUser"});
  patch("gpu-2", JsonObject{{"spec", JsonObject{{"unschedulable", true}}}});
  expect_false("gpu-2", {"UncordonedByUser"});
}

TEST_F(StartingReasonsTest, AnUpgradeThatLostItsCordonOrItsTime) {
  start();
  change_driver();
  go("gpu-1", {State::required, State::cordon});
  expect_true("gpu-1", {"Cordoned", "CordonedAgain"});
  expect_false("gpu-1", {"TimeNoted", "Upgraded"});
  go("gpu-1", {State::wait_for_jobs});
  expect_false("gpu-1", {"Cordoned", "CordonedAgain"});
  meddle("gpu-1", annotations({{fleet::since_annotation, nullptr}}));
  expect_true("gpu-1", {"TimeNoted"});
  go("gpu-1", {State::uncordon});
  expect_true("gpu-1", {"Upgraded"});
}

TEST_F(StartingReasonsTest, ASlotIsGivenThatIsWrittenDown) {
  start();
  change_driver();
  go("gpu-1", {State::required});
  expect_false("gpu-1", {"SlotGiven"});
  controller::Ledger ledger;
  ledger.slots["gpu-1"] =
      text_at(*witness->truth().node("gpu-1")->object, "metadata", "resourceVersion");
  const ObjectKey key{"lockstep-system", "lockstep-slots"};
  EXPECT_EQ(act(kube::create(resource::config_maps, key.ns, ledger.to_json(key, ""))), 201);
  expect_true("gpu-1", {"SlotGiven"});
}

TEST_F(StartingReasonsTest, AChangeThatDoesNotTouchTheDriver) {
  start();
  EXPECT_TRUE(cluster->call(merge_patch(
      cluster_policies, {"", "cluster-policy"},
      JsonObject{{"spec", JsonObject{{"daemonsets",
                                      JsonObject{{"annotations", JsonObject{{"a", "b"}}}}}}}})));
  cluster->loop.run_for(seconds(20));
  expect_true("gpu-1", {"OutOfSync", "RestartOnly"});
  change_driver();
  expect_false("gpu-1", {"RestartOnly"});
}

TEST_F(StartingReasonsTest, NobodyWantsADriver) {
  start();
  EXPECT_TRUE(cluster->call(
      kube::remove(resource::daemon_sets, {"gpu-operator", std::string(driver_daemon_set_name)})));
  cluster->loop.run_for(milliseconds(300));
  meddle(
      "gpu-1",
      JsonObject{{"metadata",
                  JsonObject{{"labels", JsonObject{{"nvidia.com/gpu.deploy.driver", nullptr}}}}}});
  EXPECT_TRUE(run_until(
      *cluster, [&] { return witness->truth().driver_pod("gpu-1") == nullptr; }, minutes(5)));
  everybody_knows();
  expect_true("gpu-1", {"NoDriver"});
}

}  // namespace
}  // namespace lockstep::sim::reasons_of_starting_test
