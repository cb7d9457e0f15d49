#include "sim/oracle/invariant_steps.h"

#include "sim/oracle/invariant_test_util.h"

namespace lockstep::sim::invariant_steps_test {
namespace {

using fleet::State;

class StepsTest : public InvariantTest {};

TEST_F(StepsTest, SeesAStepThatTheStateMachineDoesNotHave) {
  start();
  go("gpu-1", {State::done, State::validation});
  ASSERT_FALSE(witness->violations().empty());
  EXPECT_NE(witness->violations()[0].find("gpu-1 went from upgrade-done to validation-required, "
                                          "which is no step of the upgrade"),
            std::string::npos);
}

TEST_F(StepsTest, PeopleMaySetAnyState) {
  start();
  meddle("gpu-1", label(State::validation));
  meddle("gpu-1", label(State::required));
  expect_innocent();
}

TEST_F(StepsTest, SeesAStepWithoutItsTime) {
  start();
  go("gpu-1", {State::done});
  change_driver();
  patch("gpu-1", label(State::required));
  expect_violation(
      "gpu-1 went from upgrade-done to upgrade-required without its time of entry in the same "
      "patch");
}

TEST_F(StepsTest, SeesATimerThatComesInAnotherPatch) {
  start();
  change_driver();
  go("gpu-1", {State::required, State::cordon});
  Json patched = step(State::wait_for_jobs);
  patched.as_object()["metadata"].as_object()["annotations"].as_object()[keys.wait_start] = nullptr;
  patch("gpu-1", patched);
  expect_violation("without the timer of the wait in the same patch");
}

TEST_F(StepsTest, SeesATimerThatIsLeftBehind) {
  start();
  change_driver();
  go("gpu-1", {State::required, State::cordon, State::wait_for_jobs});
  Json patched = step(State::pod_deletion);
  patched.as_object()["metadata"].as_object()["annotations"].as_object()[keys.wait_start] = "1";
  patch("gpu-1", patched);
  expect_violation("without ending the timer of the wait in the same patch");
}

TEST_F(StepsTest, SeesACordonThatIsMissing) {
  start();
  change_driver();
  go("gpu-1", {State::required, State::cordon});
  Json patched = step(State::wait_for_jobs);
  patched.as_object()["spec"] = JsonObject{{"unschedulable", nullptr}};
  patch("gpu-1", patched);
  expect_violation("without the cordon in the same patch");
}

TEST_F(StepsTest, SeesANodeThatIsDoneAndStillCordonedByUs) {
  start();
  change_driver();
  go("gpu-1", {State::required, State::cordon, State::wait_for_jobs, State::uncordon});
  Json patched = step(State::done);
  patched.as_object()["spec"] = JsonObject{{"unschedulable", true}};
  patch("gpu-1", patched);
  expect_violation("without the uncordon in the same patch");
}

TEST_F(StepsTest, SeesAFailureThatDoesNotSayWhy) {
  start();
  change_driver();
  go("gpu-1",
     {State::required, State::cordon, State::wait_for_jobs, State::pod_deletion, State::failed});
  expect_violation("without the reason of the failure in the same patch");
}

TEST_F(StepsTest, SeesAnUpgradeWithoutACause) {
  start();
  go("gpu-1", {State::done, State::required});
  expect_violation("gpu-1 went from upgrade-done to upgrade-required for nothing");
}

// Of a node in the midst of its upgrade.
TEST_F(StepsTest, ALabelThatPeopleTookAwayIsACauseUntilTheUpgradeIsOver) {
  start();
  go("gpu-1", {State::done});
  meddle("gpu-1", label(State::cordon));
  go("gpu-1", {State::wait_for_jobs});
  meddle("gpu-1", label(State::unknown));
  go("gpu-1", {State::required, State::uncordon, State::done});
  expect_innocent();
  go("gpu-1", {State::required});
  expect_violation("gpu-1 went from upgrade-done to upgrade-required for nothing");
}

// It failed, waits for its next try, and loses its label: we have to return it anyway.
TEST_F(StepsTest, ACordonOfOursIsACause) {
  for (bool is_ours : {true, false}) {
    start();
    go("gpu-1", {State::done});
    Json held = annotations(
        {{fleet::cordon_annotation, is_ours ? fleet::our_cordon : fleet::lifted_cordon}});
    held.as_object()["spec"] = JsonObject{{"unschedulable", true}};
    patch("gpu-1", held);
    meddle("gpu-1", label(State::unknown));
    go("gpu-1", {State::required});
    if (is_ours) {
      expect_innocent();
    } else {
      expect_violation("gpu-1 went from unknown to upgrade-required for nothing");
    }
  }
}

TEST_F(StepsTest, ACordonOfOursThatOutlivesALostLabelIsSeen) {
  start();
  change_driver();
  go("gpu-1", {State::required, State::cordon, State::wait_for_jobs});
  meddle("gpu-1", label(State::unknown));
  Json patched = step(State::done);
  patched.as_object()["spec"] = JsonObject{{"unschedulable", true}};
  patch("gpu-1", patched);
  expect_violation("without the uncordon in the same patch");
}

TEST_F(StepsTest, AStepInTheSecondInWhichItsTimeWasPutRightHasThatTime) {
  start();
  go("gpu-1", {State::done});
  change_driver();
  patch("gpu-1", annotations({{fleet::since_annotation, format_rfc3339(cluster->loop.now())}}));
  go("gpu-1", {State::required});
  expect_innocent();
}

TEST_F(StepsTest, AClockThatWasSetMayShowTheSecondOfTheLastStepAgain) {
  for (bool was_set : {true, false}) {
    start();
    change_driver();
    go("gpu-1", {State::required});
    std::string entered = std::string(
        annotation_of(*witness->truth().node("gpu-1")->object, fleet::since_annotation));
    cluster->loop.run_for(minutes(20));
    if (was_set) witness->see_clock_step();
    Json next = step(State::cordon);
    deep_merge(next, annotations({{fleet::since_annotation, entered}}));
    patch("gpu-1", next);
    if (was_set) {
      expect_innocent();
    } else {
      expect_violation("without its time of entry in the same patch");
    }
  }
}

TEST_F(StepsTest, ARequestIsACause) {
  start();
  go("gpu-1", {State::done});
  meddle("gpu-1", annotations({{keys.requested, "true"}}));
  go("gpu-1", {State::required});
  expect_innocent();
}

TEST_F(StepsTest, SeesASecondTryOfWhatFailed) {
  start();
  change_driver();
  go("gpu-1", {State::required, State::cordon, State::wait_for_jobs, State::pod_deletion});
  add_gpu_pod(*cluster, "bare", "gpu-1");
  auto pod = cluster->pods_of(driver_daemon_set_name, "gpu-1").at(0);
  std::string newest = witness->truth().driver_of(*pod)->newest;
  patch("gpu-1", step(State::failed, {{fleet::failure_annotation, "ProtectedPods: bare"},
                                      {fleet::failed_revision_annotation, newest}}));
  expect_innocent();
  go("gpu-1", {State::required});
  expect_violation("gpu-1 went from upgrade-failed to upgrade-required for nothing");
}

TEST_F(StepsTest, ANewerRevisionIsACauseForAnother) {
  start();
  change_driver();
  add_gpu_pod(*cluster, "bare", "gpu-1");
  go("gpu-1", {State::required, State::cordon, State::wait_for_jobs, State::pod_deletion});
  patch("gpu-1", step(State::failed, {{fleet::failure_annotation, "ProtectedPods: bare"},
                                      {fleet::failed_revision_annotation, "older"}}));
  go("gpu-1", {State::required});
  expect_innocent();
}

TEST_F(StepsTest, SeesARecoveryFromWhatDoesNotPass) {
  start();
  change_driver();
  go("gpu-1", {State::required, State::cordon, State::wait_for_jobs, State::pod_deletion});
  add_gpu_pod(*cluster, "bare", "gpu-1");
  patch("gpu-1", step(State::failed, {{fleet::failure_annotation, "ProtectedPods: bare"}}));
  go("gpu-1", {State::validation});
  expect_violation("gpu-1 came back from the failure ProtectedPods, which does not pass by itself");
}

TEST_F(StepsTest, SeesASecondRestartForOneRevision) {
  start();
  change_driver();
  go_to_restart("gpu-1");
  restart_driver("gpu-1");
  cluster->loop.run_for(minutes(5));
  expect_innocent();
  restart_driver("gpu-1");
  expect_violation("was restarted although it is of the newest revision");
}

// As two controllers do, one of which knows of the new driver.
TEST_F(StepsTest, SeesANodeThatGoesToAndFro) {
  start();
  change_driver();
  go("gpu-1", {State::required});
  cluster->loop.run_for(seconds(10));
  go("gpu-1", {State::done});
  expect_innocent();
  cluster->loop.run_for(seconds(10));
  go("gpu-1", {State::required});
  expect_violation("gpu-1 entered upgrade-required again after 20s, and nothing about it had");
}

// As of a node to which a job comes just before its driver is restarted.
TEST_F(StepsTest, APodThatCameAndWasEvictedIsAChange) {
  start();
  invariants = {"NoRepeatedState"};
  change_driver();
  go("gpu-1", {State::required});
  cluster->loop.run_for(seconds(10));
  const ObjectKey job{"default", "job"};
  ASSERT_TRUE(cluster->call(kube::create(
      resource::pods, job.ns,
      JsonObject{{"apiVersion", "v1"},
                 {"kind", "Pod"},
                 {"metadata", JsonObject{{"name", job.name}, {"namespace", job.ns}}},
                 {"spec", JsonObject{{"nodeName", "gpu-1"},
                                     {"containers",
                                      JsonArray{JsonObject{{"name", "a"}, {"image", "a"}}}}}}})));
  EXPECT_EQ(remove(job), 200);
  cluster->loop.run_for(minutes(1));
  ASSERT_EQ(cluster->get(resource::pods, job), nullptr);
  go("gpu-1", {State::done, State::required});
  expect_innocent();
}

TEST_F(StepsTest, AStateMayBeEnteredAgainAfterAChange) {
  start();
  change_driver();
  go("gpu-1", {State::required});
  cluster->loop.run_for(seconds(10));
  go("gpu-1", {State::done});
  meddle("gpu-1", annotations({{keys.requested, "true"}}));
  cluster->loop.run_for(seconds(10));
  go("gpu-1", {State::required});
  expect_innocent();
}

TEST_F(StepsTest, ADriverThatIsBrokenMayBeRestartedByARetry) {
  start();
  NodeBehaviour broken;
  broken.driver_never_ready = new_version;
  cluster->kubelets().set_behaviour("gpu-1", broken);
  change_driver();
  go_to_restart("gpu-1");
  restart_driver("gpu-1");
  cluster->loop.run_for(minutes(35));
  patch("gpu-1", step(State::failed, {{fleet::failure_annotation, "DriverStartTimeout: late"},
                                      {fleet::failed_revision_annotation, "it"}}));
  meddle("gpu-1", label(State::required));
  go("gpu-1", {State::cordon, State::wait_for_jobs, State::pod_deletion, State::pod_restart});
  restart_driver("gpu-1");
  expect_innocent();
}

TEST_F(StepsTest, SeesANodeThatBeginsWhileKubernetesRestartsItsDriver) {
  start();
  set_driver_strategy("RollingUpdate");
  invariants = {"OnDeleteOnly"};
  meddle("gpu-1", label(State::required));
  cluster->loop.run_for(seconds(10));
  go("gpu-1", {State::cordon});
  expect_violation("gpu-1 was begun, and Kubernetes restarts its driver pod by itself");
}

TEST_F(StepsTest, SeesARequestThatRestartedNothing) {
  start();
  meddle("gpu-1", annotations({{keys.requested, "true"}}));
  cluster->loop.run_for(seconds(10));
  invariants = {"OneRestartPerCause"};
  go_to_restart("gpu-1");
  go("gpu-1", {State::validation, State::uncordon});
  patch("gpu-1", step(State::done, {{keys.requested, nullptr}}));
  expect_violation("the driver of gpu-1 was to be restarted on request, and was not");
}

TEST_F(StepsTest, OnRequestAHealthyDriverIsRestartedOnce) {
  start();
  meddle("gpu-1", annotations({{keys.requested, "true"}}));
  cluster->loop.run_for(seconds(10));
  invariants = {"OneRestartPerCause"};
  const std::string uid = pod_of(*cluster, driver_daemon_set_name, "gpu-1").meta.uid.str();
  patch("gpu-1", step(State::required, {{fleet::began_with_annotation, uid}}));
  go("gpu-1", {State::cordon, State::wait_for_jobs, State::pod_deletion, State::pod_restart});
  restart_driver("gpu-1");
  cluster->loop.run_for(minutes(10));
  expect_innocent();
  restart_driver("gpu-1");
  expect_violation("was restarted although it is of the newest revision");
}

TEST(Transitions, EveryStateHasAWayForwardAndNoneJumps) {
  // Rows of section 2, and the steps back.
  const std::map<State, std::set<State>> allowed = {
      {State::unknown, {State::done, State::required}},
      {State::done, {State::required}},
      {State::required,
       {State::cordon, State::pod_restart, State::validation, State::uncordon, State::done}},
      {State::cordon, {State::wait_for_jobs, State::validation, State::uncordon, State::done}},
      {State::wait_for_jobs,
       {State::pod_deletion, State::validation, State::uncordon, State::done}},
      {State::pod_deletion,
       {State::pod_restart, State::drain, State::validation, State::failed, State::uncordon,
        State::done}},
      {State::drain,
       {State::pod_restart, State::validation, State::failed, State::uncordon, State::done}},
      {State::pod_restart, {State::validation, State::failed, State::wait_for_jobs}},
      {State::validation, {State::pod_restart, State::failed, State::uncordon, State::done}},
      {State::uncordon, {State::done}},
      {State::failed, {State::required, State::validation}},
  };
  for (State from : fleet::all_states) {
    for (State to : fleet::all_states) {
      EXPECT_EQ(is_allowed_transition(from, to), allowed.at(from).contains(to))
          << fleet::display_name(from) << " to " << fleet::display_name(to);
    }
  }
}

}  // namespace
}  // namespace lockstep::sim::invariant_steps_test
