#include <gtest/gtest.h>

#include "upgrade/upgrade_test_util.h"

namespace lockstep::upgrade::validating_test {
namespace {

constexpr Time driver_ready = test_time - seconds(100);
constexpr Time before = driver_ready - seconds(50);
constexpr Time after = driver_ready + seconds(20);

Pod validator(Time started) { return make_daemon_pod("validator", started); }

// The driver became ready a while ago; everything else came after it.
Scene validating(Duration ago = seconds(90)) {
  Scene scene;
  scene.driver = make_driver_pod("new", before);
  scene.driver->ready_since = driver_ready;
  scene.validators = {validator(after)};
  scene.in(State::validation, ago);
  return scene;
}

TEST(Validation, GoesToUncordonWhenAllPass) {
  Decision decision = validating().decide();
  EXPECT_EQ(entered(decision), State::uncordon);
  EXPECT_NE(decision.freshness, Freshness::as_shown);
  EXPECT_LT(decision.freshness, Freshness::driver) << "a newer revision is the next upgrade";
  EXPECT_FALSE(decision.patch()->unschedulable.has_value()) << "that is the next step's";
}

TEST(Validation, GoesToDoneWhenTheNodeWasCordonedBefore) {
  Scene scene = validating();
  scene.annotate(scene.rules.keys.initially_unschedulable, "true");
  Decision decision = scene.decide();
  EXPECT_EQ(entered(decision), State::done);
  EXPECT_FALSE(decision.patch()->unschedulable.has_value());
}

// The replica that has not heard of the last change takes the previous revision for the newer
// one.
TEST(Validation, ANewerRevisionIsBelievedOnTheClustersOwnWord) {
  Scene scene = validating();
  scene.newest = "newer";
  Decision decision = scene.decide();
  EXPECT_EQ(entered(decision), State::pod_restart);
  EXPECT_NE(decision.freshness, Freshness::as_shown);
  EXPECT_EQ(decision.freshness, Freshness::revisions);
}

TEST(Validation, FailsAfterTheDeadlineWithoutAReadyValidator) {
  Scene scene = validating(seconds(599));
  scene.validators = {not_ready(validator(after))};
  EXPECT_FALSE(scene.decide().writes());
  EXPECT_EQ(scene.decide().look_again, seconds(1));
  scene.now = scene.now + seconds(1);
  EXPECT_EQ(entered(scene.decide()), State::failed);
  EXPECT_EQ(scene.decide().reason.name, "ValidatorNotReady");
}

TEST(Validation, FailsAfterTheDeadlineAlsoWhenThereIsNoValidatorPod) {
  Scene scene = validating(seconds(599));
  scene.validators.clear();
  EXPECT_FALSE(scene.decide().writes());
  EXPECT_EQ(scene.decide().look_again, seconds(1));
  scene.now = scene.now + seconds(1);
  EXPECT_EQ(entered(scene.decide()), State::failed);
  EXPECT_EQ(scene.decide().reason.name, "NoValidatorPod");
}

TEST(Validation, NeedsEveryValidatorPod) {
  Scene scene = validating();
  scene.validators.push_back(not_ready(make_daemon_pod("second", after)));
  EXPECT_FALSE(scene.decide().writes());
  scene.validators.back() = terminating(make_daemon_pod("second", after));
  EXPECT_FALSE(scene.decide().writes());
}

TEST(Validation, ThatIsLateAndPassesHasPassed) {
  EXPECT_EQ(entered(validating(hours(1)).decide()), State::uncordon);
}

TEST(Validation, CountsItsTimeFromItsOwnAnnotation) {
  Scene scene = validating(seconds(10));
  scene.validators.clear();
  scene.annotate(scene.rules.keys.validation_start, "1799999400");
  EXPECT_EQ(entered(scene.decide()), State::failed);
  scene.node.meta.annotations.erase(scene.rules.keys.validation_start);
  EXPECT_EQ(scene.decide().look_again, seconds(590));
}

TEST(Validation, GoesBackToTheRestartWhenANewerChangeComes) {
  Scene scene = validating();
  scene.newest = "newer";
  EXPECT_EQ(entered(scene.decide()), State::pod_restart);
  scene.set = nullptr;
  EXPECT_EQ(entered(scene.decide()), State::pod_restart) << "an orphan";
}

TEST(Validation, GoesBackToTheRestartWhenTheDriverWaitsForSafeLoad) {
  Scene scene = validating();
  scene.driver = not_ready(*scene.driver);
  scene.annotate(scene.rules.keys.safe_load, "gpu-1");
  EXPECT_EQ(entered(scene.decide()), State::pod_restart);
}

TEST(Validation, WaitsForADriverThatIsGoneOrNotReadyAndThenFails) {
  for (int which : {0, 1, 2, 3}) {
    Scene scene = validating();
    if (which == 0) scene.driver.reset();
    if (which == 1) scene.driver = not_ready(*scene.driver);
    if (which == 2) scene.driver->ready = false;  // its containers are; the pod says nothing yet
    if (which == 3) {
      scene.driver = not_ready(*scene.driver);
      scene.newest = "";
    }
    EXPECT_FALSE(scene.decide().writes()) << which;
    EXPECT_EQ(scene.decide().reason.name, "DriverNotReady") << which;
    EXPECT_EQ(scene.decide().look_again, seconds(510)) << which;
    scene.now = scene.now + seconds(510);
    EXPECT_EQ(entered(scene.decide()), State::failed) << which;
  }
}

// A watch that is behind says nothing about the node, and a retry of the node would not help.
TEST(Validation, OfAReadyDriverWaitsForItsRevisionToBeKnownAndDoesNotFail) {
  for (Duration ago : {seconds(90), hours(1)}) {
    Scene scene = validating(ago);
    scene.newest = "";
    EXPECT_FALSE(scene.decide().writes());
    EXPECT_EQ(scene.decide().reason.name, "RevisionUnknown");
    scene.newest = "new";
    EXPECT_EQ(entered(scene.decide()), State::uncordon);
  }
}

TEST(Validation, RestartsClientsAlsoBeforeTheRevisionIsKnown) {
  Scene scene = validating();
  scene.newest = "";
  scene.add_client("nvidia-dra-driver/plugin", make_daemon_pod("plugin", before));
  EXPECT_EQ(removed(scene.decide()), (Names{"delete plugin"}));
  scene.clients.clear();
  scene.validators = {not_ready(validator(after))};
  EXPECT_EQ(scene.decide().reason.name, "ValidatorNotReady");
  scene.now = scene.now + seconds(510);
  EXPECT_EQ(entered(scene.decide()), State::failed);
}

TEST(Clients, ThatStartedBeforeTheDriverWasReadyAreDeleted) {
  Scene scene = validating();
  scene.add_client("nvidia-dra-driver/plugin", make_daemon_pod("plugin", before));
  scene.add_client("lockstep/plugin", make_daemon_pod("fresh", after));
  Decision decision = scene.decide();
  EXPECT_EQ(removed(decision), (Names{"delete plugin"}));
  EXPECT_EQ(decision.look_again, seconds(510));
}

TEST(Clients, AreNotDeletedOnAnOldViewOfTheNode) {
  for (Duration ago : {seconds(60), seconds(61)}) {
    Scene scene = validating(ago);
    scene.add_client("nvidia-dra-driver/plugin", make_daemon_pod("plugin", before));
    EXPECT_EQ(removed(scene.decide()), (Names{"delete plugin"}));
    EXPECT_EQ(scene.decide().freshness != Freshness::as_shown, ago > seconds(60));
  }
}

TEST(Clients, ThatStartedInTheSameSecondCountAsBefore) {
  Scene scene = validating();
  scene.add_client("a/b", make_daemon_pod("plugin", driver_ready));
  EXPECT_EQ(removed(scene.decide()), (Names{"delete plugin"}));
  scene.clients.clear();
  scene.add_client("a/b", make_daemon_pod("plugin", driver_ready + seconds(1)));
  EXPECT_EQ(entered(scene.decide()), State::uncordon);
}

// It came in the place of one that was removed after the driver was ready.
TEST(Clients, ThatAreKnownToBeNewMayHaveStartedInTheSameSecond) {
  Scene scene = validating();
  scene.renewed = {"uid-plugin"};
  scene.add_client("a/b", make_daemon_pod("plugin", driver_ready));
  EXPECT_EQ(entered(scene.decide()), State::uncordon);
  scene.clients.clear();
  scene.add_client("a/b", make_daemon_pod("plugin", driver_ready - seconds(1)));
  EXPECT_EQ(removed(scene.decide()), (Names{"delete plugin"}));
}

TEST(Clients, WithOneOldContainerOfSeveralAreStale) {
  Scene scene = validating();
  Pod pod = make_daemon_pod("plugin", after);
  ContainerStatus old = pod.container_statuses[0];
  old.started = before;
  pod.container_statuses.push_back(old);
  scene.add_client("a/b", pod);
  EXPECT_EQ(removed(scene.decide()), (Names{"delete plugin"}));
}

TEST(Clients, WhoseContainersWereRestartedSinceAreFresh) {
  Scene scene = validating();
  Pod pod = make_daemon_pod("plugin", before);
  pod.container_statuses[0].started = after;
  scene.add_client("a/b", pod);
  EXPECT_EQ(entered(scene.decide()), State::uncordon);
}

TEST(Clients, MustBeReadyAgainBeforeTheNodeReturns) {
  Scene scene = validating();
  scene.add_client("a/b", terminating(make_daemon_pod("plugin", before)));
  EXPECT_FALSE(scene.decide().writes()) << "deleted once";
  EXPECT_EQ(scene.decide().reason.name, "ClientMissing");
  scene.clients[0].pod = nullptr;
  EXPECT_EQ(scene.decide().reason.name, "ClientMissing");
  scene.clients[0].pod = share(not_ready(make_daemon_pod("plugin", after)));
  EXPECT_EQ(scene.decide().reason.name, "ClientNotReady");
  scene.clients[0].pod = share(make_daemon_pod("plugin", after));
  EXPECT_EQ(entered(scene.decide()), State::uncordon);
}

TEST(Clients, ThatAreNotWantedOnTheNodeAreNotWaitedFor) {
  Scene scene = validating();
  scene.clients.push_back({"a/b", false, nullptr});
  EXPECT_EQ(entered(scene.decide()), State::uncordon);
}

TEST(Clients, ThatDoNotComeBackFailTheValidation) {
  Scene scene = validating(seconds(600));
  scene.clients.push_back({"a/b", true, nullptr});
  EXPECT_EQ(entered(scene.decide()), State::failed);
  EXPECT_EQ(scene.decide().reason.name, "ClientMissing");
  scene.clients.clear();
  scene.add_client("a/b", make_daemon_pod("plugin", before));
  EXPECT_EQ(entered(scene.decide()), State::failed);
  EXPECT_EQ(scene.decide().reason.name, "StaleClient");
}

TEST(Clients, AreNotJudgedBeforeTheDriverIsReady) {
  Scene scene = validating();
  scene.driver = not_ready(*scene.driver);
  scene.add_client("a/b", make_daemon_pod("plugin", before));
  EXPECT_TRUE(removed(scene.decide()).empty());
}

TEST(Clients, GoBeforeValidators) {
  Scene scene = validating();
  scene.add_client("a/b", make_daemon_pod("plugin", before));
  scene.validators = {validator(before)};
  EXPECT_EQ(removed(scene.decide()), (Names{"delete plugin"}));
  scene.clients[0].pod = share(make_daemon_pod("plugin", after));
  EXPECT_EQ(removed(scene.decide()), (Names{"delete validator"}));
}

TEST(Validators, ThatValidatedTheOldDriverAreRestarted) {
  Scene scene = validating();
  scene.validators = {validator(before)};
  EXPECT_EQ(removed(scene.decide()), (Names{"delete validator"}));
  scene.validators = {terminating(validator(before))};
  EXPECT_FALSE(scene.decide().writes()) << "once";
}

TEST(ResourceSlices, MustSayTheNewDriversVersion) {
  Scene scene = validating();
  scene.slice_versions = {"580.126.20", "570.1.2"};
  EXPECT_FALSE(scene.decide().writes());
  EXPECT_EQ(scene.decide().reason.name, "StaleResourceSlice");
  EXPECT_EQ(scene.decide().look_again, seconds(510));
  scene.slice_versions = {"580.126.20"};
  EXPECT_EQ(entered(scene.decide()), State::uncordon);
}

TEST(ResourceSlices, SayTheVersionWithoutItsZeros) {
  Scene scene = validating();
  scene.driver->spec.containers[0].image = "nvcr.io/nvidia/driver:580.105.08-ubuntu24.04";
  scene.slice_versions = {"580.105.8"};
  EXPECT_EQ(entered(scene.decide()), State::uncordon);
  scene.slice_versions = {"580.105.80"};
  EXPECT_EQ(scene.decide().reason.name, "StaleResourceSlice");
}

TEST(ResourceSlices, AreNotComparedWithAnImageThatDoesNotSayItsVersion) {
  Scene scene = validating();
  scene.driver->spec.containers[0].image = "driver:latest";
  scene.slice_versions = {"570.1.2"};
  EXPECT_EQ(entered(scene.decide()), State::uncordon);
}

TEST(ResourceSlices, ThatStayOldFailTheValidation) {
  Scene scene = validating(seconds(600));
  scene.slice_versions = {"570.1.2"};
  EXPECT_EQ(entered(scene.decide()), State::failed);
  EXPECT_EQ(scene.decide().reason.name, "StaleResourceSlice");
}

// Their watch may be late: a failure is sticky.
TEST(ResourceSlices, AreReadBeforeTheValidationFails) {
  Scene scene = validating(seconds(600));
  scene.slice_versions = {"570.1.2"};
  EXPECT_TRUE(scene.decide().reads_slices);
  scene.slice_versions.clear();
  scene.validators = {not_ready(validator(after))};
  ASSERT_EQ(entered(scene.decide()), State::failed);
  EXPECT_FALSE(scene.decide().reads_slices) << "nothing on the node publishes any";
  scene.add_client("a/b", make_daemon_pod("plugin", after));
  EXPECT_TRUE(scene.decide().reads_slices);
  scene.validators = {validator(after)};
  ASSERT_EQ(entered(scene.decide()), State::uncordon);
  EXPECT_FALSE(scene.decide().reads_slices);
}

TEST(Validation, BelievesNoPodOfANodeThatIsNotReady) {
  Scene scene = validating();
  EXPECT_EQ(entered(scene.decide()), State::uncordon);
  scene.node.conditions[0].status = "Unknown";
  EXPECT_FALSE(scene.decide().writes());
  EXPECT_EQ(scene.decide().reason.name, "NodeNotReady");
  EXPECT_TRUE(scene.decide().look_again.has_value());
}

TEST(Validation, ADeadlineDoesNotPassWhileNobodyIsThere) {
  Scene scene;
  scene.in(State::validation, minutes(15));
  scene.validators = {not_ready(make_daemon_pod("validator", test_time - minutes(1)))};
  EXPECT_EQ(entered(scene.decide()), State::failed);
  EXPECT_NE(scene.decide().freshness, Freshness::as_shown);
  EXPECT_GE(scene.decide().freshness, Freshness::driver);
  scene.seen_since = scene.now - minutes(2);
  EXPECT_FALSE(scene.decide().writes());
  EXPECT_EQ(scene.decide().look_again, minutes(8));
}

}  // namespace
}  // namespace lockstep::upgrade::validating_test
