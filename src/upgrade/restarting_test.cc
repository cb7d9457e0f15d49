#include <algorithm>

#include <gtest/gtest.h>

#include "upgrade/upgrade_test_util.h"

namespace lockstep::upgrade::restarting_test {
namespace {

Scene restarting(std::optional<Pod> driver, Duration ago = seconds(10)) {
  Scene scene;
  scene.driver = std::move(driver);
  scene.in(State::pod_restart, ago);
  return scene;
}

// The pod that came after the old one had been deleted.
Pod successor() { return make_driver_pod("new", test_time - seconds(5)); }

TEST(PodRestart, DeletesAPodThatIsOutOfSync) {
  Decision decision = restarting(make_driver_pod("old")).decide();
  EXPECT_EQ(removed(decision), (Names{"delete driver-old"}));
  EXPECT_NE(decision.freshness, Freshness::as_shown) << "nothing brings the old driver back";
}

TEST(PodRestart, WaitsWhetherAnOrphanThatWasOnlyJustMadeGoesByItself) {
  Scene scene;
  scene.in(State::pod_restart);
  scene.set = nullptr;
  scene.driver = make_driver_pod("new", scene.now - seconds(10));
  Decision decision = scene.decide();
  EXPECT_FALSE(decision.writes());
  EXPECT_EQ(decision.reason.name, "OrphanTooYoung");
  EXPECT_EQ(decision.look_again, seconds(20));
  scene.driver = make_driver_pod("new", scene.now - seconds(30));
  EXPECT_TRUE(scene.decide().removals());
  scene.driver = make_driver_pod("new", scene.now + seconds(1));
  EXPECT_TRUE(scene.decide().removals()) << "by the clock, which is of no use here";
}

TEST(PodRestart, DeletesAnOrphan) {
  Scene scene = restarting(make_driver_pod("new"));
  scene.driver->meta.owners[0].uid = "uid-of-a-set-that-is-gone";
  EXPECT_EQ(removed(scene.decide()), (Names{"delete driver-new"}));
  scene.set = nullptr;
  EXPECT_EQ(removed(scene.decide()), (Names{"delete driver-new"}));
}

TEST(PodRestart, DeletesThePodOnceAndWaitsWhileItEnds) {
  Decision decision = restarting(terminating(make_driver_pod("old"))).decide();
  EXPECT_FALSE(decision.writes());
  EXPECT_EQ(decision.reason.name, "DriverPodTerminating");
  EXPECT_EQ(decision.look_again, minutes(30) - seconds(10));
}

TEST(PodRestart, WaitsForThePodThatIsNotThereYet) {
  Decision decision = restarting(std::nullopt).decide();
  EXPECT_FALSE(decision.writes());
  EXPECT_EQ(decision.reason.name, "DriverPodMissing");
  EXPECT_EQ(decision.look_again, minutes(30) - seconds(10));
}

TEST(PodRestart, GoesToValidationWhenThePodIsInSyncRunningAndReady) {
  Scene scene = restarting(successor());
  EXPECT_EQ(entered(scene.decide()), State::validation);
  scene.driver->container_statuses.emplace_back();
  EXPECT_FALSE(scene.decide().writes()) << "one container of two";
  EXPECT_EQ(scene.decide().reason.name, "DriverStarting");
}

TEST(PodRestart, NeitherDeletesNorTrustsAPodWhileTheRevisionIsUnknown) {
  Scene scene = restarting(make_driver_pod("old"));
  scene.newest = "";
  EXPECT_FALSE(scene.decide().writes());
  EXPECT_EQ(scene.decide().reason.name, "RevisionUnknown");
  ASSERT_TRUE(scene.decide().look_again.has_value());
}

TEST(PodRestart, RemovesTheSafeLoadAnnotationWhenInSync) {
  Scene scene = restarting(not_ready(successor()));
  scene.annotate(scene.rules.keys.safe_load, "gpu-1");
  Decision decision = scene.decide();
  ASSERT_NE(decision.patch(), nullptr);
  EXPECT_EQ(entered(decision), std::nullopt);
  ASSERT_EQ(decision.patch()->annotations.size(), 1U);
  EXPECT_EQ(decision.patch()->annotations[0].first, scene.rules.keys.safe_load);
  EXPECT_FALSE(decision.patch()->annotations[0].second.has_value());
}

TEST(PodRestart, RestartsAnOutOfSyncPodBeforeItLetsItLoad) {
  Scene scene = restarting(make_driver_pod("old"));
  scene.annotate(scene.rules.keys.safe_load, "gpu-1");
  EXPECT_EQ(removed(scene.decide()), (Names{"delete driver-old"}));
}

// It has waited for a slot for hours, or the machine was restarted under it.
TEST(PodRestart, DoesNotLetADriverLoadUnderGpuPods) {
  Scene scene = restarting(not_ready(successor()));
  scene.annotate(scene.rules.keys.safe_load, "gpu-1");
  EXPECT_NE(scene.decide().freshness, Freshness::as_shown);
  scene.pods = {gpu_pod(make_pod("train-1"))};
  EXPECT_EQ(entered(scene.decide()), State::wait_for_jobs);
  EXPECT_EQ(scene.decide().reason.name, "GpuPodsCameBack");
  EXPECT_NE(scene.decide().freshness, Freshness::as_shown)
      << "another of us may have seen them leave";
}

TEST(PodRestart, WaitsForASchedulerThatMayNotHaveHeardOfTheCordon) {
  Scene scene = restarting(make_driver_pod("old"));
  EXPECT_EQ(removed(scene.decide()), (Names{"delete driver-old"}));
  scene.scheduler_sees_from = scene.now + seconds(40);
  EXPECT_FALSE(scene.decide().writes());
  EXPECT_EQ(scene.decide().reason.name, "SchedulerCatchesUp");
  EXPECT_EQ(scene.decide().look_again, seconds(40));
  // Pods that arrived in the meantime are moved first.
  scene.pods = {gpu_pod(make_pod("train-1"))};
  EXPECT_EQ(entered(scene.decide()), State::wait_for_jobs);
  scene.pods = {};
  scene.now = scene.now + seconds(40);
  EXPECT_EQ(removed(scene.decide()), (Names{"delete driver-old"}));
}

TEST(PodRestart, ADeadlineDoesNotPassWhileNobodyIsThere) {
  Scene scene = restarting(terminating(make_driver_pod("old")), hours(2));
  EXPECT_EQ(entered(scene.decide()), State::failed);
  EXPECT_NE(scene.decide().freshness, Freshness::as_shown);
  scene.seen_since = scene.now - minutes(10);
  EXPECT_FALSE(scene.decide().writes());
  EXPECT_EQ(scene.decide().look_again, minutes(20));
  // A pod that is older than the state does not shorten the wait.
  scene.in(State::pod_restart, minutes(5));
  EXPECT_EQ(scene.decide().look_again, minutes(25));
}

TEST(PodRestart, DoesNotTakeAPodThatWaitsForSafeLoadForABrokenOne) {
  for (int32_t restarts : {0, 1}) {
    Pod pod = not_ready(make_driver_pod("new", test_time - hours(5)));
    pod.container_statuses[0].restarts = restarts;
    Scene scene = restarting(pod);
    scene.annotate(scene.rules.keys.safe_load, "gpu-1");
    Decision decision = scene.decide();
    ASSERT_NE(decision.patch(), nullptr);
    scene.apply(*decision.patch());
    EXPECT_FALSE(scene.has(scene.rules.keys.safe_load));
    EXPECT_FALSE(scene.decide().writes()) << "nor afterwards, while it loads";
  }
}

TEST(PodRestart, RestartsDaemonGpuPodsOfTheSelectorJustBeforeTheDriver) {
  Scene scene = restarting(make_driver_pod("old"));
  Pod daemon = make_daemon_pod("dcgm");
  daemon.meta.labels = {{"app", "dcgm"}};
  scene.pods = {gpu_pod(daemon)};
  EXPECT_EQ(removed(scene.decide()), (Names{"delete driver-old"}));
  scene.policy.pod_deletion.pods = selector("app=dcgm");
  EXPECT_EQ(removed(scene.decide()), (Names{"delete dcgm", "delete driver-old"}));
}

TEST(PodRestart, DoesNotTouchTheDriverWhileAGpuPodIsThere) {
  Scene scene = restarting(make_driver_pod("old"));
  scene.pods = {gpu_pod(make_pod("came-back"))};
  Decision decision = scene.decide();
  EXPECT_EQ(entered(decision), State::wait_for_jobs) << "jobs among them are waited for";
  EXPECT_EQ(decision.reason.name, "GpuPodsCameBack");
  // Another controller may have deleted the driver pod already. A successor that is in sync must
  // not pass for a reverted change, which ends without a check of the clients.
  using Annotation = std::pair<std::string, std::optional<std::string>>;
  Annotation requested{fleet::Keys().requested, "true"};
  const auto& annotations = decision.patch()->annotations;
  EXPECT_NE(std::find(annotations.begin(), annotations.end(), requested), annotations.end());
}

TEST(PodRestart, OfARestartOnlyLeavesGpuPodsAlone) {
  Scene scene = restarting(with_digest(make_driver_pod("old"), "abc"));
  scene.set->pod_template.spec = scene.driver->spec;
  Pod daemon = make_daemon_pod("dcgm");
  daemon.meta.labels = {{"app", "dcgm"}};
  scene.policy.pod_deletion.pods = selector("app=dcgm");
  scene.pods = {gpu_pod(daemon), gpu_pod(make_pod("train"))};
  EXPECT_EQ(removed(scene.decide()), (Names{"delete driver-old"}));
}

TEST(PodRestart, FailsWhenAContainerHasRestartedMoreThanTenTimes) {
  EXPECT_FALSE(restarting(crashing(successor(), 10)).decide().writes());
  Decision decision = restarting(crashing(successor(), 11)).decide();
  EXPECT_EQ(entered(decision), State::failed);
  EXPECT_EQ(decision.reason.name, "DriverCrashLoop");
  EXPECT_NE(decision.reason.text.find("container main"), std::string::npos);
}

TEST(PodRestart, CountsRestartsOfInitContainersAndOnlyOfThoseThatAreNotReady) {
  Pod pod = not_ready(successor());
  ContainerStatus init;
  init.name = "k8s-driver-manager";
  init.restarts = 11;
  init.waiting_reason = "CrashLoopBackOff";
  pod.init_container_statuses = {init};
  EXPECT_EQ(restarting(pod).decide().reason.name, "DriverCrashLoop");
  pod.init_container_statuses[0].waiting_reason = "";
  pod.init_container_statuses[0].terminated = true;
  pod.init_container_statuses[0].exit_code = 0;
  EXPECT_FALSE(restarting(pod).decide().writes()) << "it has come through in the end";
  Pod ready = successor();
  ready.container_statuses[0].restarts = 50;
  EXPECT_EQ(entered(restarting(ready).decide()), State::validation);
}

TEST(PodRestart, FailsAfterFiveMinutesInAHopelessWait) {
  for (auto [wait, name] : {std::pair{"ImagePullBackOff", "DriverImageUnavailable"},
                            {"ErrImagePull", "DriverImageUnavailable"},
                            {"InvalidImageName", "DriverImageUnavailable"},
                            {"CreateContainerConfigError", "DriverContainerBroken"},
                            {"CreateContainerError", "DriverContainerBroken"}}) {
    Scene scene =
        restarting(waiting_in(make_driver_pod("new", test_time - hours(1)), wait), minutes(6));
    scene.apply(*scene.decide().patch());
    scene.now = scene.now + seconds(299);
    EXPECT_FALSE(scene.decide().writes()) << wait;
    EXPECT_EQ(scene.decide().look_again, seconds(1)) << wait;
    scene.now = scene.now + seconds(1);
    EXPECT_EQ(entered(scene.decide()), State::failed) << wait;
    EXPECT_EQ(scene.decide().reason.name, name);
  }
}

TEST(PodRestart, DoesNotFailAtOnceForAWaitFromBeforeTheState) {
  Scene scene = restarting(
      waiting_in(make_driver_pod("new", test_time - hours(2)), "ImagePullBackOff"), seconds(10));
  EXPECT_EQ(entered(scene.decide()), std::nullopt);
  EXPECT_EQ(scene.decide().look_again, minutes(5)) << "it is seen for the first time";
}

TEST(PodRestart, FailsAfterThirtyMinutesWhateverItWaitsFor) {
  Pod slow = not_ready(make_driver_pod("new", test_time - minutes(29)));
  Pod ending = terminating(make_driver_pod("old"));
  for (const std::optional<Pod>& driver :
       {std::optional<Pod>(), std::optional<Pod>(slow), std::optional<Pod>(ending)}) {
    Scene scene = restarting(driver, minutes(30) - seconds(1));
    EXPECT_FALSE(scene.decide().writes());
    EXPECT_EQ(scene.decide().look_again, seconds(1));
    scene.now = scene.now + seconds(1);
    EXPECT_EQ(entered(scene.decide()), State::failed);
    EXPECT_EQ(scene.decide().reason.name, "DriverStartTimeout");
  }
}

TEST(PodRestart, TakesItsDeadlinesFromThePolicy) {
  Scene scene = restarting(std::nullopt, seconds(20));
  scene.policy.deadlines.restart = seconds(20);
  EXPECT_EQ(entered(scene.decide()), State::failed);
  Scene crash = restarting(crashing(successor(), 3));
  crash.policy.deadlines.restarts = 2;
  EXPECT_EQ(entered(crash.decide()), State::failed);
}

Scene retrying(Pod driver) {
  Scene scene = restarting(std::move(driver));
  scene.annotate(fleet::failed_revision_annotation, "new");
  return scene;
}

// As one that began with this pod.
Names removed_from_before(Pod driver) {
  const std::string uid = driver.meta.uid.str();
  Scene scene = retrying(std::move(driver));
  scene.annotate(std::string(fleet::began_with_annotation), uid);
  return removed(scene.decide());
}

TEST(Retry, DeletesAnInSyncButBrokenPodFromBefore) {
  Time before = test_time - hours(1);
  EXPECT_EQ(removed_from_before(crashing(make_driver_pod("new", before), 20)),
            (Names{"delete driver-new"}));
  EXPECT_EQ(removed_from_before(waiting_in(make_driver_pod("new", before), "ImagePullBackOff")),
            (Names{"delete driver-new"}));
  Pod failed = not_ready(make_driver_pod("new", test_time - minutes(1)));
  failed.phase = PodPhase::failed;
  EXPECT_EQ(removed_from_before(failed), (Names{"delete driver-new"}));
  EXPECT_EQ(removed_from_before(not_ready(make_driver_pod("new", before))),
            (Names{"delete driver-new"}))
      << "it did not start within the deadline";
}

// Where the first pod was not recorded, times decide. A clock that is ahead would give the same
// answer for every later pod.
TEST(Retry, JudgesByTheClockOnlyOnce) {
  Scene scene = retrying(crashing(make_driver_pod("new", test_time - hours(1)), 2));
  Decision decision = scene.decide();
  ASSERT_NE(decision.patch(), nullptr);
  EXPECT_TRUE(removed(decision).empty());
  scene.apply(*decision.patch());
  EXPECT_EQ(removed(scene.decide()), (Names{"delete driver-new"}));
  scene.driver->meta.uid = "its successor";
  EXPECT_FALSE(scene.decide().writes()) << "old by its time, and new";
}

TEST(Retry, LetsADriverThatWaitsForSafeLoadLoadBeforeItJudgesIt) {
  Scene scene = retrying(not_ready(make_driver_pod("new")));
  scene.annotate(scene.rules.keys.safe_load, "gpu-1");
  EXPECT_TRUE(removed(scene.decide()).empty());
  EXPECT_EQ(scene.decide().reason.name, "SafeToLoad");
}

TEST(Retry, DoesNotDeleteThePodThatTheRetryMade) {
  EXPECT_FALSE(retrying(crashing(successor(), 2)).decide().writes());
  EXPECT_EQ(entered(retrying(crashing(successor(), 11)).decide()), State::failed);
}

// The pod's time is the API server's, that of the state ours: one that is ahead would see every new
// pod as one from before, and delete it as soon as it is made.
TEST(Retry, KnowsThePodFromBeforeByItsUidAndNotByTheClock) {
  Pod pod = crashing(make_driver_pod("new", test_time - hours(1)), 2);
  Scene scene = retrying(pod);
  scene.annotate(std::string(fleet::began_with_annotation), "another");
  EXPECT_FALSE(scene.decide().writes()) << "it came after the upgrade began";
  scene.annotate(std::string(fleet::began_with_annotation), pod.meta.uid.str());
  EXPECT_EQ(removed(scene.decide()), (Names{"delete driver-new"}));
}

// What the upgrade itself began with is older still.
TEST(Retry, ReplacesTheBrokenPodWithWhichItBegan) {
  const Pod pod = crashing(make_driver_pod("new", test_time - hours(1)), 2);
  Scene scene;
  scene.driver = pod;
  scene.in(State::required).annotate(fleet::failed_revision_annotation, "new");
  scene.annotate(fleet::began_with_annotation, "the first");
  scene.annotate(fleet::unvalidated_annotation, "true");
  scene.granted = true;
  scene.apply(*scene.decide().patch());
  EXPECT_EQ(scene.annotation(fleet::began_with_annotation), "the first");
  scene.in(State::pod_restart);
  EXPECT_EQ(removed(scene.decide()), (Names{"delete driver-new"}));
  scene.driver->meta.uid = "its successor";
  EXPECT_FALSE(scene.decide().writes());
  scene.driver->container_statuses[0].restarts = 11;
  const Decision failed = scene.decide();
  ASSERT_EQ(entered(failed), State::failed);
  scene.apply(*failed.patch());
  EXPECT_FALSE(scene.has(fleet::retried_with_annotation));
}

// Its pod was not replaced, and is in sync: either the change was reverted, or another replica
// knows of a newer revision.
TEST(Restart, AReadyDriverPodFromBeforeIsNotBelievedWithoutTheRevisionsThemselves) {
  Scene scene = retrying(make_driver_pod("new"));
  scene.annotate(std::string(fleet::began_with_annotation), "another");
  EXPECT_EQ(entered(scene.decide()), State::validation);
  EXPECT_EQ(scene.decide().freshness, Freshness::as_shown);
  scene.annotate(std::string(fleet::began_with_annotation), scene.driver->meta.uid.str());
  EXPECT_EQ(entered(scene.decide()), State::validation);
  EXPECT_NE(scene.decide().freshness, Freshness::as_shown);
  EXPECT_EQ(scene.decide().freshness, Freshness::revisions);
}

TEST(Retry, DoesNotDeleteAPodThatIsReadyOrJustStarts) {
  EXPECT_EQ(entered(retrying(make_driver_pod("new")).decide()), State::validation);
  EXPECT_FALSE(
      retrying(not_ready(make_driver_pod("new", test_time - minutes(1)))).decide().writes());
}

TEST(Failed, StaysAsItIsAndSaysWhy) {
  Scene scene;
  scene.driver = make_driver_pod("old");
  scene.fail_with("ProtectedPods: 2 pods may not be evicted");
  Decision decision = scene.decide();
  EXPECT_FALSE(decision.writes());
  EXPECT_EQ(decision.reason.name, "ProtectedPods");
  EXPECT_EQ(decision.reason.text, "2 pods may not be evicted");
}

TEST(Failed, ADriverPodThatBecomesReadyRecoversToValidationNeverToUncordon) {
  for (std::string_view failure : {"DriverCrashLoop: x", "DriverImageUnavailable: x",
                                   "DriverContainerBroken: x", "DriverStartTimeout: x"}) {
    Scene scene;
    scene.fail_with(failure);
    scene.granted = true;
    scene.driver = not_ready(make_driver_pod("new"));
    EXPECT_FALSE(scene.decide().writes()) << failure;
    scene.driver = make_driver_pod("new");
    Decision decision = scene.decide();
    EXPECT_EQ(entered(decision), State::validation) << failure;
    scene.apply(*decision.patch());
    EXPECT_FALSE(scene.has(fleet::failure_annotation));
    EXPECT_FALSE(scene.has(fleet::failed_revision_annotation));
    EXPECT_TRUE(scene.has(scene.rules.keys.validation_start));
  }
}

TEST(Failed, RecoveryCordonsANodeThatSomebodyUncordonedMeanwhile) {
  Scene scene;
  scene.fail_with("DriverStartTimeout: x");
  scene.annotate(fleet::cordon_annotation, fleet::lifted_cordon);
  scene.granted = true;
  scene.node.unschedulable = false;
  Decision decision = scene.decide();
  EXPECT_EQ(entered(decision), State::validation);
  EXPECT_EQ(decision.patch()->unschedulable, true);
  scene.apply(*decision.patch());
  EXPECT_TRUE(fleet::is_cordoned_by_us(scene.node));
}

TEST(Failed, RecoveryKeepsTheCordonOfWhoeverSetItAfterLiftingOurs) {
  Scene scene;
  scene.fail_with("DriverStartTimeout: x");
  scene.annotate(fleet::cordon_annotation, fleet::lifted_cordon);
  scene.granted = true;
  scene.apply(*scene.decide().patch());
  EXPECT_EQ(scene.state(), State::validation);
  EXPECT_TRUE(fleet::was_cordoned_by_others(scene.node, scene.rules.keys));
}

TEST(Failed, RecoveryWaitsForASlotAndSaysSo) {
  Scene scene;
  scene.fail_with("DriverStartTimeout: x");
  Decision decision = scene.decide();
  EXPECT_FALSE(decision.writes());
  EXPECT_EQ(decision.reason.name, "NextInLine");
  scene.counts.active = scene.policy.max_parallel;
  decision = scene.decide();
  EXPECT_EQ(decision.reason.name, "ParallelLimit");
  EXPECT_NE(decision.reason.text.find("waits for a slot"), std::string::npos);
  scene.policy.paused = "by ops";
  scene.granted = true;
  EXPECT_EQ(scene.decide().reason.name, "Paused") << "a slot from before the pause is kept";
  EXPECT_FALSE(scene.decide().writes());
}

TEST(Failed, AFailedValidationIsSticky) {
  for (std::string_view failure :
       {"NoValidatorPod: x", "ValidatorNotReady: x", "StaleClient: x", "DriverNotReady: x",
        "ClientMissing: x", "GateFailed: x", "ProtectedPods: x", "BlockedByDisruptionBudget: x"}) {
    Scene scene;
    scene.fail_with(failure);
    scene.granted = true;
    EXPECT_FALSE(scene.decide().writes()) << failure;
  }
}

TEST(Failed, ANewerRevisionSendsTheNodeToUpgradeRequired) {
  for (std::string_view failure : {"NoValidatorPod: x", "DriverCrashLoop: x"}) {
    Scene scene;
    scene.fail_with(failure, "older");
    scene.driver = make_driver_pod("older");
    EXPECT_EQ(entered(scene.decide()), State::required) << failure;
    EXPECT_EQ(scene.decide().reason.name, "NewerRevision");
    EXPECT_EQ(scene.decide().freshness, Freshness::revisions) << "or the one that failed is newer";
    scene.newest = "";
    EXPECT_FALSE(scene.decide().writes()) << "nothing newer is known";
  }
}

TEST(Failed, WithoutANoteOfWhyRecoversWithTheDriver) {
  Scene scene;
  scene.fail_with("");
  scene.granted = true;
  EXPECT_EQ(entered(scene.decide()), State::validation);
  scene.driver.reset();
  EXPECT_FALSE(scene.decide().writes());
  EXPECT_EQ(scene.decide().reason.name, "Failed");
}

TEST(Failed, ASentenceWithoutASpaceIsReadToo) {
  Scene scene;
  scene.driver.reset();
  scene.fail_with("Odd");
  EXPECT_EQ(scene.decide().reason.text, "Odd");
  scene.fail_with("Odd:");
  EXPECT_EQ(scene.decide().reason.name, "Odd");
}

}  // namespace
}  // namespace lockstep::upgrade::restarting_test
