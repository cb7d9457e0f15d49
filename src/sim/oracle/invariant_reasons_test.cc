#include "sim/oracle/invariant_reasons.h"

#include "sim/oracle/reasons_test_util.h"

namespace lockstep::sim::invariant_reasons_test {
namespace {

class TrueReasonsTest : public ReasonsTest {
 protected:
  void go_to_eviction(const std::string& node) {
    change_driver();
    go(node, {State::required, State::cordon, State::wait_for_jobs, State::pod_deletion});
  }
  void start_with_blocking_budget() {
    WorkloadOptions workloads;
    workloads.deployment_replicas = 4;
    workloads.min_available = 4;
    start(JsonObject{{"autoUpgrade", true}}, workloads);
    cluster->loop.run_for(minutes(2));
  }
};

TEST_F(TrueReasonsTest, AHealthyNodeFailsWithNothing) {
  for (const char* reason :
       {"BlockedByDisruptionBudget", "ClientMissing", "ClientNotReady", "DriverContainerBroken",
        "DriverCrashLoop", "DriverImageUnavailable", "DriverNotReady", "DriverStartTimeout",
        "EvictionFailed", "GpuPodsRemain", "NoValidatorPod", "NodeNotReady", "PodsKeepComing",
        "PodsStuckTerminating", "ProtectedPods", "StaleClient", "StaleResourceSlice",
        "ValidatorNotReady"}) {
    start();
    validate("gpu-1");
    fail("gpu-1", reason);
    expect_violation(std::string("gpu-1 says that it failed with ") + reason);
    witness.reset();
  }
}

TEST_F(TrueReasonsTest, AReasonThatNobodyHasLookedAtIsNone) {
  start();
  say("gpu-1", "MoonTooFull");
  expect_violation("gpu-1 says MoonTooFull, and it is not in the table of reasons");
}

TEST_F(TrueReasonsTest, NobodyFailsWithAWait) {
  start();
  go_to_eviction("gpu-1");
  everybody_knows();
  fail("gpu-1", "OutOfSync");
  expect_violation("gpu-1 says that it failed with OutOfSync, and nothing fails with that");
}

TEST_F(TrueReasonsTest, AFailedNodeShowsWhatItFailedWith) {
  start();
  cluster->kubelets().set_ready("gpu-1", false);
  change_driver();
  go_to_restart("gpu-1");
  go("gpu-1", {State::validation});
  cluster->loop.run_for(minutes(11));
  fail("gpu-1", "NodeNotReady");
  say("gpu-1", "NodeNotReady");
  expect_innocent();
  cluster->kubelets().set_ready("gpu-1", true);
  everybody_knows();
  say("gpu-1", "NodeNotReady");
  expect_innocent();
  say("gpu-1", "DriverCrashLoop");
  expect_violation("gpu-1 says DriverCrashLoop, and it failed with NodeNotReady");
  expect_false("gpu-1", {"Failed"});
}

TEST_F(TrueReasonsTest, WhereNothingSaysWhyThatIsShown) {
  start();
  meddle("gpu-1", label(State::failed));
  say("gpu-1", "Failed");
  expect_innocent();
  expect_false("gpu-1", {"DriverCrashLoop"});
}

TEST_F(TrueReasonsTest, SeesABudgetBlamedThatIsNotThere) {
  start();
  go_to_eviction("gpu-1");
  EXPECT_TRUE(witness->violations().empty());
  fail("gpu-1", "BlockedByDisruptionBudget");
  expect_violation(
      "gpu-1 says that it failed with BlockedByDisruptionBudget, and no budget of its pods allows "
      "no disruption");
}

TEST_F(TrueReasonsTest, ABudgetThatBlocksMayBeBlamedWhenItsTimeIsUp) {
  for (bool is_up : {false, true}) {
    start_with_blocking_budget();
    go_to_eviction("gpu-1");
    cluster->loop.run_for(minutes(is_up ? 5 : 4));
    fail("gpu-1", "BlockedByDisruptionBudget");
    if (is_up) {
      expect_innocent();
    } else {
      expect_violation("its time was not up");
    }
    witness.reset();
  }
}

TEST_F(TrueReasonsTest, ABudgetThatIsGoneMayBeBlamedForAsLongAsNobodyHasToKnow) {
  for (bool is_known : {false, true}) {
    start_with_blocking_budget();
    go_to_eviction("gpu-1");
    cluster->loop.run_for(minutes(5));
    EXPECT_TRUE(cluster->call(
        kube::remove(resource::pod_disruption_budgets, {"ml-training", "inference"})));
    cluster->loop.run_for(seconds(is_known ? 20 : 2));
    fail("gpu-1", "BlockedByDisruptionBudget");
    EXPECT_EQ(witness->violations().size(), is_known ? 1 : 0);
    witness.reset();
  }
}

TEST_F(TrueReasonsTest, SeesALateDriverThatIsReady) {
  start();
  change_driver();
  go_to_restart("gpu-1");
  restart_driver("gpu-1");
  cluster->loop.run_for(minutes(5));
  fail("gpu-1", "DriverStartTimeout");
  expect_violation(
      "gpu-1 says that it failed with DriverStartTimeout, and its driver pod is ready");
}

TEST_F(TrueReasonsTest, SeesADriverThatIsCalledLateTooSoon) {
  start();
  change_driver();
  cluster->kubelets().set_ready("gpu-1", false);
  go_to_restart("gpu-1");
  restart_driver("gpu-1");
  cluster->loop.run_for(minutes(29));
  fail("gpu-1", "DriverStartTimeout");
  expect_violation("gpu-1 says that it failed with DriverStartTimeout, and its time was not up");
}

TEST_F(TrueReasonsTest, AnOldDriverPodThatNobodyEndsIsNoDriver) {
  start();
  change_driver();
  cluster->kubelets().set_ready("gpu-1", false);
  go_to_restart("gpu-1");
  restart_driver("gpu-1");
  cluster->loop.run_for(minutes(30));
  fail("gpu-1", "DriverStartTimeout");
  expect_innocent();
}

TEST_F(TrueReasonsTest, AnImageThatCannotBePulledMayBeBlamed) {
  for (bool by_its_name : {true, false}) {
    start();
    NodeBehaviour bad;
    bad.image_pull_fails = new_version;
    behave("gpu-1", bad);
    change_driver();
    go_to_restart("gpu-1");
    restart_driver("gpu-1");
    cluster->loop.run_for(minutes(8));
    fail("gpu-1", by_its_name ? "DriverImageUnavailable" : "DriverContainerBroken");
    EXPECT_EQ(witness->violations().size(), by_its_name ? 0 : 1);
    witness.reset();
  }
}

TEST_F(TrueReasonsTest, WhatAWholePoolSaysIsLookedAtForEveryNodeOfIt) {
  start();
  witness->check_reasons({{"gpu-1", fleet::Reason{fleet::Reason::paused, "", ""}},
                          {"gpu-2", fleet::Reason{fleet::Reason::paused, "", ""}}});
  EXPECT_EQ(witness->violations().size(), 2);
}

}  // namespace
}  // namespace lockstep::sim::invariant_reasons_test
