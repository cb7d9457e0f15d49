#include <gtest/gtest.h>

#include "upgrade/deciding.h"
#include "upgrade/slots.h"
#include "upgrade/upgrade_test_util.h"

namespace lockstep::upgrade::starting_test {
namespace {

Scene out_of_sync() {
  Scene scene;
  scene.driver = make_driver_pod("old");
  return scene;
}

std::optional<std::string> written(const Decision& decision, std::string_view key) {
  if (decision.patch() == nullptr) return std::nullopt;
  for (const auto& [name, value] : decision.patch()->annotations) {
    if (name == key) return value.value_or("(removed)");
  }
  return std::nullopt;
}

TEST(Idle, AnUnknownNodeInSyncIsDone) {
  Decision decision = Scene().decide();
  EXPECT_EQ(entered(decision), State::done);
  EXPECT_FALSE(warns(decision));
}

// Of the right revision is not yet loaded.
TEST(Idle, AnUnknownNodeWhoseDriverIsNotReadyIsNotDone) {
  for (std::string_view label : {"", "nonsense"}) {
    Scene scene;
    if (!label.empty()) scene.label(scene.rules.keys.state, label);
    scene.driver = not_ready(make_driver_pod("new"));
    Decision decision = scene.decide();
    EXPECT_FALSE(decision.writes());
    EXPECT_EQ(decision.reason.name, "DriverNotReady");
    scene.driver = terminating(make_driver_pod("new"));
    EXPECT_FALSE(scene.decide().writes());
    scene.driver = make_driver_pod("new");
    EXPECT_EQ(entered(scene.decide()), State::done);
  }
}

TEST(Idle, ANodeThatIsDoneAndInSyncIsLeftAlone) {
  Decision decision = Scene().in(State::done).decide();
  EXPECT_FALSE(decision.writes());
  EXPECT_EQ(decision.reason.name, "InSync");
}

TEST(Idle, AnOutOfSyncPodRequiresAnUpgrade) {
  for (State state : {State::unknown, State::done}) {
    Decision decision = out_of_sync().in(state).decide();
    EXPECT_EQ(entered(decision), State::required);
    EXPECT_EQ(decision.reason.name, "OutOfSync");
    EXPECT_EQ(written(decision, Rules().keys.initially_unschedulable), std::nullopt);
  }
}

// Ten thousand are required at once when a version changes: only what may be our own mistake is
// asked for again.
TEST(Idle, AChangeOfMindIsVerifiedWhenItComesSoonOrFromTheBlind) {
  Scene scene = out_of_sync();
  EXPECT_NE(scene.in(State::done, minutes(9)).decide().freshness, Freshness::as_shown);
  EXPECT_EQ(scene.in(State::done, minutes(11)).decide().freshness, Freshness::as_shown);
  scene.blind = true;
  EXPECT_NE(scene.in(State::done, minutes(11)).decide().freshness, Freshness::as_shown);
}

TEST(Idle, ARequestRequiresAnUpgradeAlthoughInSync) {
  Scene scene;
  scene.in(State::done).annotate(scene.rules.keys.requested, "true");
  EXPECT_EQ(entered(scene.decide()), State::required);
  scene.driver.reset();
  EXPECT_EQ(entered(scene.decide()), State::required) << "even while the pod is missing";
}

TEST(Idle, SafeLoadRequiresAnUpgradeAlthoughInSync) {
  Scene scene;
  scene.in(State::done).annotate(scene.rules.keys.safe_load, "gpu-1");
  Decision decision = scene.decide();
  EXPECT_EQ(entered(decision), State::required);
  EXPECT_EQ(decision.reason.name, "SafeLoad");
}

TEST(Idle, ACordonThatIsThereBeforeIsRecordedInTheSamePatch) {
  Scene scene = out_of_sync().in(State::done);
  scene.node.unschedulable = true;
  Decision decision = scene.decide();
  EXPECT_EQ(entered(decision), State::required);
  EXPECT_EQ(written(decision, scene.rules.keys.initially_unschedulable), "true");
}

TEST(Idle, AnOrphanAloneIsLeft) {
  for (State state : {State::unknown, State::done}) {
    Scene scene;
    scene.in(state);
    scene.set = nullptr;
    Decision decision = scene.decide();
    EXPECT_FALSE(decision.writes());
    EXPECT_EQ(decision.reason.name, "Orphan");
    scene.annotate(scene.rules.keys.requested, "true");
    EXPECT_EQ(entered(scene.decide()), State::required);
  }
}

TEST(Idle, AMissingPodOrRevisionIsWaitedFor) {
  Scene missing;
  missing.driver.reset();
  EXPECT_FALSE(missing.decide().writes());
  EXPECT_EQ(missing.decide().reason.name, "DriverPodMissing");
  Scene unknown;
  unknown.newest = "";
  EXPECT_FALSE(unknown.decide().writes());
  EXPECT_EQ(unknown.decide().reason.name, "RevisionUnknown");
}

// There are two replicas, and the one that knows the newest revision gave the slot. To the other,
// every change would look like one that does not affect the driver.
TEST(Required, BeginsNothingAsLongAsTheNewestRevisionIsNotKnown) {
  Scene scene;
  scene.in(State::required);
  scene.driver = make_driver_pod("old");
  scene.granted = true;
  EXPECT_EQ(entered(scene.decide()), State::cordon);
  scene.newest = "";
  EXPECT_FALSE(scene.decide().writes());
  EXPECT_EQ(scene.decide().reason.name, "RevisionUnknown");
}

TEST(Idle, ANodeThatNoDriverWantsIsNotOurs) {
  Scene scene;
  scene.set = nullptr;
  scene.driver.reset();
  scene.annotate(scene.rules.keys.requested, "true");
  EXPECT_FALSE(scene.decide().writes());
  EXPECT_EQ(scene.decide().reason.name, "NoDriver");
}

TEST(Idle, AnUnknownLabelIsTakenAsUnknownWithAWarning) {
  Scene scene;
  scene.label(scene.rules.keys.state, "half-done");
  Decision decision = scene.decide();
  EXPECT_EQ(entered(decision), State::done);
  EXPECT_TRUE(warns(decision));
  scene.driver = make_driver_pod("old");
  EXPECT_EQ(entered(scene.decide()), State::required);
  EXPECT_TRUE(warns(scene.decide()));
}

TEST(Required, WaitsWithoutASlotAndSaysWhatHolds) {
  Scene scene = out_of_sync().in(State::required);
  Decision decision = scene.decide();
  EXPECT_FALSE(decision.writes());
  EXPECT_EQ(decision.reason.name, "NextInLine");
  scene.counts.active = 1;
  EXPECT_EQ(scene.decide().reason.name, "ParallelLimit");
  scene.label(scene.rules.keys.skip, "true");
  EXPECT_EQ(scene.decide().reason.name, "Skipped");
}

TEST(Required, ASlotGivenJustBeforeAPauseIsKeptAndUsedAfterIt) {
  Scene scene;
  scene.driver = make_driver_pod("old");
  scene.granted = true;
  scene.policy.paused = "lunch";
  EXPECT_EQ(scene.in(State::required).decide().reason.name, "Paused");
  EXPECT_FALSE(scene.decide().writes());
  scene.policy.paused.reset();
  EXPECT_EQ(entered(scene.decide()), State::cordon);
}

TEST(Required, WithASlotGoesToTheCordonWhichIsSetByTheNextPatch) {
  Scene scene = out_of_sync().in(State::required);
  scene.granted = true;
  Decision decision = scene.decide();
  EXPECT_EQ(entered(decision), State::cordon);
  EXPECT_FALSE(decision.patch()->unschedulable.has_value());
}

TEST(Required, WithASlotRecordsACordonThatCameWhileItWaited) {
  Scene scene = out_of_sync().in(State::required);
  scene.granted = true;
  scene.node.unschedulable = true;
  EXPECT_EQ(written(scene.decide(), scene.rules.keys.initially_unschedulable), "true");
}

TEST(Required, WithASlotForgetsACordonThatWentWhileItWaited) {
  Scene scene = out_of_sync().in(State::required);
  scene.granted = true;
  scene.annotate(scene.rules.keys.initially_unschedulable, "true");
  EXPECT_EQ(written(scene.decide(), scene.rules.keys.initially_unschedulable), "(removed)");
}

TEST(Required, ARetryDoesNotTakeOurOwnCordonForAPersons) {
  Scene scene = out_of_sync();
  scene.fail_with("ProtectedPods: some");
  scene.label(scene.rules.keys.state, "upgrade-required");
  scene.granted = true;
  Decision decision = scene.decide();
  EXPECT_EQ(entered(decision), State::cordon);
  EXPECT_EQ(written(decision, scene.rules.keys.initially_unschedulable), std::nullopt);
  EXPECT_EQ(written(decision, fleet::failure_annotation), "(removed)");
  EXPECT_EQ(written(decision, scene.rules.keys.requested), std::nullopt);
}

Scene cosmetic() {
  Scene scene;
  scene.in(State::required);
  scene.granted = true;
  scene.driver = with_digest(make_driver_pod("old"), "abc");
  scene.set->pod_template.spec = scene.driver->spec;
  return scene;
}

TEST(RestartOnly, CordonsAndGoesStraightToTheRestart) {
  Decision decision = cosmetic().decide();
  EXPECT_EQ(entered(decision), State::pod_restart);
  EXPECT_EQ(decision.patch()->unschedulable, true);
}

TEST(RestartOnly, MovesNobodyAnyMoreWhenTheVersionWasSetBackMeanwhile) {
  const std::pair<State, State> steps[] = {{State::wait_for_jobs, State::pod_deletion},
                                           {State::pod_deletion, State::pod_restart},
                                           {State::drain, State::pod_restart}};
  for (auto [from, to] : steps) {
    Scene scene = cosmetic();
    scene.policy.drain.enable = true;
    scene.policy.wait.pods = selector("app=train");
    scene.pods = {gpu_pod(make_pod("train-1"))};
    scene.in(from);
    Decision decision = scene.decide();
    EXPECT_EQ(entered(decision), to);
    EXPECT_EQ(decision.reason.name, "RestartOnly");
    EXPECT_NE(decision.freshness, Freshness::as_shown);
    scene.annotate(scene.rules.keys.requested, "true");
    EXPECT_NE(scene.decide().reason.name, "RestartOnly") << "somebody asked for more";
  }
}

TEST(RestartOnly, NotWhenTheDigestDiffersOrIsMissing) {
  Scene scene = cosmetic();
  scene.driver = with_digest(*scene.driver, "abd");
  EXPECT_EQ(entered(scene.decide()), State::cordon);
  scene.driver->spec.containers[0].environment.clear();
  EXPECT_EQ(entered(scene.decide()), State::cordon);
}

TEST(RestartOnly, NotWhenAnUpgradeWasRequestedNorUnderSafeLoad) {
  Scene requested = cosmetic();
  requested.annotate(requested.rules.keys.requested, "true");
  requested.apply(*requested.decide().patch());
  EXPECT_EQ(entered(requested.decide()), State::cordon) << "once the pod to restart is noted";
  Scene safe_load = cosmetic();
  safe_load.annotate(safe_load.rules.keys.safe_load, "gpu-1");
  EXPECT_EQ(entered(safe_load.decide()), State::cordon);
}

TEST(RestartOnly, NotForOrphansNorForARetry) {
  Scene orphan = cosmetic();
  orphan.driver->meta.owners.clear();
  EXPECT_EQ(entered(orphan.decide()), State::cordon);
  Scene retry = cosmetic();
  retry.annotate(fleet::failed_revision_annotation, "new");
  EXPECT_EQ(entered(retry.decide()), State::cordon);
}

TEST(RestartOnly, KeepsTheCordonOfAPerson) {
  Scene scene = cosmetic();
  scene.node.unschedulable = true;
  Decision decision = scene.decide();
  EXPECT_EQ(written(decision, scene.rules.keys.initially_unschedulable), "true");
}

TEST(Cordon, IsSetInThePatchThatGoesOn) {
  Decision decision = out_of_sync().in(State::cordon).decide();
  EXPECT_EQ(entered(decision), State::wait_for_jobs);
  EXPECT_EQ(decision.patch()->unschedulable, true);
  EXPECT_EQ(written(decision, Rules().keys.wait_start), "1800000000");
}

Scene with_job(PodPhase phase) {
  Scene scene = out_of_sync().in(State::wait_for_jobs, seconds(100));
  scene.policy.wait.pods = selector("app=job");
  Pod pod = make_pod("train-0");
  pod.meta.labels = {{"app", "job"}};
  pod.phase = phase;
  scene.pods = {other_pod(pod), gpu_pod(make_pod("web"))};
  return scene;
}

TEST(WaitForJobs, WaitsForPodsThatRunOrPendAndNamesThem) {
  for (PodPhase phase : {PodPhase::running, PodPhase::pending}) {
    Decision decision = with_job(phase).decide();
    EXPECT_FALSE(decision.writes());
    EXPECT_EQ(decision.reason.name, "WaitsForJobs");
    EXPECT_NE(decision.reason.text.find("ml/train-0"), std::string::npos);
    EXPECT_EQ(decision.reason.text.find("web"), std::string::npos);
  }
}

TEST(WaitForJobs, GoesOnWhenTheyHaveFinished) {
  for (PodPhase phase : {PodPhase::succeeded, PodPhase::failed}) {
    EXPECT_EQ(entered(with_job(phase).decide()), State::pod_deletion);
  }
}

TEST(WaitForJobs, GoesOnWhenTheSelectorIsEmpty) {
  Scene scene = with_job(PodPhase::running);
  scene.policy.wait.pods = LabelSelector::nothing();
  EXPECT_EQ(entered(scene.decide()), State::pod_deletion);
}

TEST(WaitForJobs, WithTimeoutZeroWaitsForEver) {
  Scene scene = with_job(PodPhase::running);
  scene.in(State::wait_for_jobs, hours(24 * 365));
  EXPECT_FALSE(scene.decide().writes());
  EXPECT_FALSE(scene.decide().look_again.has_value());
}

TEST(WaitForJobs, GoesOnWhenTheTimeoutHasPassedAndLooksAgainThen) {
  Scene scene = with_job(PodPhase::running);
  scene.policy.wait.timeout = seconds(150);
  EXPECT_EQ(scene.decide().look_again, seconds(50));
  scene.now = scene.now + seconds(49);
  EXPECT_FALSE(scene.decide().writes());
  scene.now = scene.now + seconds(1);
  EXPECT_EQ(entered(scene.decide()), State::pod_deletion);
  EXPECT_EQ(scene.decide().reason.name, "WaitTimedOut");
}

TEST(WaitForJobs, AClockThatWasSetForwardDoesNotEndTheWait) {
  Scene scene = with_job(PodPhase::running);
  scene.policy.wait.timeout = seconds(150);
  scene.now = scene.now + hours(2);
  scene.clock_gained = hours(2);
  EXPECT_EQ(scene.decide().look_again, seconds(50));
  // The time that the clock did not gain has passed, whether or not a controller was running.
  scene.clock_gained = hours(2) - seconds(50);
  EXPECT_EQ(entered(scene.decide()), State::pod_deletion);
  // A clock that was set back has not made the wait any longer than it seems.
  scene.clock_gained = -hours(2);
  EXPECT_EQ(entered(scene.decide()), State::pod_deletion);
}

TEST(RollingUpdateDriver, NothingBegins) {
  for (State state : {State::unknown, State::done, State::required}) {
    Scene scene;
    scene.in(state);
    scene.driver = make_driver_pod("old");
    scene.set->meta.ns = "gpu-operator";
    scene.set->update_strategy = "RollingUpdate";
    EXPECT_FALSE(scene.decide().writes()) << to_string(state);
    EXPECT_EQ(scene.decide().reason.name, "RollingUpdateDriver");
    EXPECT_NE(scene.decide().reason.remedy.find("gpu-operator patch daemonset nvidia-driver"),
              std::string::npos);
    EXPECT_FALSE(is_startable(scene.view(), scene.policy, scene.rules));
    scene.set->update_strategy = "OnDelete";
    scene.granted = state == State::required;
    EXPECT_TRUE(scene.decide().writes()) << to_string(state);
  }
}

TEST(RollingUpdateDriver, ASlotThatWasGivenBeforeIsGivenBack) {
  Scene scene;
  scene.in(State::required);
  scene.driver = make_driver_pod("old");
  scene.set->update_strategy = "RollingUpdate";
  scene.granted = true;
  EXPECT_TRUE(scene.decide().writes());
  EXPECT_EQ(entered(scene.decide()), std::nullopt);
  EXPECT_EQ(scene.decide().reason.name, "RollingUpdateDriver");
}

TEST(RollingUpdateDriver, WhatIsInFlightGoesOn) {
  Scene scene;
  scene.in(State::pod_restart);
  scene.driver = make_driver_pod("old");
  scene.set->update_strategy = "RollingUpdate";
  EXPECT_EQ(removed(scene.decide()), Names{"delete driver-old"});
}

TEST(Uncordon, SetsTheNodeSchedulableInThePatchThatEndsTheUpgrade) {
  Decision decision = Scene().in(State::uncordon).decide();
  EXPECT_EQ(entered(decision), State::done);
  EXPECT_EQ(decision.patch()->unschedulable, false);
}

TEST(Uncordon, NeverTakesAwayACordonThatWasThereBefore) {
  Scene scene;
  scene.in(State::uncordon).annotate(scene.rules.keys.initially_unschedulable, "true");
  Decision decision = scene.decide();
  EXPECT_EQ(entered(decision), State::done);
  EXPECT_FALSE(decision.patch()->unschedulable.has_value());
}

TEST(Retry, IsOfTheSameRevisionOnly) {
  Scene scene;
  EXPECT_FALSE(is_retry(scene.view()));
  scene.annotate(fleet::failure_annotation, "X: y");
  EXPECT_TRUE(is_retry(scene.view())) << "it failed while no revision was known";
  scene.annotate(fleet::failed_revision_annotation, "new");
  EXPECT_TRUE(is_retry(scene.view()));
  scene.annotate(fleet::failed_revision_annotation, "older");
  EXPECT_FALSE(is_retry(scene.view()));
}

TEST(NoPolicy, SaysThatNobodyAsksForUpgrades) {
  EXPECT_EQ(auto_upgrade_off(Policy::none()).name, "NoPolicy");
  Policy policy = read_policy(nullptr, "ClusterPolicy c");
  EXPECT_EQ(auto_upgrade_off(policy).name, "AutoUpgradeOff");
  EXPECT_NE(auto_upgrade_off(policy).text.find("ClusterPolicy c"), std::string::npos);
}

}  // namespace
}  // namespace lockstep::upgrade::starting_test
