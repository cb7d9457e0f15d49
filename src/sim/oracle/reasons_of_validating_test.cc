#include "sim/oracle/reasons_test_util.h"

namespace lockstep::sim::reasons_of_validating_test {
namespace {

using ValidatingReasonsTest = ReasonsTest;

TEST_F(ValidatingReasonsTest, OfANodeThatIsFitForService) {
  start();
  validate("gpu-1");
  expect_true("gpu-1", {"Validated"});
  expect_false("gpu-1", {"ClientMissing", "ClientNotReady", "DriverNotReady", "NoValidatorPod",
                         "NodeNotReady", "RestartsClients", "StaleClient", "StaleResourceSlice",
                         "ValidatorNotReady"});
}

TEST_F(ValidatingReasonsTest, AClientFromBeforeIsStale) {
  start();
  go_to_validation("gpu-1");
  everybody_knows();
  expect_true("gpu-1", {"StaleClient", "RestartsClients"});
  expect_false("gpu-1", {"ClientMissing"});
}

TEST_F(ValidatingReasonsTest, AClientThatTakesLongToGo) {
  start();
  validate("gpu-1");
  NodeBehaviour slow;
  slow.slowness = 1000;
  behave("gpu-1", slow);
  restart_client("gpu-1");
  everybody_knows();
  expect_true("gpu-1", {"ClientMissing"});
}

TEST_F(ValidatingReasonsTest, AClientThatDoesNotBecomeReady) {
  start();
  validate("gpu-1");
  restart_client("gpu-1");
  EXPECT_TRUE(run_until(
      *cluster,
      [&] {
        return !pod_of(*cluster, dra_daemon_set_name, "gpu-1").meta.is_deleting() &&
               !pod_of(*cluster, dra_daemon_set_name, "gpu-1").ready;
      },
      minutes(1)));
  cluster->kubelets().set_hung("gpu-1", true);
  everybody_knows();
  expect_true("gpu-1", {"ClientNotReady"});
  expect_false("gpu-1", {"ClientMissing", "Validated"});
}

TEST_F(ValidatingReasonsTest, DevicesThatArePublishedLate) {
  start();
  NodeBehaviour late;
  late.slices_late = minutes(30);
  behave("gpu-1", late);
  validate("gpu-1");
  expect_true("gpu-1", {"StaleResourceSlice"});
}

TEST_F(ValidatingReasonsTest, AMachineThatLoadsAnotherDriverThanItsPodBrings) {
  start();
  NodeBehaviour odd;
  odd.loads_instead = old_version;
  behave("gpu-1", odd);
  change_driver();
  go_to_restart("gpu-1");
  restart_driver("gpu-1");
  cluster->loop.run_for(minutes(10));
  go("gpu-1", {State::validation});
  restart_client("gpu-1");
  cluster->loop.run_for(minutes(3));
  expect_true("gpu-1", {"StaleResourceSlice"});
}

TEST_F(ValidatingReasonsTest, AValidatorThatIsNotContent) {
  start();
  NodeBehaviour bad;
  bad.validation_fails = new_version;
  behave("gpu-1", bad);
  validate("gpu-1");
  expect_true("gpu-1", {"ValidatorNotReady"});
  expect_false("gpu-1", {"NoValidatorPod"});
}

TEST_F(ValidatingReasonsTest, AValidatorThatNobodyMakes) {
  start();
  validate("gpu-1");
  EXPECT_TRUE(cluster->call(kube::remove(
      resource::daemon_sets, {"gpu-operator", std::string(validator_daemon_set_name)})));
  cluster->loop.run_for(minutes(3));
  expect_true("gpu-1", {"NoValidatorPod"});
  expect_false("gpu-1", {"ValidatorNotReady"});
}

TEST_F(ValidatingReasonsTest, AMachineThatIsAway) {
  start();
  validate("gpu-1");
  cluster->kubelets().set_ready("gpu-1", false);
  everybody_knows();
  expect_true("gpu-1", {"NodeNotReady"});
}

}  // namespace
}  // namespace lockstep::sim::reasons_of_validating_test
