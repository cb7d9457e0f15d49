// Whole upgrades of one node.
#include <algorithm>

#include <gtest/gtest.h>

#include "upgrade/walk_test_util.h"

namespace lockstep::upgrade::decide_walk_test {
namespace {

TEST(Walk, AWholeUpgradeGoesThroughEveryStateInTwelveWritesAtMost) {
  Walk walk;
  walk.run();
  EXPECT_EQ(walk.labels, whole_way);
  EXPECT_EQ(walk.pods_removed, (Names{"train", "driver-old", "plugin", "validator"}));
  EXPECT_LE(walk.writes, 12);
  EXPECT_TRUE(walk.warnings.empty());
  EXPECT_FALSE(walk.scene.node.unschedulable);
  EXPECT_EQ(walk.scene.node.meta.labels.size(), 1U);
  EXPECT_EQ(walk.scene.node.meta.annotations.size(), 2U)
      << "only since when it is done, and with which driver pod";
}

TEST(Walk, ACordonLastsFromTheCordonToTheUncordon) {
  Walk walk;
  walk.run_until(State::cordon);
  EXPECT_FALSE(walk.scene.node.unschedulable);
  walk.run_until(State::uncordon);
  EXPECT_TRUE(walk.scene.node.unschedulable);
  walk.run_until(State::done);
  EXPECT_FALSE(walk.scene.node.unschedulable);
}

TEST(Walk, WithoutASlotNothingHappens) {
  Walk walk;
  walk.gives_slots = false;
  walk.run();
  EXPECT_EQ(walk.labels, (Names{"upgrade-required"}));
  EXPECT_FALSE(walk.scene.node.unschedulable);
}

TEST(Walk, ARollbackInTheMiddleEvictsNothingMore) {
  for (State middle : {State::required, State::cordon, State::wait_for_jobs, State::pod_deletion}) {
    Walk walk;
    walk.run_until(middle);
    walk.scene.newest = "old";
    walk.run();
    EXPECT_TRUE(walk.pods_removed.empty()) << to_string(middle);
    EXPECT_EQ(walk.scene.state(), State::done);
    EXPECT_FALSE(walk.scene.node.unschedulable);
    // A node that never began has nothing to uncordon.
    EXPECT_EQ(walk.labels[walk.labels.size() - 2],
              middle == State::required ? "upgrade-required" : "uncordon-required");
  }
}

TEST(Walk, ARestartOnlyMovesNobody) {
  Walk walk;
  walk.scene.driver = with_digest(*walk.scene.driver, "abc");
  walk.scene.set->pod_template.spec = walk.scene.driver->spec;
  walk.run();
  EXPECT_EQ(walk.labels, (Names{"upgrade-required", "pod-restart-required", "validation-required",
                                "uncordon-required", "upgrade-done"}));
  EXPECT_EQ(walk.pods_removed, (Names{"driver-old", "plugin", "validator"}));
  EXPECT_FALSE(walk.scene.node.unschedulable);
}

TEST(Walk, ARestartOnlyThatBecomesMoreWaitsForTheJobsFirst) {
  Walk walk;
  walk.scene.driver = with_digest(*walk.scene.driver, "abc");
  walk.scene.set->pod_template.spec = walk.scene.driver->spec;
  walk.scene.policy.wait.pods = selector("app=job");
  Pod job = make_pod("train");
  job.meta.labels = {{"app", "job"}};
  walk.scene.pods = {gpu_pod(job)};
  walk.run_until(State::validation);
  walk.scene.newest = "newer";
  walk.scene.set->pod_template.spec.containers[0].environment = {{"DRIVER_CONFIG_DIGEST", "abd"}};
  walk.run();
  EXPECT_EQ(walk.scene.state(), State::wait_for_jobs);
  EXPECT_EQ(walk.pods_removed, (Names{"driver-old"}));
  walk.scene.pods.clear();
  walk.run();
  EXPECT_EQ(walk.scene.state(), State::done);
}

TEST(Walk, AFailedDriverIsRetriedAndTheBrokenPodIsDeletedOnce) {
  Walk walk;
  walk.next_driver = [](Pod pod) { return crashing(std::move(pod), 11); };
  walk.run();
  ASSERT_EQ(walk.scene.state(), State::failed);
  EXPECT_TRUE(walk.scene.annotation(fleet::failure_annotation).starts_with("DriverCrashLoop: "));
  EXPECT_EQ(walk.warnings.size(), 1U);
  EXPECT_TRUE(walk.scene.node.unschedulable);
  walk.pods_removed.clear();
  walk.labels.clear();
  walk.next_driver = [](Pod pod) { return pod; };
  walk.scene.label(walk.scene.rules.keys.state, "upgrade-required");
  // The only other one that may be unavailable is this node itself.
  walk.scene.counts.unavailable = 1;
  walk.run();
  EXPECT_EQ(walk.labels, Names(whole_way.begin() + 1, whole_way.end()));
  EXPECT_EQ(walk.pods_removed, (Names{"driver-new", "plugin", "validator"}));
  EXPECT_FALSE(walk.scene.node.unschedulable) << "the cordon was ours";
}

TEST(Walk, ARetryThatFailsAgainFailsAgain) {
  Walk walk;
  walk.next_driver = [](Pod pod) { return crashing(std::move(pod), 11); };
  walk.run();
  walk.pods_removed.clear();
  walk.scene.label(walk.scene.rules.keys.state, "upgrade-required");
  walk.run();
  EXPECT_EQ(walk.scene.state(), State::failed);
  EXPECT_EQ(walk.pods_removed, (Names{"driver-new"}));
  EXPECT_EQ(walk.warnings.size(), 2U);
}

TEST(Walk, ARetryThatIsRolledBackEndsAtOnce) {
  Walk walk;
  walk.scene.pods = {gpu_pod(without_controller(make_pod("bare")))};
  walk.run();
  ASSERT_EQ(walk.scene.state(), State::failed);
  walk.scene.label(walk.scene.rules.keys.state, "upgrade-required");
  walk.run();
  ASSERT_EQ(walk.scene.state(), State::failed) << "for the same reason";
  walk.scene.newest = "old";
  walk.run();
  EXPECT_EQ(walk.scene.state(), State::done);
  EXPECT_FALSE(walk.scene.node.unschedulable);
  EXPECT_TRUE(walk.pods_removed.empty());
}

TEST(Walk, ADriverThatComesUpAfterAllIsValidated) {
  Walk walk;
  walk.next_driver = [](Pod pod) { return waiting_in(std::move(pod), "ImagePullBackOff"); };
  walk.run();
  EXPECT_EQ(walk.scene.state(), State::pod_restart);
  walk.scene.now = walk.scene.now + *walk.last.look_again;
  walk.run();
  ASSERT_EQ(walk.scene.state(), State::failed);
  walk.scene.driver = make_driver_pod("new", walk.scene.now);
  walk.labels.clear();
  walk.run();
  EXPECT_EQ(walk.labels, (Names{"validation-required", "uncordon-required", "upgrade-done"}));
}

TEST(Walk, AFailedValidationIsStickyAndARetryRunsItAgain) {
  Walk walk;
  walk.run_until(State::validation);
  walk.scene.validators.clear();
  walk.run();
  walk.scene.now = walk.scene.now + *walk.last.look_again;
  walk.run();
  ASSERT_EQ(walk.scene.state(), State::failed);
  EXPECT_TRUE(walk.scene.annotation(fleet::failure_annotation).starts_with("NoValidatorPod: "));
  walk.scene.validators = {make_daemon_pod("validator", walk.scene.now)};
  walk.scene.now = walk.scene.now + hours(10);
  EXPECT_FALSE(walk.step()) << "sticky";
  walk.labels.clear();
  walk.scene.label(walk.scene.rules.keys.state, "upgrade-required");
  walk.scene.validators[0] = not_ready(walk.scene.validators[0]);
  walk.run();
  EXPECT_EQ(walk.scene.state(), State::validation) << "the driver is ready; its validation is not";
  walk.scene.validators = {make_daemon_pod("validator", walk.scene.now)};
  walk.run();
  EXPECT_EQ(walk.labels, Names(whole_way.begin() + 1, whole_way.end()));
}

TEST(Walk, AFailureWithoutAKnownRevisionIsNotForgottenByARetry) {
  Walk walk;
  walk.run_until(State::validation);
  walk.scene.newest = "";
  walk.scene.now = walk.scene.now + hours(1);
  walk.run();
  ASSERT_EQ(walk.scene.state(), State::failed);
  walk.scene.newest = "new";
  walk.labels.clear();
  walk.scene.label(walk.scene.rules.keys.state, "upgrade-required");
  walk.run();
  EXPECT_EQ(walk.labels, Names(whole_way.begin() + 1, whole_way.end())) << "with its validation";
}

TEST(Walk, ANodeThatAnAdministratorCordonedEndsCordonedAndIsNeverUncordoned) {
  Walk walk;
  walk.scene.node.unschedulable = true;
  for (int i = 0; i < 30 && walk.step(); ++i) EXPECT_TRUE(walk.scene.node.unschedulable);
  EXPECT_EQ(walk.scene.state(), State::done);
  EXPECT_EQ(std::count(walk.labels.begin(), walk.labels.end(), "uncordon-required"), 0);
  EXPECT_FALSE(walk.scene.has(walk.scene.rules.keys.initially_unschedulable));
}

TEST(Walk, AnAdministratorsCordonOutlivesFailureAndRetry) {
  Walk walk;
  walk.scene.node.unschedulable = true;
  walk.next_driver = [](Pod pod) { return crashing(std::move(pod), 11); };
  walk.run();
  ASSERT_EQ(walk.scene.state(), State::failed);
  walk.next_driver = [](Pod pod) { return pod; };
  walk.scene.label(walk.scene.rules.keys.state, "upgrade-required");
  walk.run();
  EXPECT_EQ(walk.scene.state(), State::done);
  EXPECT_TRUE(walk.scene.node.unschedulable);
}

TEST(Walk, ANodeThatSomebodyUncordonsIsCordonedAgain) {
  Walk walk;
  walk.run_until(State::pod_restart);
  walk.scene.node.unschedulable = false;
  EXPECT_TRUE(walk.step());
  EXPECT_TRUE(walk.scene.node.unschedulable);
  EXPECT_EQ(walk.warnings.size(), 1U);
  walk.run();
  EXPECT_EQ(walk.labels, whole_way);
  EXPECT_FALSE(walk.scene.node.unschedulable);
}

TEST(Walk, ANewerRevisionDuringValidationRestartsTheDriverAgain) {
  Walk walk;
  walk.run_until(State::validation);
  walk.scene.newest = "newer";
  walk.run();
  EXPECT_EQ(walk.labels, (Names{"upgrade-required", "cordon-required", "wait-for-jobs-required",
                                "pod-deletion-required", "pod-restart-required",
                                "validation-required", "pod-restart-required",
                                "validation-required", "uncordon-required", "upgrade-done"}));
  EXPECT_EQ(walk.pods_removed, (Names{"train", "driver-old", "driver-new", "plugin", "validator"}));
}

TEST(Walk, ADriverThatWaitsForSafeLoadIsLetGoAndNotRestarted) {
  Walk walk;
  walk.scene.driver = not_ready(make_driver_pod("new", test_time - hours(7)));
  walk.scene.annotate(walk.scene.rules.keys.safe_load, "gpu-1");
  walk.run();
  EXPECT_EQ(walk.scene.state(), State::pod_restart);
  EXPECT_FALSE(walk.scene.has(walk.scene.rules.keys.safe_load));
  EXPECT_EQ(walk.pods_removed, (Names{"train"}));
  walk.scene.driver->ready = true;
  walk.scene.driver->ready_since = walk.scene.now;
  walk.scene.driver->container_statuses[0].ready = true;
  walk.run();
  EXPECT_EQ(walk.labels, whole_way);
}

TEST(Walk, AnOrphanIsReplacedOnlyOnRequest) {
  Walk walk;
  walk.scene.driver->meta.owners[0].uid = "uid-of-a-set-that-is-gone";
  walk.run();
  EXPECT_TRUE(walk.labels.empty());
  walk.scene.annotate(walk.scene.rules.keys.requested, "true");
  walk.run();
  EXPECT_EQ(walk.labels, whole_way);
  EXPECT_EQ(walk.pods_removed, (Names{"train", "driver-old", "plugin", "validator"}));
}

TEST(Walk, APolicyThatIsSwitchedOffInTheMiddleFreezesAndGoesOnFromThere) {
  Walk walk;
  walk.run_until(State::pod_deletion);
  walk.scene.policy.auto_upgrade = false;
  walk.run();
  EXPECT_EQ(walk.scene.state(), State::pod_deletion);
  walk.scene.policy.auto_upgrade = true;
  walk.run();
  EXPECT_EQ(walk.labels, whole_way);
}

TEST(Walk, PodsThatABudgetProtectsGoByTheDrainOrNotAtAll) {
  Walk walk;
  walk.scene.policy.drain.enable = true;
  walk.scene.pods = {refused_by_budget(make_pod("train"), hours(5))};
  walk.run();
  EXPECT_EQ(walk.scene.state(), State::pod_deletion);
  walk.scene.now = walk.scene.now + seconds(300);
  walk.run();
  EXPECT_EQ(walk.scene.state(), State::drain);
  walk.scene.now = walk.scene.now + seconds(300);
  walk.run();
  EXPECT_EQ(walk.scene.state(), State::failed);
  EXPECT_TRUE(walk.pods_removed.empty());
}

}  // namespace
}  // namespace lockstep::upgrade::decide_walk_test
