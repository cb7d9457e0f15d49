#include "sim/oracle/invariant_service.h"

#include "sim/oracle/invariant_test_util.h"

namespace lockstep::sim::invariant_service_test {
namespace {

class ServiceTest : public InvariantTest {
 protected:
  // The driver has been restarted, and the validation begins.
  void go_to_validation(const std::string& node) {
    change_driver();
    go_to_restart(node);
    restart_driver(node);
    EXPECT_TRUE(
        run_until(*cluster, [&] { return has_driver(*cluster, node, new_version); }, minutes(10)));
    go(node, {State::validation});
  }
  void restart_validator(const std::string& node) {
    EXPECT_EQ(remove(pod_on(validator_daemon_set_name, node)), 200);
  }
  // As far as all that uses the driver has been renewed.
  void validate(const std::string& node) {
    go_to_validation(node);
    cluster->loop.run_for(seconds(2));
    restart_client(node);
    restart_validator(node);
    cluster->loop.run_for(minutes(3));
  }
};

TEST_F(ServiceTest, SeesTheUncordonOfANodeThatSomebodyElseHadCordoned) {
  start();
  change_driver();
  cordon(*cluster, "gpu-1");
  go("gpu-1", {State::required, State::uncordon, State::done});
  expect_violation("gpu-1 was uncordoned in upgrade-done, and another actor had cordoned it");
}

TEST_F(ServiceTest, SeesTheCordonOfAnAdministratorThatIsLostBecauseOthersUncordoned) {
  start();
  change_driver();
  cordon(*cluster, "gpu-1");
  go("gpu-1", {State::required, State::cordon, State::wait_for_jobs});
  cordon(*cluster, "gpu-1", false);
  invariants = {"AdminCordon"};
  go("gpu-1", {State::uncordon, State::done});
  expect_violation("gpu-1 was uncordoned in upgrade-done, and another actor had cordoned it");
}

TEST_F(ServiceTest, SeesANodeThatReturnsWithADriverPodThatOthersHaveReplaced) {
  start();
  change_driver();
  go("gpu-1", {State::required});
  EXPECT_TRUE(cluster->call(kube::remove(resource::pods, pod_on(driver_daemon_set_name, "gpu-1"))));
  EXPECT_TRUE(
      run_until(*cluster, [&] { return has_driver(*cluster, "gpu-1", new_version); }, minutes(10)));
  cluster->loop.run_for(seconds(10));
  go("gpu-1", {State::done});
  expect_violation("its driver pod is another than the one with which its upgrade began");
}

// Nothing begins there, also where a user sets the label: the node stays in service.
TEST_F(ServiceTest, KubernetesReplacesTheDriverPodOfANodeThatAUserLabelled) {
  start();
  change_driver();
  set_driver_strategy("RollingUpdate");
  meddle("gpu-1", label(State::required));
  EXPECT_TRUE(
      run_until(*cluster, [&] { return has_driver(*cluster, "gpu-1", new_version); }, minutes(30)));
  cluster->loop.run_for(seconds(10));
  meddle("gpu-1", label(State::unknown));
  invariants = {"FitForService"};
  go("gpu-1", {State::done});
  expect_innocent();
}

TEST_F(ServiceTest, SeesAnUpgradeOfOursWhoseDriverPodKubernetesReplaced) {
  start();
  change_driver();
  go("gpu-1", {State::required});
  cluster->loop.run_for(seconds(10));
  set_driver_strategy("RollingUpdate");
  EXPECT_TRUE(
      run_until(*cluster, [&] { return has_driver(*cluster, "gpu-1", new_version); }, minutes(30)));
  cluster->loop.run_for(seconds(10));
  invariants = {"FitForService"};
  go("gpu-1", {State::done});
  expect_violation("its driver pod is another than the one with which its upgrade began");
}

TEST_F(ServiceTest, OurOwnCordonIsTakenBack) {
  start();
  change_driver();
  go("gpu-1", {State::required, State::cordon, State::wait_for_jobs, State::uncordon, State::done});
  expect_innocent();
}

TEST_F(ServiceTest, PeopleMayUncordonWhatTheyCordoned) {
  start();
  cordon(*cluster, "gpu-1");
  cordon(*cluster, "gpu-1", false);
  expect_innocent();
}

TEST_F(ServiceTest, ANodeWhoseClientsAndValidatorsAreNewReturns) {
  start();
  validate("gpu-1");
  go("gpu-1", {State::uncordon, State::done});
  expect_innocent();
}

TEST_F(ServiceTest, SeesAStaleClient) {
  start();
  go_to_validation("gpu-1");
  cluster->loop.run_for(seconds(2));
  restart_validator("gpu-1");
  cluster->loop.run_for(minutes(3));
  go("gpu-1", {State::uncordon, State::done});
  expect_violation("is stale: it opened load 1 of the driver");
}

TEST_F(ServiceTest, SeesAClientThatIsNotReady) {
  start();
  go_to_validation("gpu-1");
  cluster->loop.run_for(seconds(2));
  restart_validator("gpu-1");
  cluster->loop.run_for(minutes(3));
  restart_client("gpu-1");
  EXPECT_TRUE(run_until(
      *cluster,
      [&] {
        Pod pod = pod_of(*cluster, dra_daemon_set_name, "gpu-1");
        return !pod.meta.name.empty() && !pod.meta.is_deleting() && !pod.ready;
      },
      minutes(1)));
  go("gpu-1", {State::uncordon});
  expect_violation("is not ready");
}

TEST_F(ServiceTest, SeesDevicesThatTellOfTheDriverBefore) {
  start();
  NodeBehaviour slow;
  slow.slices_late = minutes(30);
  cluster->kubelets().set_behaviour("gpu-1", slow);
  validate("gpu-1");
  go("gpu-1", {State::uncordon});
  expect_violation(
      "gpu-1 is to return to service, and its ResourceSlice says driver version 580.105.8 where "
      "580.126.20 is loaded");
}

TEST_F(ServiceTest, SeesAValidatorThatIsMissing) {
  start();
  go_to_validation("gpu-1");
  cluster->loop.run_for(seconds(2));
  restart_client("gpu-1");
  EXPECT_TRUE(
      cluster->call(kube::remove(resource::daemon_sets, {std::string(operator_namespace),
                                                         std::string(validator_daemon_set_name)})));
  cluster->loop.run_for(minutes(3));
  go("gpu-1", {State::uncordon});
  expect_violation("gpu-1 is to return to service without a validator");
}

// The write was on its way while others replaced the validator.
TEST_F(ServiceTest, AValidatorThatCameWhileTheWriteWasOnItsWayIsNotHeldAgainstIt) {
  start();
  validate("gpu-1");
  WitnessOptions late;
  late.blindness = seconds(5);
  late.lateness = seconds(30);
  witness.emplace(*cluster, late);
  EXPECT_TRUE(
      cluster->call(kube::remove(resource::pods, pod_on(validator_daemon_set_name, "gpu-1"))));
  cluster->loop.run_for(seconds(6));
  EXPECT_FALSE(pod_of(*cluster, validator_daemon_set_name, "gpu-1").ready);
  go("gpu-1", {State::uncordon});
  expect_innocent();
}

TEST_F(ServiceTest, SeesAValidatorThatNeverBecameReady) {
  start();
  NodeBehaviour bad;
  bad.validation_fails = new_version;
  cluster->kubelets().set_behaviour("gpu-1", bad);
  validate("gpu-1");
  go("gpu-1", {State::uncordon});
  expect_violation("gpu-1 is to return to service, and its validator");
}

TEST_F(ServiceTest, SeesAValidatorThatValidatedTheDriverBefore) {
  start();
  NodeBehaviour kept;
  kept.keeps_operands = true;
  cluster->kubelets().set_behaviour("gpu-1", kept);
  go_to_validation("gpu-1");
  cluster->loop.run_for(seconds(2));
  restart_client("gpu-1");
  cluster->loop.run_for(minutes(3));
  go("gpu-1", {State::uncordon});
  expect_violation("has validated the driver that was there before");
}

TEST_F(ServiceTest, SeesADriverThatIsNotReady) {
  start();
  NodeBehaviour bad;
  bad.driver_never_ready = new_version;
  cluster->kubelets().set_behaviour("gpu-1", bad);
  change_driver();
  go_to_restart("gpu-1");
  restart_driver("gpu-1");
  cluster->loop.run_for(minutes(10));
  go("gpu-1", {State::validation, State::uncordon});
  ASSERT_FALSE(witness->violations().empty());
  EXPECT_NE(witness->violations()[0].find("gpu-1 is to return to service, and its driver is not"),
            std::string::npos);
}

TEST_F(ServiceTest, AChangeThatWasTakenBackNeedsNoValidation) {
  start();
  change_driver();
  go("gpu-1", {State::required, State::cordon, State::wait_for_jobs, State::uncordon, State::done});
  expect_innocent();
}

// Its driver came up after all, and its clients were not renewed.
TEST_F(ServiceTest, SeesAStaleClientThatReturnsWithoutAValidation) {
  start();
  change_driver();
  go_to_restart("gpu-1");
  restart_driver("gpu-1");
  cluster->loop.run_for(minutes(5));
  patch("gpu-1", step(State::failed, {{fleet::failure_annotation, "DriverCrashLoop: x"}}));
  patch("gpu-1", step(State::required, {{fleet::failure_annotation, nullptr}}));
  witness->set_blindness(hours(1));
  cluster->loop.run_for(minutes(1));
  auto before = witness->violations().size();
  go("gpu-1", {State::done});
  ASSERT_EQ(witness->violations().size(), before + 1);
  EXPECT_NE(witness->violations().back().find(
                "gpu-1 is to return to service without a validation, and its client"),
            std::string::npos)
      << witness->violations().back();
}

// A client from after our restart is stale only because the driver crashed later, by itself.
TEST_F(ServiceTest, AClientFromAfterTheRestartIsNotOursToRenew) {
  start();
  validate("gpu-1");
  go("gpu-1", {State::uncordon, State::done});
  cluster->kubelets().crash_driver("gpu-1");
  cluster->loop.run_for(minutes(5));
  go("gpu-1", {State::required, State::done});
  for (const auto& violation : witness->violations()) {
    EXPECT_EQ(violation.find("its client"), std::string::npos) << violation;
  }
}

TEST_F(ServiceTest, AChangeThatWasTakenBackBeforeTheRestartNeedsNoValidation) {
  start();
  change_driver();
  go("gpu-1", {State::required});
  cluster->loop.run_for(minutes(1));
  go("gpu-1", {State::done});
  expect_innocent();
}

}  // namespace
}  // namespace lockstep::sim::invariant_service_test
