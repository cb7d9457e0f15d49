#include "sim/invariant_reasons.h"

#include <fmt/format.h>

#include "sim/invariant_test_util.h"

namespace lockstep::sim {
namespace {

class ReasonsTest : public InvariantTest {
 protected:
  void fail(const std::string& node, std::string_view reason) {
    patch(node, step(State::failed, {{fleet::failure_annotation, fmt::format("{}: so", reason)}}));
  }
  void go_to_eviction(const std::string& node) {
    change_driver();
    go(node, {State::required, State::cordon, State::wait_for_jobs, State::pod_deletion});
  }
  void say(const std::string& node, std::string_view reason) {
    witness->check_reasons({{node, upgrade::Reason{std::string(reason), "", ""}}});
  }
  void wait_for_slot() {
    start(JsonObject{{"autoUpgrade", true}, {"maxParallelUpgrades", 1}, {"maxUnavailable", 1}});
    change_driver();
    go("gpu-2", {State::required});
  }
};

TEST_F(ReasonsTest, SeesABudgetBlamedThatIsNotThere) {
  start();
  go_to_eviction("gpu-1");
  EXPECT_TRUE(witness->violations().empty());
  fail("gpu-1", "BlockedByDisruptionBudget");
  expect_violation(
      "gpu-1 says that it failed with BlockedByDisruptionBudget, and no budget of its pods allows "
      "no disruption");
}

TEST_F(ReasonsTest, ABudgetThatBlocksMayBeBlamed) {
  WorkloadOptions workloads;
  workloads.deployment_replicas = 4;
  workloads.min_available = 4;
  start(JsonObject{{"autoUpgrade", true}}, workloads);
  cluster->loop.run_for(minutes(2));
  go_to_eviction("gpu-1");
  fail("gpu-1", "BlockedByDisruptionBudget");
  expect_innocent();
}

TEST_F(ReasonsTest, ABudgetThatIsGoneMayBeBlamedForAsLongAsNobodyHasToKnow) {
  WorkloadOptions workloads;
  workloads.deployment_replicas = 4;
  workloads.min_available = 4;
  for (bool is_known : {false, true}) {
    start(JsonObject{{"autoUpgrade", true}}, workloads);
    cluster->loop.run_for(minutes(2));
    go_to_eviction("gpu-1");
    EXPECT_TRUE(cluster->call(
        kube::remove(resource::pod_disruption_budgets, {"ml-training", "inference"})));
    cluster->loop.run_for(seconds(is_known ? 20 : 2));
    fail("gpu-1", "BlockedByDisruptionBudget");
    EXPECT_EQ(witness->violations().size(), is_known ? 1 : 0);
    witness.reset();
  }
}

TEST_F(ReasonsTest, SeesProtectedPodsThatAreNotThere) {
  start();
  go_to_eviction("gpu-1");
  cluster->loop.run_for(minutes(1));
  fail("gpu-1", "ProtectedPods");
  expect_violation("none of its pods is without a controller or has an emptyDir");
}

TEST_F(ReasonsTest, SeesALateDriverThatIsReady) {
  start();
  change_driver();
  go_to_restart("gpu-1");
  restart_driver("gpu-1");
  cluster->loop.run_for(minutes(5));
  fail("gpu-1", "DriverStartTimeout");
  expect_violation(
      "gpu-1 says that it failed with DriverStartTimeout, and its driver pod is ready");
}

TEST_F(ReasonsTest, AnOldDriverPodThatNobodyEndsIsNoDriver) {
  start();
  change_driver();
  cluster->kubelets().set_ready("gpu-1", false);
  go_to_restart("gpu-1");
  restart_driver("gpu-1");
  cluster->loop.run_for(minutes(30));
  fail("gpu-1", "DriverStartTimeout");
  expect_innocent();
}

TEST_F(ReasonsTest, SeesACrashLoopThatIsNone) {
  start();
  change_driver();
  go_to_restart("gpu-1");
  cluster->loop.run_for(minutes(1));
  fail("gpu-1", "DriverCrashLoop");
  expect_violation("its driver pod restarted 0 times");
}

TEST_F(ReasonsTest, SeesAnImageThatIsThere) {
  start();
  change_driver();
  go_to_restart("gpu-1");
  cluster->loop.run_for(minutes(1));
  fail("gpu-1", "DriverImageUnavailable");
  expect_violation("its driver pod waits for nothing");
}

TEST_F(ReasonsTest, AnImageThatCannotBePulledMayBeBlamed) {
  start();
  NodeBehaviour bad;
  bad.image_pull_fails = new_version;
  cluster->kubelets().set_behaviour("gpu-1", bad);
  change_driver();
  go_to_restart("gpu-1");
  restart_driver("gpu-1");
  cluster->loop.run_for(minutes(8));
  fail("gpu-1", "DriverImageUnavailable");
  expect_innocent();
}

TEST_F(ReasonsTest, SeesAValidatorThatIsThereAndReady) {
  start();
  change_driver();
  go_to_restart("gpu-1");
  restart_driver("gpu-1");
  cluster->loop.run_for(minutes(10));
  go("gpu-1", {State::validation});
  fail("gpu-1", "NoValidatorPod");
  expect_violation("it has a validator pod");
}

TEST_F(ReasonsTest, SeesAWaitForALimitThatIsNotReached) {
  wait_for_slot();
  say("gpu-2", "ParallelLimit");
  expect_violation(
      "gpu-2 says that it waits because of ParallelLimit, and 0 are active and "
      "maxParallelUpgrades is 1");
}

TEST_F(ReasonsTest, ALimitThatIsReachedIsAReason) {
  wait_for_slot();
  go("gpu-1", {State::required, State::cordon});
  say("gpu-2", "ParallelLimit");
  say("gpu-2", "UnavailableLimit");
  expect_innocent();
}

TEST_F(ReasonsTest, SeesEveryOtherWaitThatHasNoGround) {
  for (const char* reason : {"UnavailableLimit", "FailureBudget", "Skipped", "NodeNotReady",
                             "Paused", "AutoUpgradeOff", "InvalidPolicy", "CordonedIgnored"}) {
    wait_for_slot();
    say("gpu-2", reason);
    expect_violation(std::string("gpu-2 says that it waits because of ") + reason);
  }
}

TEST_F(ReasonsTest, OfNodesThatDoNotWaitNothingIsAsked) {
  wait_for_slot();
  say("gpu-3", "Skipped");
  expect_innocent();
}

}  // namespace
}  // namespace lockstep::sim
