// A driver pod that others replace, that is restarted on request, or that cannot start; and whose
// cordon it is when NVIDIA's driver-manager uncordons in the middle.
#include <gtest/gtest.h>

#include "upgrade/deciding.h"
#include "upgrade/slots.h"
#include "upgrade/walk_test_util.h"

namespace lockstep::upgrade::driver_pods_test {
namespace {

constexpr State before_restart[] = {State::required, State::cordon, State::wait_for_jobs,
                                    State::pod_deletion, State::drain};

// In a state before the restart, with the pod with which its upgrade began.
Scene before(State state) {
  Scene scene;
  scene.driver = make_driver_pod("old");
  scene.in(state);
  scene.annotate(fleet::began_with_annotation, scene.driver->meta.uid.view());
  scene.pods = {gpu_pod(make_pod("train"))};
  return scene;
}

void replace_driver(Scene& scene, std::string_view revision = "new") {
  scene.driver = make_driver_pod(revision, scene.now - minutes(1));
  scene.driver->meta.uid = "uid-by-others";
}

TEST(DriverPodReplacedByOthers, IsValidatedAndNotReturnedToService) {
  for (State state : before_restart) {
    Scene scene = before(state);
    replace_driver(scene);
    scene.granted = state == State::required;
    Decision decision = scene.decide();
    EXPECT_EQ(entered(decision), State::validation) << to_string(state);
    EXPECT_EQ(decision.reason.name, "DriverReplaced") << to_string(state);
    EXPECT_EQ(decision.freshness, Freshness::revisions) << to_string(state);
    scene.apply(*decision.patch());
    EXPECT_TRUE(scene.node.unschedulable) << "cordoned in the same patch";
    EXPECT_TRUE(fleet::is_unvalidated(scene.node));
    scene.add_client("dra/plugin", make_daemon_pod("plugin"));
    EXPECT_EQ(removed(scene.decide()), Names{"delete plugin"}) << "from before the reload";
  }
}

TEST(DriverPodReplacedByOthers, WaitsForASlotWhileItIsInService) {
  Scene scene = before(State::required);
  replace_driver(scene);
  EXPECT_TRUE(is_startable(scene.view(), scene.policy, scene.rules));
  EXPECT_FALSE(scene.decide().writes());
  EXPECT_EQ(scene.decide().reason.name, "NextInLine");
}

TEST(DriverPodReplacedByOthers, IsKnownByItsUidAndNotByTheTimes) {
  for (State state : before_restart) {
    Scene scene = before(state);
    scene.newest = "old";
    Decision decision = scene.decide();
    EXPECT_TRUE(entered(decision) == State::done || entered(decision) == State::uncordon)
        << to_string(state);
    EXPECT_EQ(decision.reason.name, "NoLongerNeeded");
    // The version is what it was, and the pod is another of the same revision.
    replace_driver(scene, "old");
    scene.driver->meta.created = scene.now - hours(5);
    scene.granted = state == State::required;
    EXPECT_EQ(entered(scene.decide()), State::validation) << to_string(state);
  }
}

TEST(DriverPodReplacedByOthers, TheBeginningIsWrittenDownWithTheFirstState) {
  Scene scene;
  scene.in(State::done);
  scene.driver = make_driver_pod("old");
  scene.apply(*scene.decide().patch());
  ASSERT_EQ(scene.state(), State::required);
  EXPECT_EQ(scene.annotation(fleet::began_with_annotation), "uid-driver-old");
  replace_driver(scene);
  scene.granted = true;
  scene.apply(*scene.decide().patch());
  EXPECT_EQ(scene.state(), State::validation);
  EXPECT_EQ(scene.annotation(fleet::began_with_annotation), "uid-driver-old");
}

// A user set the label, and the pod with which the upgrade began was not recorded.
TEST(DriverPodReplacedByOthers, WithoutANoteItIsThePodOfTheLastValidationOrOneFromBefore) {
  Scene scene;
  scene.in(State::required);
  scene.granted = true;
  EXPECT_EQ(scene.decide().reason.name, "NoLongerNeeded") << "it was made before the state";
  scene.annotate(fleet::driver_pod_annotation, "uid-another");
  EXPECT_EQ(scene.decide().reason.name, "DriverReplaced");
  scene.annotate(fleet::driver_pod_annotation, scene.driver->meta.uid.view());
  EXPECT_EQ(scene.decide().reason.name, "NoLongerNeeded");
  scene.note(fleet::driver_pod_annotation, "");
  scene.note(fleet::since_annotation, "");
  EXPECT_EQ(scene.decide().reason.name, "DriverReplaced") << "nothing tells";
}

TEST(DriverPodReplacedByOthers, ALostLabelDoesNotHideIt) {
  Scene scene = before(State::required);
  replace_driver(scene);
  scene.label(scene.rules.keys.state, "nonsense");
  EXPECT_EQ(entered(scene.decide()), State::required);
  EXPECT_EQ(scene.decide().reason.name, "Interrupted");
}

// Others replaced the pod of a failed node. A user retried the node, and then the version was set
// back to that of the pod, which was never validated.
TEST(DriverPodReplacedByOthers, IsValidatedAlsoWhenARetryBeganWithIt) {
  Scene scene = before(State::pod_deletion);
  scene.fail_with("BlockedByDisruptionBudget: a pod may not be disrupted");
  replace_driver(scene, "old");
  scene.label(scene.rules.keys.state, to_string(State::required));
  scene.granted = true;
  scene.apply(*scene.decide().patch());
  ASSERT_EQ(scene.state(), State::cordon);
  scene.newest = "old";
  scene.now = scene.now + seconds(10);
  const Decision decision = scene.decide();
  EXPECT_EQ(entered(decision), State::validation);
  EXPECT_EQ(decision.reason.name, "DriverReplaced");
}

// The new pod is not ready yet: pods that use the GPUs still have to leave.
TEST(DriverPodReplacedByOthers, GoesOnAsItWasUntilThePodIsReady) {
  Scene scene = before(State::pod_deletion);
  replace_driver(scene);
  scene.driver = not_ready(*scene.driver);
  EXPECT_EQ(removed(scene.decide()), Names{"evict train"});
}

Scene requested() {
  Scene scene;
  scene.in(State::done);
  scene.annotate(scene.rules.keys.requested, "true");
  return scene;
}

TEST(UpgradeRequested, RestartsAHealthyDriver) {
  Walk walk;
  walk.scene.driver = make_driver_pod("new");
  walk.scene.in(State::done);
  walk.scene.annotate(walk.scene.rules.keys.requested, "true");
  walk.run();
  EXPECT_EQ(walk.labels, whole_way);
  EXPECT_EQ(walk.pods_removed, (Names{"train", "driver-new", "plugin", "validator"}));
}

TEST(UpgradeRequested, EvictsNobodyForADriverThatOthersHaveRestarted) {
  Scene scene = requested();
  scene.apply(*scene.decide().patch());
  ASSERT_EQ(scene.state(), State::required);
  replace_driver(scene);
  scene.pods = {gpu_pod(make_pod("train"))};
  scene.granted = true;
  EXPECT_EQ(entered(scene.decide()), State::validation);
}

// Others replaced the pod while the node waited; then a user requested a restart of the new one.
TEST(UpgradeRequested, AfterOthersReplacedThePodIsARestartOfTheNewOne) {
  Scene scene;
  scene.in(State::required).annotate(fleet::began_with_annotation, "another-pod");
  scene.pods = {gpu_pod(make_pod("train"))};
  scene.annotate(scene.rules.keys.requested, "true");
  scene.granted = true;
  Decision noted = scene.decide();
  EXPECT_EQ(entered(noted), std::nullopt);
  scene.apply(*noted.patch());
  EXPECT_EQ(entered(scene.decide()), State::cordon);
}

// By a stale view the pod that it names may be gone, and its successor would count as the restart.
TEST(UpgradeRequested, NamesAPodThatWasReadFromTheCluster) {
  Scene idle = requested();
  const Decision required = idle.decide();
  EXPECT_EQ(entered(required), State::required);
  EXPECT_GE(required.freshness, Freshness::pods);
  Scene waiting = before(State::required);
  waiting.annotate(waiting.rules.keys.requested, "true");
  const Decision noted = waiting.decide();
  ASSERT_NE(noted.patch(), nullptr);
  EXPECT_GE(noted.freshness, Freshness::pods);
  waiting.apply(*noted.patch());
  EXPECT_EQ(waiting.decide().freshness, Freshness::as_shown);
}

TEST(UpgradeRequested, ANoteGoesWithTheRequest) {
  Scene scene;
  scene.in(State::required).annotate(fleet::requested_with_annotation, "a-pod");
  Decision decision = scene.decide();
  ASSERT_NE(decision.patch(), nullptr);
  scene.apply(*decision.patch());
  EXPECT_FALSE(scene.node.meta.annotations.contains(fleet::requested_with_annotation));
}

TEST(UpgradeRequested, RestartsItOnce) {
  Scene scene = requested();
  scene.in(State::pod_restart);
  scene.annotate(fleet::began_with_annotation, scene.driver->meta.uid.view());
  EXPECT_EQ(removed(scene.decide()), Names{"delete driver-new"});
  replace_driver(scene);
  EXPECT_EQ(entered(scene.decide()), State::validation);
}

TEST(AdministratorsCordon, SurvivesADriverManagerThatUncordons) {
  Walk walk;
  walk.scene.node.unschedulable = true;
  walk.next_driver = [&](Pod pod) {
    walk.scene.node.unschedulable = false;
    return pod;
  };
  walk.run();
  EXPECT_EQ(walk.scene.state(), State::done);
  EXPECT_TRUE(walk.scene.node.unschedulable);
  ASSERT_EQ(walk.warnings.size(), 1U);
  EXPECT_NE(walk.warnings[0].find("cordoned it again"), std::string::npos);
}

TEST(AdministratorsCordon, SurvivesWhoeverUncordonsInWhicheverState) {
  for (State state : {State::cordon, State::wait_for_jobs, State::pod_deletion, State::pod_restart,
                      State::validation}) {
    Walk walk;
    walk.scene.node.unschedulable = true;
    walk.run_until(state);
    walk.scene.node.unschedulable = false;
    walk.run();
    EXPECT_EQ(walk.scene.state(), State::done) << to_string(state);
    EXPECT_TRUE(walk.scene.node.unschedulable) << to_string(state);
  }
}

TEST(AdministratorsCordon, IsRestoredWhereTheChangeIsRolledBack) {
  Walk walk;
  walk.scene.node.unschedulable = true;
  walk.run_until(State::pod_deletion);
  walk.scene.node.unschedulable = false;
  walk.scene.newest = "old";
  walk.scene.now = walk.scene.now + seconds(10);
  walk.run();
  EXPECT_EQ(walk.scene.state(), State::done);
  EXPECT_TRUE(walk.scene.node.unschedulable);
}

Scene waiting(Duration pod_is_old) {
  Scene scene;
  scene.driver = waiting_in(make_driver_pod("new", test_time - pod_is_old), "ErrImagePull");
  scene.in(State::pod_restart, minutes(15));
  return scene;
}

TEST(ImagePullDeadline, CountsFromWhenTheWaitWasFirstSeen) {
  Scene scene = waiting(minutes(20));
  Decision decision = scene.decide();
  EXPECT_EQ(decision.reason.name, "DriverWaiting") << "not from when the pod was made";
  EXPECT_EQ(decision.look_again, minutes(5));
  ASSERT_NE(decision.patch(), nullptr);
  EXPECT_EQ(entered(decision), std::nullopt);
  scene.apply(*decision.patch());
  scene.now = scene.now + seconds(299);
  EXPECT_FALSE(scene.decide().writes());
  EXPECT_EQ(scene.decide().look_again, seconds(1));
  // Back-off and error take turns: it is one wait.
  scene.driver->container_statuses[0].waiting_reason = "ImagePullBackOff";
  scene.now = scene.now + seconds(1);
  decision = scene.decide();
  EXPECT_EQ(entered(decision), State::failed);
  EXPECT_EQ(decision.reason.name, "DriverImageUnavailable");
  EXPECT_NE(decision.reason.text.find("ImagePullBackOff, for 5m"), std::string::npos)
      << decision.reason.text;
  scene.apply(*decision.patch());
  EXPECT_FALSE(scene.has(fleet::waiting_since_annotation));
}

TEST(ImagePullDeadline, IsNamedWhicheverDeadlineComesFirst) {
  Scene scene = waiting(minutes(20));
  scene.policy.deadlines.restart = minutes(16);
  const Decision decision = scene.decide();
  EXPECT_EQ(decision.reason.name, "DriverWaiting");
  EXPECT_EQ(decision.look_again, minutes(1)) << "in this state for 15 minutes";
}

// Of two replicas, the one with a stale view would undo what the other one notes, without a pause.
TEST(ImagePullDeadline, IsNotedAndForgottenOnAFreshViewOnly) {
  Scene scene = waiting(minutes(20));
  Decision decision = scene.decide();
  ASSERT_NE(decision.patch(), nullptr);
  EXPECT_EQ(decision.freshness, Freshness::driver);
  scene.apply(*decision.patch());
  EXPECT_EQ(scene.decide().freshness, Freshness::as_shown) << "nothing is written, nothing is read";
  scene.driver = not_ready(make_driver_pod("new"));
  decision = scene.decide();
  ASSERT_NE(decision.patch(), nullptr);
  EXPECT_EQ(decision.freshness, Freshness::driver);
}

TEST(ImagePullDeadline, SurvivesAControllerThatIsRestarted) {
  Scene scene = waiting(minutes(20));
  scene.apply(*scene.decide().patch());
  scene.now = scene.now + minutes(5);
  scene.seen_since = scene.now - seconds(1);
  EXPECT_EQ(entered(scene.decide()), State::failed);
}

TEST(ImagePullDeadline, BeginsAgainWithAnotherWait) {
  Scene scene = waiting(minutes(20));
  scene.apply(*scene.decide().patch());
  scene.now = scene.now + minutes(4);
  Pod hopeless = *scene.driver;
  scene.driver = not_ready(make_driver_pod("new"));
  scene.apply(*scene.decide().patch());
  EXPECT_FALSE(scene.has(fleet::waiting_since_annotation)) << "the image has come";
  scene.driver = hopeless;
  EXPECT_EQ(scene.decide().look_again, minutes(5));
  scene.apply(*scene.decide().patch());
  scene.now = scene.now + minutes(4);
  scene.driver->meta.uid = "uid-another";
  EXPECT_EQ(scene.decide().look_again, minutes(5)) << "of another pod";
}

TEST(ImagePullDeadline, IsNotEndedByAClockThatIsSet) {
  Scene scene = waiting(minutes(20));
  scene.apply(*scene.decide().patch());
  scene.now = scene.now + minutes(10);
  scene.clock_gained = minutes(9);
  EXPECT_EQ(scene.decide().reason.name, "DriverWaiting");
  EXPECT_EQ(scene.decide().look_again, minutes(4));
  scene.clock_gained = Duration{0};
  scene.now = test_time - minutes(1);
  EXPECT_EQ(scene.decide().look_again, minutes(5)) << "a time that is to come says nothing";
}

}  // namespace
}  // namespace lockstep::upgrade::driver_pods_test
