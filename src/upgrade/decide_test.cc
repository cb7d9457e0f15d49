#include "upgrade/decide.h"

#include <gtest/gtest.h>

#include "upgrade/upgrade_test_util.h"

namespace lockstep::upgrade::decide_test {
namespace {

constexpr State states_before_restart[] = {State::required, State::cordon, State::wait_for_jobs,
                                           State::pod_deletion, State::drain};
constexpr State states_with_cordon[] = {State::wait_for_jobs, State::pod_deletion, State::drain,
                                        State::pod_restart, State::validation};

TEST(Pause, AutoUpgradeOffFreezesEverythingAndWritesNothing) {
  for (State state : fleet::all_states) {
    Scene scene;
    scene.driver = make_driver_pod("old");
    scene.in(state, hours(5));
    scene.granted = true;
    scene.node.unschedulable = false;
    scene.pods = {gpu_pod(make_pod("a"))};
    scene.policy.auto_upgrade = false;
    Decision decision = scene.decide();
    EXPECT_FALSE(decision.writes()) << to_string(state);
    EXPECT_EQ(decision.reason.name, "AutoUpgradeOff");
  }
}

TEST(Pause, AFrozenPoolIsLeftAloneAndSaysWhy) {
  Scene scene;
  scene.driver = make_driver_pod("old");
  PoolView pool = scene.in(State::pod_restart).pool();
  pool.frozen = Reason{Reason::conflicting_controller, "somebody else upgrades these nodes", ""};
  Decision decision = decide(scene.view(), pool, scene.rules, scene.now);
  EXPECT_FALSE(decision.writes());
  EXPECT_EQ(decision.reason.name, "ConflictingController");
}

TEST(TakenBack, InEveryStateBeforeTheRestartGoesStraightToUncordon) {
  for (State state : states_before_restart) {
    Scene scene;
    // Our own cordon, from a try that failed.
    if (state == State::required) {
      scene.annotate(std::string(fleet::failure_annotation), "DriverCrashLoop: why");
      scene.annotate(std::string(fleet::failed_revision_annotation), "another");
    }
    scene.policy.drain.enable = true;
    scene.pods = {gpu_pod(make_pod("a"))};
    scene.in(state).node.unschedulable = true;
    scene.annotate(fleet::cordon_annotation, fleet::our_cordon);
    Decision decision = scene.decide();
    EXPECT_EQ(entered(decision), State::uncordon) << to_string(state);
    EXPECT_TRUE(removed(decision).empty());
  }
}

TEST(TakenBack, ANodeThatNeverBeganIsDoneAtOnceAndNeverActive) {
  Scene scene;
  Decision decision = scene.in(State::required).decide();
  EXPECT_EQ(entered(decision), State::done);
  EXPECT_FALSE(decision.patch()->unschedulable.has_value());
}

TEST(TakenBack, ANodeThatAPersonHadCordonedStaysCordoned) {
  for (State state : states_before_restart) {
    Scene scene;
    scene.in(state).annotate(scene.rules.keys.initially_unschedulable, "true");
    scene.node.unschedulable = true;
    Decision decision = scene.decide();
    EXPECT_EQ(entered(decision), State::done) << to_string(state);
    EXPECT_FALSE(decision.patch()->unschedulable.has_value());
  }
}

TEST(TakenBack,
     NotWhileThePodIsNotReadyNorWhenItWasRequestedNorUnderSafeLoadNorInARetryNorUnvalidated) {
  for (int which : {0, 1, 2, 3, 4}) {
    Scene scene;
    scene.in(State::cordon);
    if (which == 4) scene.annotate(fleet::unvalidated_annotation, "true");
    if (which == 0) scene.driver = not_ready(*scene.driver);
    if (which == 1) scene.annotate(scene.rules.keys.requested, "true");
    if (which == 2) scene.annotate(scene.rules.keys.safe_load, "x");
    if (which == 3) scene.annotate(fleet::failed_revision_annotation, "new");
    EXPECT_EQ(entered(scene.decide()), State::wait_for_jobs) << which;
  }
}

TEST(TakenBack, ARetryOfAnotherRevisionToo) {
  Scene scene;
  scene.in(State::pod_deletion).annotate(fleet::failed_revision_annotation, "older");
  EXPECT_EQ(entered(scene.decide()), State::uncordon);
}

TEST(TakenBack, NotAfterTheRestart) {
  EXPECT_EQ(entered(Scene().in(State::pod_restart).decide()), State::validation);
}

TEST(TakenBack, NotInTheMomentInWhichTheStateWasEntered) {
  Scene scene;
  scene.in(State::pod_deletion, seconds(0));
  Decision decision = scene.decide();
  EXPECT_FALSE(decision.writes());
  EXPECT_EQ(decision.reason.name, "NoLongerNeeded");
  EXPECT_EQ(decision.look_again, seconds(2));
  scene.in(State::pod_deletion, seconds(2));
  EXPECT_EQ(entered(scene.decide()), State::uncordon);
}

TEST(Uncordoned, InTheMiddleIsCordonedAgainWithAWarning) {
  for (State state : states_with_cordon) {
    Scene scene;
    scene.driver = make_driver_pod("old");
    scene.in(state).node.unschedulable = false;
    Decision decision = scene.decide();
    ASSERT_NE(decision.patch(), nullptr) << to_string(state);
    EXPECT_EQ(decision.patch()->unschedulable, true);
    EXPECT_EQ(entered(decision), std::nullopt);
    EXPECT_TRUE(warns(decision));
    scene.apply(*decision.patch());
    EXPECT_NE(scene.decide().reason.name, "CordonedAgain") << "once";
  }
}

// Nothing tells whether they did it, or NVIDIA's driver-manager.
TEST(Uncordoned, InTheMiddleItStaysTheCordonOfWhoeverHadCordonedItBefore) {
  for (State state : states_with_cordon) {
    Scene scene;
    scene.driver = make_driver_pod("old");
    scene.annotate(fleet::Keys().initially_unschedulable, "true");
    scene.in(state).node.unschedulable = false;
    Decision decision = scene.decide();
    ASSERT_NE(decision.patch(), nullptr) << to_string(state);
    scene.apply(*decision.patch());
    EXPECT_TRUE(scene.node.unschedulable) << "again, by us";
    EXPECT_TRUE(fleet::was_cordoned_by_others(scene.node, fleet::Keys())) << to_string(state);
  }
}

TEST(Uncordoned, BeforeAndAfterTheUpgradeIsNotOurs) {
  for (State state : {State::unknown, State::done, State::required, State::failed}) {
    Scene scene;
    scene.fail_with("ProtectedPods: x");
    scene.in(state).node.unschedulable = false;
    Decision decision = scene.decide();
    bool cordons = decision.patch() != nullptr && decision.patch()->unschedulable == true;
    EXPECT_FALSE(cordons) << to_string(state);
  }
}

// A cordon that comes after that is its owner's.
TEST(Uncordoned, WhileNothingHoldsItIsWrittenDownOnce) {
  for (State state : {State::unknown, State::required, State::failed}) {
    Scene scene;
    scene.fail_with("ProtectedPods: x");
    scene.driver = make_driver_pod("old");
    scene.in(state).node.unschedulable = false;
    scene.annotate(fleet::cordon_annotation, fleet::our_cordon);
    Decision decision = scene.decide();
    ASSERT_NE(decision.patch(), nullptr) << to_string(state);
    EXPECT_EQ(decision.reason.name, "UncordonedByUser");
    scene.apply(*decision.patch());
    EXPECT_NE(scene.decide().reason.name, "UncordonedByUser");
    scene.node.unschedulable = true;
    EXPECT_TRUE(fleet::was_cordoned_by_others(scene.node, scene.rules.keys)) << to_string(state);
  }
}

TEST(Uncordoned, OfANodeThatIsDoneLeavesNoNote) {
  Scene scene;
  scene.in(State::done).annotate(fleet::cordon_annotation, fleet::our_cordon);
  scene.apply(*scene.decide().patch());
  EXPECT_FALSE(scene.has(fleet::cordon_annotation));
  EXPECT_FALSE(scene.decide().writes());
}

// NVIDIA's controller writes no time of entry, and its cordon without a note is the upgrade's.
TEST(TimeOfEntry, ANodeThatIsTakenOverFromAnotherControllerIsNotedAsOurs) {
  for (State state : states_with_cordon) {
    Scene scene;
    scene.in(state);
    scene.driver = make_driver_pod("old");
    scene.node.meta.annotations = {};
    scene.apply(*scene.decide().patch());
    EXPECT_TRUE(fleet::is_cordoned_by_us(scene.node)) << to_string(state);
    EXPECT_EQ(fleet::is_unvalidated(scene.node),
              state == State::pod_restart || state == State::validation);
    scene.node.meta.annotations = {{Text(scene.rules.keys.initially_unschedulable), "true"}};
    scene.apply(*scene.decide().patch());
    EXPECT_FALSE(fleet::is_cordoned_by_us(scene.node)) << to_string(state);
    EXPECT_TRUE(fleet::was_cordoned_by_others(scene.node, scene.rules.keys));
  }
}

TEST(TimeOfEntry, IsNotedWhenAPersonSetTheLabel) {
  for (State state : states_with_cordon) {
    for (std::string_view since :
         {"", "last week", "1700-01-01T00:00:00Z", "2200-01-01T00:00:00Z"}) {
      Scene scene;
      scene.driver = make_driver_pod("old");
      scene.in(state);
      if (since.empty()) scene.node.meta.annotations.erase(fleet::since_annotation);
      if (!since.empty()) scene.annotate(fleet::since_annotation, since);
      Decision decision = scene.decide();
      ASSERT_NE(decision.patch(), nullptr) << to_string(state) << " " << since;
      EXPECT_EQ(decision.reason.name, "TimeNoted");
      scene.apply(*decision.patch());
      EXPECT_EQ(scene.annotation(fleet::since_annotation), format_rfc3339(scene.now));
      EXPECT_NE(scene.decide().reason.name, "TimeNoted") << "once";
    }
  }
}

TEST(TimeOfEntry, ASlightlyFastClockIsForgiven) {
  Scene scene;
  scene.driver.reset();
  scene.in(State::pod_restart, -seconds(30));
  EXPECT_FALSE(scene.decide().writes());
}

// A step back would else wait until the clock is there again.
TEST(TimeOfEntry, OneToComeIsPutRightWhileTheNodeWaitsForASlotToo) {
  Scene scene;
  scene.in(State::required, -hours(1));
  Decision decision = scene.decide();
  EXPECT_EQ(decision.reason.name, "TimeNoted");
  scene.apply(*decision.patch());
  scene.now = scene.now + seconds(2);
  EXPECT_EQ(entered(scene.decide()), State::done) << "the change was taken back";
}

TEST(DriverPod, MissingForAMomentStopsNobodyBeforeTheRestart) {
  for (State state : states_before_restart) {
    Scene scene;
    scene.driver.reset();
    scene.in(state);
    Decision decision = scene.decide();
    EXPECT_NE(entered(decision), State::failed) << to_string(state);
  }
}

TEST(KeyDomain, AnotherDomainReadsAndWritesItsOwnKeysOnly) {
  Scene scene;
  scene.rules.keys = fleet::Keys("lockstep.dev");
  scene.label("nvidia.com/gpu-driver-upgrade-state", "upgrade-failed");
  Decision decision = scene.decide();
  EXPECT_EQ(entered(decision), State::done);
  ASSERT_NE(decision.patch(), nullptr);
  EXPECT_EQ(decision.patch()->labels[0].first, "lockstep.dev/gpu-driver-upgrade-state");
}

}  // namespace
}  // namespace lockstep::upgrade::decide_test
