#include "upgrade/evicting.h"

#include <gtest/gtest.h>

#include "upgrade/upgrade_test_util.h"

namespace lockstep::upgrade::evicting_test {
namespace {

// Out of sync, in pod-deletion-required, with these pods.
Scene deleting(std::vector<fleet::PodOnNode> pods, Duration ago = seconds(10)) {
  Scene scene;
  scene.driver = make_driver_pod("old");
  scene.pods = std::move(pods);
  scene.in(State::pod_deletion, ago);
  return scene;
}

Scene draining(std::vector<fleet::PodOnNode> pods, Duration ago = seconds(10)) {
  Scene scene = deleting(std::move(pods));
  scene.policy.drain.enable = true;
  scene.in(State::drain, ago);
  return scene;
}

Pod with_empty_dir(Pod pod) {
  pod.spec.has_empty_dir = true;
  return pod;
}

Pod finished(Pod pod) {
  pod.phase = PodPhase::succeeded;
  return pod;
}

Pod mirror(Pod pod) {
  pod.meta.annotations = {{"kubernetes.io/config.mirror", "x"}};
  return pod;
}

Pod labelled(Pod pod, std::string_view key, std::string_view value) {
  pod.meta.labels.set(Text(key), Text(value));
  return pod;
}

fleet::PodOnNode forced(fleet::PodOnNode entry) {
  entry.tries = fleet::EvictionTries{0, {}, false, "", true};
  return entry;
}

Fate fate(const fleet::PodOnNode& entry, const EvictionPolicy& policy = {}) {
  return judge_gpu_pod(entry, policy).fate;
}

TEST(GpuPods, LeaveUnlessTheyAreFinishedMirrorsOrOfADaemonSet) {
  EXPECT_EQ(fate(gpu_pod(make_pod("a"))), Fate::leaves);
  EXPECT_EQ(fate(other_pod(make_pod("a"))), Fate::stays);
  EXPECT_EQ(fate(gpu_pod(finished(make_pod("a")))), Fate::stays);
  EXPECT_EQ(fate(gpu_pod(mirror(make_pod("a")))), Fate::stays);
  EXPECT_EQ(fate(gpu_pod(make_daemon_pod("a"))), Fate::stays);
}

TEST(GpuPods, AreAlsoThoseThatTheSelectorNames) {
  EvictionPolicy policy;
  policy.pods = selector("runtime=nvidia");
  EXPECT_EQ(fate(other_pod(labelled(make_pod("a"), "runtime", "nvidia")), policy), Fate::leaves);
  EXPECT_EQ(fate(other_pod(labelled(make_pod("a"), "runtime", "runc")), policy), Fate::stays);
}

TEST(GpuPods, WithoutControllerNeedForce) {
  EvictionPolicy policy;
  fleet::PodOnNode bare = gpu_pod(without_controller(make_pod("bare")));
  EXPECT_EQ(fate(bare, policy), Fate::protected_);
  EXPECT_NE(judge_gpu_pod(bare, policy).because.find("ml/bare"), std::string::npos);
  EXPECT_NE(judge_gpu_pod(bare, policy).because.find("podDeletion.force"), std::string::npos);
  policy.force = true;
  EXPECT_EQ(fate(bare, policy), Fate::leaves);
}

TEST(GpuPods, WithAnEmptyDirNeedDeleteEmptyDir) {
  EvictionPolicy policy;
  fleet::PodOnNode pod = gpu_pod(with_empty_dir(make_pod("data")));
  EXPECT_EQ(fate(pod, policy), Fate::protected_);
  EXPECT_NE(judge_gpu_pod(pod, policy).because.find("podDeletion.deleteEmptyDir"),
            std::string::npos);
  policy.delete_empty_dir = true;
  EXPECT_EQ(fate(pod, policy), Fate::leaves);
}

TEST(GpuPods, ThatAreEndingAlreadyAreNotProtected) {
  EXPECT_EQ(fate(gpu_pod(terminating(without_controller(make_pod("a"))))), Fate::leaves);
}

TEST(PodDeletion, EvictsAllAtOnce) {
  Decision decision =
      deleting({gpu_pod(make_pod("a")), other_pod(make_pod("b")), gpu_pod(make_pod("c"))}).decide();
  EXPECT_EQ(removed(decision), (Names{"evict a", "evict c"}));
  EXPECT_EQ(decision.look_again, seconds(290));
}

TEST(PodDeletion, GoesToTheRestartWhenNoGpuPodIsLeft) {
  EXPECT_EQ(entered(deleting({}).decide()), State::pod_restart);
  Scene scene = deleting({other_pod(make_pod("web")), gpu_pod(finished(make_pod("job"))),
                          gpu_pod(mirror(make_pod("static")))});
  EXPECT_EQ(entered(scene.decide()), State::pod_restart);
  EXPECT_EQ(scene.decide().freshness, Freshness::as_shown);
}

TEST(PodDeletion, BelievesNoOldViewOfPodsForWhichTheNodeWasSentBack) {
  Scene scene = deleting({});
  scene.annotate(scene.rules.keys.requested, "true");
  EXPECT_EQ(entered(scene.decide()), State::pod_restart);
  EXPECT_NE(scene.decide().freshness, Freshness::as_shown);
}

TEST(PodDeletion, LeavesGpuPodsOfADaemonSetAndGoesOn) {
  EXPECT_EQ(entered(deleting({gpu_pod(make_daemon_pod("dcgm"))}).decide()), State::pod_restart);
}

TEST(PodDeletion, EvictsNobodyWhenOneMayNotBeEvictedAndNamesEverySuchPod) {
  Scene scene = deleting({gpu_pod(make_pod("good")), gpu_pod(without_controller(make_pod("bare"))),
                          gpu_pod(with_empty_dir(make_pod("data")))});
  Decision decision = scene.decide();
  EXPECT_EQ(entered(decision), State::failed);
  EXPECT_EQ(decision.reason.name, "ProtectedPods");
  ASSERT_TRUE(warns(decision));
  for (std::string_view part :
       {"ml/bare", "podDeletion.force", "ml/data", "podDeletion.deleteEmptyDir"}) {
    EXPECT_NE(decision.events[0].message.find(part), std::string::npos) << part;
  }
  EXPECT_EQ(decision.events[0].message.find("ml/good"), std::string::npos);
}

TEST(PodDeletion, GoesToTheDrainWhenItCannotAndADrainIsEnabled) {
  Scene scene = deleting({gpu_pod(without_controller(make_pod("bare")))});
  scene.policy.drain.enable = true;
  Decision decision = scene.decide();
  EXPECT_EQ(entered(decision), State::drain);
  EXPECT_TRUE(warns(decision)) << "and says which pods";
}

TEST(PodDeletion, WaitsForPodsThatAreEnding) {
  Decision decision = deleting({gpu_pod(terminating(make_pod("a")))}).decide();
  EXPECT_FALSE(decision.writes());
  EXPECT_EQ(decision.reason.name, "PodsTerminating");
  EXPECT_EQ(decision.look_again, seconds(290));
}

TEST(PodDeletion, RetriesABudgetsRefusalOnlyAfterItsPause) {
  Scene scene = deleting({refused_by_budget(make_pod("a"), seconds(4)), gpu_pod(make_pod("b"))});
  Decision decision = scene.decide();
  EXPECT_EQ(removed(decision), (Names{"evict b"})) << "the others are not held up";
  EXPECT_EQ(decision.look_again, seconds(4));
  EXPECT_EQ(decision.reason.name, "BlockedByDisruptionBudget");
  ASSERT_EQ(decision.events.size(), 1U);
  EXPECT_TRUE(decision.events[0].warning);
  scene.pods[0].pause = {};
  EXPECT_EQ(removed(scene.decide()), (Names{"evict a", "evict b"}));
}

TEST(PodDeletion, FailsAtTheTimeoutWithTheNameOfTheBudget) {
  Scene scene = deleting({refused_by_budget(make_pod("a"), seconds(4))}, seconds(300));
  Decision decision = scene.decide();
  EXPECT_EQ(entered(decision), State::failed);
  EXPECT_EQ(decision.reason.name, "BlockedByDisruptionBudget");
  EXPECT_NE(decision.reason.text.find("web-budget"), std::string::npos);
  EXPECT_NE(decision.reason.text.find("ml/a"), std::string::npos);
  scene.policy.drain.enable = true;
  EXPECT_EQ(entered(scene.decide()), State::drain);
}

TEST(PodDeletion, TriesOnceMoreWhenTheBudgetGaveWayBeforeTheTimeout) {
  fleet::PodOnNode entry = refused_by_budget(make_pod("a"), seconds(20));
  entry.blocking_budgets = {};
  Scene scene = deleting({entry}, seconds(300));
  EXPECT_FALSE(scene.decide().writes());
  EXPECT_EQ(scene.decide().reason.name, "EvictsPods");
  EXPECT_EQ(scene.decide().look_again, seconds(20));
  scene.pods[0].pause = Duration::zero();
  EXPECT_EQ(removed(scene.decide()), (Names{"evict a"}));
  // But not indefinitely.
  scene.in(State::pod_deletion, seconds(390));
  EXPECT_EQ(entered(scene.decide()), State::failed);
  EXPECT_EQ(scene.decide().reason.name, "BlockedByDisruptionBudget");
}

TEST(PodDeletion, NeverForceDeletesWhatABudgetProtects) {
  Scene scene = deleting({refused_by_budget(make_pod("a"), {})}, hours(1));
  EXPECT_TRUE(removed(scene.decide()).empty());
}

TEST(PodDeletion, FailsAtTheTimeoutWhenEvictionsFailForOtherReasons) {
  fleet::PodOnNode entry = gpu_pod(make_pod("a"));
  entry.tries = fleet::EvictionTries{3, {}, false, "webhook says no", false};
  EXPECT_EQ(deleting({entry}).decide().reason.name, "EvictionRefused");
  Decision decision = deleting({entry}, seconds(301)).decide();
  EXPECT_EQ(entered(decision), State::failed);
  EXPECT_EQ(decision.reason.name, "EvictionFailed");
  EXPECT_NE(decision.reason.text.find("webhook says no"), std::string::npos);
}

TEST(PodDeletion, ForceDeletesAtTheTimeoutWhatIsEndingAlready) {
  Scene scene = deleting({gpu_pod(terminating(make_pod("slow")))}, seconds(299));
  EXPECT_FALSE(scene.decide().writes());
  scene.now = scene.now + seconds(1);
  Decision decision = scene.decide();
  EXPECT_EQ(removed(decision), (Names{"force-delete slow"}));
  EXPECT_TRUE(warns(decision));
  ASSERT_TRUE(decision.look_again.has_value());
}

TEST(NodeLost, NoPodIsDeletedByForceWhileTheNodeIsNotReady) {
  for (State state : {State::pod_deletion, State::drain}) {
    Scene scene = deleting({gpu_pod(terminating(make_pod("stateful-0")))});
    scene.policy.drain.enable = state == State::drain;
    scene.in(state, hours(1));
    scene.node.conditions[0].status = "Unknown";
    Decision decision = scene.decide();
    EXPECT_FALSE(decision.writes()) << to_string(state);
    EXPECT_EQ(decision.reason.name, "NodeLost") << "it does not fail either";
    EXPECT_NE(decision.reason.text.find("ml/stateful-0"), std::string::npos);
    EXPECT_TRUE(decision.look_again);
    // One that was deleted so while the node was Ready.
    scene.pods = {forced(scene.pods[0])};
    EXPECT_EQ(scene.decide().reason.name, "NodeLost");
    scene.pods = {gpu_pod(terminating(make_pod("stateful-0")))};
    scene.node.conditions[0].status = "True";
    decision = scene.decide();
    EXPECT_EQ(removed(decision), Names{"force-delete stateful-0"});
    EXPECT_NE(decision.freshness, Freshness::as_shown) << "it may have been lost since";
  }
}

TEST(NodeLost, APodThatADrainLeavesOutIsWaitedForToo) {
  Scene scene = draining({gpu_pod(terminating(make_pod("kept")))}, hours(1));
  scene.policy.drain.eviction.pods = selector("app=web");
  EXPECT_EQ(scene.decide().reason.name, "GpuPodsRemain");
  scene.node.conditions[0].status = "Unknown";
  EXPECT_FALSE(scene.decide().writes());
  EXPECT_EQ(scene.decide().reason.name, "NodeLost");
}

TEST(PodDeletion, ForceDeletesOnceAndThenGivesUpAfterAMinute) {
  Scene scene = deleting({forced(gpu_pod(terminating(make_pod("stuck"))))}, seconds(310));
  Decision decision = scene.decide();
  EXPECT_FALSE(decision.writes());
  EXPECT_EQ(decision.look_again, seconds(50)) << "a finalizer makes no event";
  scene.now = scene.now + seconds(50);
  decision = scene.decide();
  EXPECT_EQ(entered(decision), State::failed);
  EXPECT_EQ(decision.reason.name, "PodsStuckTerminating");
}

TEST(PodDeletion, AForceDeletionThatFailedIsTriedAgainAfterItsPause) {
  fleet::PodOnNode entry = gpu_pod(terminating(make_pod("slow")));
  entry.tries = fleet::EvictionTries{1, {}, false, "timeout", false};
  entry.pause = seconds(2);
  Scene scene = deleting({entry}, seconds(400));
  EXPECT_FALSE(scene.decide().writes());
  EXPECT_EQ(scene.decide().look_again, seconds(2));
  scene.pods[0].pause = {};
  EXPECT_EQ(removed(scene.decide()), (Names{"force-delete slow"}));
}

TEST(PodDeletion, TriesOnceEvenWhenItComesBackAfterTheTimeout) {
  Scene scene = deleting({gpu_pod(make_pod("a", test_time - hours(3)))}, hours(2));
  EXPECT_EQ(removed(scene.decide()), (Names{"evict a"})) << "a controller that was down";
}

TEST(PodDeletion, GivesUpOnPodsThatComeAfterTheTimeout) {
  Scene scene = deleting({gpu_pod(make_pod("again", test_time - seconds(5)))}, seconds(310));
  Decision decision = scene.decide();
  EXPECT_EQ(entered(decision), State::failed);
  EXPECT_EQ(decision.reason.name, "PodsKeepComing");
}

TEST(PodDeletion, WithTimeoutZeroWaitsForEver) {
  Scene scene = deleting({refused_by_budget(make_pod("a"), seconds(30))}, hours(9999));
  scene.policy.pod_deletion.timeout = Duration::zero();
  EXPECT_FALSE(scene.decide().writes());
  EXPECT_EQ(scene.decide().look_again, seconds(30));
  scene.pods = {gpu_pod(terminating(make_pod("slow")))};
  EXPECT_FALSE(scene.decide().writes()) << "and forces nothing";
}

TEST(DaemonGpuPods, ThatTheSelectorNamesAreRestartedWithTheDriver) {
  Scene scene = deleting({gpu_pod(labelled(make_daemon_pod("named"), "app", "x")),
                          gpu_pod(make_daemon_pod("other")),
                          gpu_pod(terminating(labelled(make_daemon_pod("ending"), "app", "x"))),
                          gpu_pod(labelled(make_pod("no-daemon"), "app", "x"))});
  scene.policy.pod_deletion.pods = selector("app=x");
  auto pods = daemon_pods_to_restart(scene.view(), scene.policy.pod_deletion);
  ASSERT_EQ(pods.size(), 1U);
  EXPECT_EQ(pods[0]->meta.name, "named");
  EXPECT_TRUE(daemon_pods_to_restart(scene.view(), EvictionPolicy{}).empty());
}

TEST(GpuPods, ThatHaveToMoveAreSeenProtectedOrNot) {
  EXPECT_FALSE(has_gpu_pods_to_move(deleting({gpu_pod(make_daemon_pod("d"))}).view(), {}));
  EXPECT_TRUE(has_gpu_pods_to_move(deleting({gpu_pod(make_pod("a"))}).view(), {}));
  EXPECT_TRUE(
      has_gpu_pods_to_move(deleting({gpu_pod(without_controller(make_pod("a")))}).view(), {}));
}

TEST(Drain, IsOfAllPodsButThoseOfDaemonSetsMirrorsAndFinishedOnes) {
  Scene scene = draining({gpu_pod(make_pod("gpu")), other_pod(make_pod("web")),
                          other_pod(make_daemon_pod("daemon")), other_pod(mirror(make_pod("m"))),
                          other_pod(finished(make_pod("f")))});
  EXPECT_EQ(removed(scene.decide()), (Names{"evict gpu", "evict web"}));
}

TEST(Drain, NeverTouchesPodsWithTheSkipLabel) {
  Scene scene = draining(
      {other_pod(labelled(make_pod("a"), "nvidia.com/gpu-driver-upgrade-drain.skip", "true")),
       other_pod(labelled(make_pod("b"), "nvidia.com/gpu-driver-upgrade-drain.skip", "yes"))});
  EXPECT_EQ(removed(scene.decide()), (Names{"evict b"}));
}

TEST(Drain, OnlyTakesPodsThatItsSelectorNames) {
  Scene scene = draining({other_pod(labelled(make_pod("a"), "app", "web")),
                          other_pod(labelled(make_pod("b"), "app", "db"))});
  scene.policy.drain.eviction.pods = selector("app=web");
  EXPECT_EQ(removed(scene.decide()), (Names{"evict a"}));
}

TEST(Drain, HasSettingsOfItsOwn) {
  Scene scene = draining({other_pod(without_controller(make_pod("bare"))),
                          other_pod(with_empty_dir(make_pod("data")))});
  Decision decision = scene.decide();
  EXPECT_EQ(entered(decision), State::failed);
  EXPECT_NE(decision.reason.text.find("drain.force"), std::string::npos);
  EXPECT_NE(decision.reason.text.find("drain.deleteEmptyDir"), std::string::npos);
  scene.policy.drain.eviction.force = true;
  scene.policy.drain.eviction.delete_empty_dir = true;
  EXPECT_EQ(removed(scene.decide()), (Names{"evict bare", "evict data"}));
}

TEST(Drain, GoesToTheRestartWhenTheNodeIsEmpty) {
  EXPECT_EQ(entered(draining({}).decide()), State::pod_restart);
}

TEST(Drain, FailsAtItsTimeoutWithTheBudgetsName) {
  Scene scene = draining({refused_by_budget(make_pod("a"), seconds(9))}, seconds(299));
  EXPECT_EQ(scene.decide().look_again, seconds(1));
  scene.now = scene.now + seconds(1);
  EXPECT_EQ(entered(scene.decide()), State::failed);
  EXPECT_EQ(scene.decide().reason.name, "BlockedByDisruptionBudget");
}

TEST(Drain, ThatIsDisabledIsPassedThrough) {
  Scene scene = draining({other_pod(make_pod("web"))});
  scene.policy.drain.enable = false;
  EXPECT_EQ(entered(scene.decide()), State::pod_restart);
}

TEST(Drain, DoesNotGoOnWhileAGpuPodIsLeftThatItMayNotTouch) {
  Scene scene = draining(
      {gpu_pod(labelled(make_pod("a"), "nvidia.com/gpu-driver-upgrade-drain.skip", "true"))});
  EXPECT_EQ(entered(scene.decide()), State::failed);
  EXPECT_EQ(scene.decide().reason.name, "GpuPodsRemain");
  scene.policy.drain.enable = false;
  EXPECT_EQ(entered(scene.decide()), State::failed);
}

TEST(Drain, WaitsForAGpuPodOutsideOfItThatIsEnding) {
  Scene scene = draining({gpu_pod(terminating(make_pod("a")))}, seconds(299));
  scene.policy.drain.eviction.pods = selector("app=web");
  EXPECT_FALSE(scene.decide().writes());
  EXPECT_EQ(scene.decide().look_again, seconds(1));
  scene.now = scene.now + seconds(1);
  EXPECT_EQ(entered(scene.decide()), State::failed);
}

TEST(PodDeletion, GivingUpNeedsAFreshViewWhateverComesNext) {
  for (bool drains : {false, true}) {
    Scene scene;
    scene.policy.drain.enable = drains;
    scene.driver = make_driver_pod("old");
    scene.in(State::pod_deletion);
    scene.pods = {gpu_pod(without_controller(make_pod("bare")))};
    Decision decision = scene.decide();
    EXPECT_EQ(entered(decision), drains ? State::drain : State::failed);
    EXPECT_NE(decision.freshness, Freshness::as_shown);
    scene.pods = {gpu_pod(make_pod("train-1"))};
    EXPECT_EQ(scene.decide().freshness, Freshness::as_shown)
        << "an eviction asks the server itself";
  }
}

// The API was away: what is evicted now could be sent back to this node, again and again.
TEST(PodDeletion, WaitsForASchedulerThatMayNotHaveSeenTheCordon) {
  Scene scene = deleting({gpu_pod(make_pod("train-1"))});
  scene.scheduler_sees_from = scene.now + seconds(40);
  EXPECT_FALSE(scene.decide().writes());
  EXPECT_EQ(scene.decide().reason.name, "SchedulerCatchesUp");
  EXPECT_EQ(scene.decide().look_again, seconds(40));
  scene.pods = {};
  EXPECT_FALSE(scene.decide().writes()) << "one that comes now is moved in this state";
  scene.pods = {gpu_pod(make_pod("train-1"))};
  scene.now = scene.now + seconds(40);
  EXPECT_EQ(removed(scene.decide()), (Names{"evict train-1"}));
}

TEST(PodDeletion, DoesNotSpendItsTimeOnWaitingForAScheduler) {
  Scene scene = deleting({gpu_pod(make_pod("train-1"))});
  scene.policy.pod_deletion.timeout = seconds(60);
  scene.scheduler_sees_from = scene.now + seconds(40);
  EXPECT_EQ(removed(scene.decide()), (Names{"evict train-1"}));
}

TEST(Drain, WaitsForASchedulerThatMayNotHaveSeenTheCordon) {
  Scene scene = draining({other_pod(make_pod("web-1"))});
  scene.scheduler_sees_from = scene.now + seconds(40);
  EXPECT_EQ(scene.decide().reason.name, "SchedulerCatchesUp");
  scene.scheduler_sees_from = {};
  EXPECT_EQ(removed(scene.decide()), (Names{"evict web-1"}));
}

}  // namespace
}  // namespace lockstep::upgrade::evicting_test
