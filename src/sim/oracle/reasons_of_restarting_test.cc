#include "sim/oracle/reasons_test_util.h"

namespace lockstep::sim::reasons_of_restarting_test {
namespace {

using RestartingReasonsTest = ReasonsTest;

TEST_F(RestartingReasonsTest, OfADriverThatIsAsItShouldBe) {
  start();
  expect_true("gpu-1", {"InSync", "DriverReady", "DriverRecovered", "NoLongerNeeded"});
  expect_false("gpu-1", {"DriverContainerBroken", "DriverCrashLoop", "DriverImageUnavailable",
                         "DriverNotReady", "DriverPodMissing", "DriverPodTerminating",
                         "DriverStartTimeout", "DriverStarting", "DriverWaiting", "NewerRevision",
                         "NotVerified", "Orphan", "OutOfSync", "RestartsDriver", "RevisionUnknown",
                         "SchedulerCatchesUp", "WatchesBehind", "OrphanTooYoung"});
}

TEST_F(RestartingReasonsTest, OfADriverPodThatOthersHaveReplaced) {
  start();
  const std::string uid = pod_of(*cluster, driver_daemon_set_name, "gpu-1").meta.uid.str();
  patch("gpu-1", step(State::required, {{fleet::began_with_annotation, uid}}));
  everybody_knows();
  expect_false("gpu-1", {"DriverReplaced"});
  EXPECT_TRUE(cluster->call(kube::remove(resource::pods, pod_on(driver_daemon_set_name, "gpu-1"))));
  cluster->loop.run_for(minutes(5));
  expect_true("gpu-1", {"DriverReplaced"});
}

TEST_F(RestartingReasonsTest, AnImageThatIsWaitedForOnlyJustIsNoReasonToFail) {
  start();
  NodeBehaviour bad;
  bad.image_pull_fails = new_version;
  behave("gpu-1", bad);
  change_driver();
  go_to_restart("gpu-1");
  restart_driver("gpu-1");
  EXPECT_TRUE(run_until(
      *cluster,
      [&] {
        const PodTruth* pod = witness->truth().driver_pod("gpu-1");
        return pod != nullptr && waits_for_image(*pod->object);
      },
      minutes(10)));
  invariants = {"TrueReasons"};
  fail("gpu-1", "DriverImageUnavailable");
  expect_violation("its time was not up");
}

TEST_F(RestartingReasonsTest, OfADriverThatIsToBeReplaced) {
  start();
  change_driver();
  expect_true("gpu-1", {"OutOfSync", "NewerRevision", "RestartsDriver"});
  expect_false("gpu-1", {"InSync", "DriverReady", "DriverRecovered", "NoLongerNeeded"});
}

TEST_F(RestartingReasonsTest, OfADriverThatCannotBePulled) {
  start();
  NodeBehaviour bad;
  bad.image_pull_fails = new_version;
  behave("gpu-1", bad);
  change_driver();
  go_to_restart("gpu-1");
  restart_driver("gpu-1");
  // The pauses between its tries are five minutes long by then.
  cluster->loop.run_for(minutes(18));
  expect_true("gpu-1", {"DriverImageUnavailable", "DriverStartTimeout", "DriverStarting",
                        "DriverWaiting", "DriverNotReady"});
  expect_false("gpu-1", {"DriverContainerBroken", "DriverCrashLoop"});
}

TEST_F(RestartingReasonsTest, OfADriverThatCrashes) {
  start();
  NodeBehaviour bad;
  bad.driver_crashes = new_version;
  behave("gpu-1", bad);
  change_policy(JsonObject{{"deadlines", JsonObject{{"containerRestarts", 1}}}});
  change_driver();
  go_to_restart("gpu-1");
  restart_driver("gpu-1");
  auto restarts = [&] {
    const PodTruth* pod = witness->truth().driver_pod("gpu-1");
    const Json* statuses =
        pod == nullptr ? nullptr : find(*pod->object, "status", "containerStatuses");
    return statuses == nullptr ? 0 : as_integer(find(statuses->get_array()[0], "restartCount"));
  };
  EXPECT_TRUE(run_until(*cluster, [&] { return restarts() > 1; }, hours(1)));
  everybody_knows();
  expect_true("gpu-1", {"DriverCrashLoop", "DriverNotReady"});
  expect_false("gpu-1", {"DriverImageUnavailable", "DriverContainerBroken", "DriverWaiting"});
}

TEST_F(RestartingReasonsTest, OfAContainerThatCannotBeMade) {
  start();
  change_driver();
  go_to_restart("gpu-1");
  cluster->kubelets().set_hung("gpu-1", true);
  kube::Request request = merge_patch(
      resource::pods, pod_on(driver_daemon_set_name, "gpu-1"),
      JsonObject{
          {"status",
           JsonObject{
               {"containerStatuses",
                JsonArray{JsonObject{
                    {"name", "nvidia-driver-ctr"},
                    {"image", "driver"},
                    {"imageID", ""},
                    {"ready", false},
                    {"restartCount", 0},
                    {"state", JsonObject{{"waiting",
                                          JsonObject{{"reason", "CreateContainerError"}}}}}}}}}}});
  request.subresource = "status";
  EXPECT_TRUE(cluster->call(request));
  everybody_knows();
  expect_true("gpu-1", {"DriverContainerBroken", "DriverWaiting"});
  expect_false("gpu-1", {"DriverImageUnavailable"});
}

TEST_F(RestartingReasonsTest, OfADriverPodThatNobodyEnds) {
  start();
  change_driver();
  cluster->kubelets().set_ready("gpu-1", false);
  go_to_restart("gpu-1");
  restart_driver("gpu-1");
  cluster->loop.run_for(minutes(31));
  expect_true("gpu-1", {"DriverPodTerminating", "DriverStartTimeout"});
  expect_false("gpu-1", {"DriverPodMissing"});
}

TEST_F(RestartingReasonsTest, OfAnOrphan) {
  start();
  kube::Request request = kube::remove(
      resource::daemon_sets, {"gpu-operator", std::string(driver_daemon_set_name)},
      JsonObject{{"apiVersion", "v1"}, {"kind", "DeleteOptions"}, {"propagationPolicy", "Orphan"}});
  EXPECT_TRUE(cluster->call(request));
  EXPECT_TRUE(cluster->loop.run_until(
      [&] {
        const PodTruth* pod = witness->truth().driver_pod("gpu-1");
        return pod != nullptr && witness->truth().driver_of(*pod->object) == nullptr;
      },
      minutes(1)));
  witness->set_blindness(Duration(-1));
  expect_true("gpu-1", {"Orphan", "OrphanTooYoung", "RevisionUnknown"});
  expect_false("gpu-1", {"InSync"});
}

TEST_F(RestartingReasonsTest, OfADriverPodThatIsGone) {
  start();
  cluster->kubelets().set_ready("gpu-1", false);
  ObjectKey pod = pod_on(driver_daemon_set_name, "gpu-1");
  EXPECT_TRUE(cluster->call(kube::remove(
      resource::pods, pod,
      JsonObject{{"apiVersion", "v1"}, {"kind", "DeleteOptions"}, {"gracePeriodSeconds", 0}})));
  witness->set_blindness(Duration::zero());
  cluster->loop.run_for(milliseconds(1));
  expect_true("gpu-1", {"DriverPodMissing"});
  expect_false("gpu-1", {"InSync", "OutOfSync", "DriverPodTerminating", "Orphan", "DriverCrashLoop",
                         "DriverImageUnavailable", "DriverWaiting"});
}

TEST_F(RestartingReasonsTest, OfARevisionThatIsNotMadeYet) {
  start();
  const DriverTruth* driver =
      witness->truth().driver_of(*witness->truth().driver_pod("gpu-1")->object);
  EXPECT_TRUE(cluster->set_driver_version(new_version));
  EXPECT_TRUE(
      cluster->loop.run_until([&] { return driver->digest != driver->newest_digest; }, minutes(1)));
  witness->set_blindness(Duration(-1));
  expect_true("gpu-1", {"RevisionUnknown"});
  cluster->loop.run_for(minutes(1));
  EXPECT_EQ(driver->digest, driver->newest_digest);
  expect_false("gpu-1", {"RevisionUnknown"});
}

TEST_F(RestartingReasonsTest, WhatWasTakenBackIsNoNewerRevision) {
  start();
  change_driver();
  go_to_restart("gpu-1");
  const DriverTruth* driver =
      witness->truth().driver_of(*witness->truth().driver_pod("gpu-1")->object);
  patch("gpu-1", step(State::failed, {{fleet::failure_annotation, "NodeNotReady: so"},
                                      {fleet::failed_revision_annotation, driver->newest}}));
  expect_false("gpu-1", {"NewerRevision"});
  patch("gpu-1", annotations({{fleet::failed_revision_annotation, "another"}}));
  expect_true("gpu-1", {"NewerRevision"});
}

TEST_F(RestartingReasonsTest, WhoWasCutOffMayBeBehind) {
  start();
  witness->set_blindness(minutes(10));
  expect_true("gpu-1", {"NotVerified", "SchedulerCatchesUp"});
  expect_false("gpu-1", {"WatchesBehind"});
  cordon(*cluster, "gpu-1");
  expect_true("gpu-1", {"WatchesBehind"});
}

}  // namespace
}  // namespace lockstep::sim::reasons_of_restarting_test
