#include "rollout/restoring.h"

#include <gtest/gtest.h>

#include "rollout/rollout_test_util.h"

namespace lockstep::rollout::restoring_test {
namespace {

constexpr const char* two_waves = R"(
  waves:
    - {name: canary, nodes: {count: 1}}
    - {name: rest, nodes: {rest: true}}
)";

// The canary fails; the object is restored, and every node is back.
void roll_back(TestRollout& rollout) {
  rollout.begin();
  rollout.fail_node(1);
  rollout.settle();
  ASSERT_EQ(rollout.phase(), "RollingBack");
  for (int i = 1; i <= 3; ++i) rollout.finish(i);
  ASSERT_EQ(rollout.settle(), "RolledBack");
}

TEST(Restoring, WhatWasRecordedBeforeTheChangeIsRestoredByteForByte) {
  TestRollout rollout(3, two_waves);
  const DriverFields before{JsonObject{
      {"version", "580-corp"}, {"repository", "registry.corp:5000/gpu"}, {"usePrecompiled", true}}};
  rollout.view.object = rollout.view.target.fields = before;
  rollout.settle();
  EXPECT_EQ(rollout.view.status.stable.fields, before);
  rollout.set_version("new", "590");
  rollout.settle();
  rollout.fail_node(1);
  rollout.settle();
  ASSERT_EQ(rollout.reverts, 1);
  EXPECT_EQ(rollout.restored, before);
}

// The object changes before its DaemonSet: the new fields do not belong to the old revision.
TEST(Restoring, WhatTheObjectSaysBeforeItsDaemonSetFollowsIsNotRecorded) {
  TestRollout rollout(3, two_waves);
  rollout.settle();
  rollout.set_object("580");
  EXPECT_EQ(rollout.settle(), "Pending");
  EXPECT_EQ(rollout.view.status.stable.fields, fields_for("570"));
  // A version of which the tag of the running image happens to begin: it seems to fit.
  rollout.view.target.fields = rollout.view.object = fields_for("57");
  rollout.settle();
  EXPECT_EQ(rollout.view.status.stable.fields, fields_for("570"));
  EXPECT_EQ(rollout.view.status.stable.version, "570");
}

TEST(Restoring, TheSameVersionWrittenInFullIsRecorded) {
  TestRollout rollout(3, two_waves);
  rollout.settle();
  DriverFields full = fields_for("570");
  full.values["image"] = "driver";
  full.values["repository"] = "nvcr.io/nvidia";
  rollout.view.object = rollout.view.target.fields = full;
  rollout.settle();
  EXPECT_EQ(rollout.view.status.stable.fields, full);
}

TEST(Restoring, ARolloutThatDoesNotKnowTheFieldsBeforeDoesNotStart) {
  TestRollout rollout(3, two_waves);
  rollout.view.object.reset();
  rollout.view.target.fields.reset();
  rollout.settle();
  rollout.set_version("new", "580");
  EXPECT_EQ(rollout.settle(), "Pending");
  EXPECT_EQ(rollout.view.status.reason, "RollbackUnavailable");
  // Set back, they are recorded.
  rollout.set_version("old", "570");
  rollout.settle();
  rollout.set_version("new", "580");
  EXPECT_EQ(rollout.settle(), "Upgrading");
}

TEST(Restoring, UnknownVersionsAreNotEqual) {
  DriverRevision nothing;
  EXPECT_FALSE(nothing.same_as(nothing));
  EXPECT_FALSE(nothing.is_same_driver(nothing));
  EXPECT_FALSE(revision("a", "").is_same_driver(revision("b", "")));
  EXPECT_TRUE(revision("a", "").is_same_driver(revision("a", "")));
  EXPECT_TRUE(revision("a", "570").is_same_driver(revision("b", "570")));
  DriverRevision one = revision("a", "580");
  DriverRevision other = revision("b", "580");
  one.fields = fields_for("580");
  other.fields = fields_for("580");
  EXPECT_TRUE(one.is_same_driver(other));
  // The same version from another registry is another driver.
  other.fields->values["repository"] = "registry.corp";
  EXPECT_FALSE(one.is_same_driver(other));
}

TEST(Restoring, TheObjectIsWrittenOnceAndTheOperatorIsWaitedFor) {
  TestRollout rollout(3, two_waves);
  rollout.operator_waits = true;
  rollout.begin();
  rollout.fail_node(1);
  EXPECT_EQ(rollout.settle(), "RollingBack");
  EXPECT_EQ(rollout.view.status.reason, "Reverting");
  EXPECT_TRUE(rollout.view.status.restored);
  EXPECT_TRUE(rollout.view.status.closed);
  EXPECT_EQ(rollout.reverts, 1);
  rollout.now = rollout.now + hours(1);
  rollout.settle();
  EXPECT_EQ(rollout.reverts, 1);
  rollout.set_version("old", "570");
  rollout.settle();
  EXPECT_TRUE(rollout.is_open(0));
}

TEST(Restoring, ARefusedRestoreIsShownAndTriedAgain) {
  TestRollout rollout(3, two_waves);
  rollout.restoring.error = "clusterpolicies is forbidden";
  rollout.begin();
  rollout.fail_node(1);
  EXPECT_EQ(rollout.settle(), "RollingBack");
  EXPECT_EQ(rollout.view.status.reason, "RevertRefused");
  EXPECT_NE(rollout.view.status.message.find("clusterpolicies is forbidden"), std::string::npos);
  EXPECT_EQ(rollout.reverts, 1);
  // Its time has come.
  rollout.view.restore.reset();
  rollout.restoring.error.clear();
  rollout.settle();
  EXPECT_EQ(rollout.reverts, 2);
  EXPECT_TRUE(rollout.is_open(0));
}

// Its DaemonSet will have it, and the rollout goes by that.
TEST(Restoring, WhatAUserHasSetMeanwhileIsLeft) {
  TestRollout rollout(3, two_waves);
  rollout.begin();
  rollout.fail_node(1);
  rollout.set_object("590");
  EXPECT_EQ(rollout.settle(), "RollingBack");
  EXPECT_EQ(rollout.reverts, 0);
  EXPECT_NE(rollout.view.status.message.find("590"), std::string::npos);
  rollout.set_version("newest", "590");
  EXPECT_EQ(rollout.settle(), "Upgrading");
  EXPECT_EQ(rollout.view.status.to.version, "590");
  EXPECT_EQ(rollout.view.status.from.fields, fields_for("570"));
}

TEST(RejectedVersion, IsHeldWhenItIsAppliedAgainAndNoNodeStarts) {
  TestRollout rollout(3, two_waves);
  roll_back(rollout);
  ASSERT_EQ(rollout.view.status.rejected.size(), 1U);
  EXPECT_EQ(rollout.view.status.rejected[0].reason, "NodesFailed");
  // As another revision of the same image, too.
  for (const char* hash : {"new", "with another annotation"}) {
    rollout.set_version(hash, "580");
    EXPECT_EQ(rollout.settle(), "Held");
    EXPECT_EQ(rollout.view.status.reason, "RejectedVersion");
    EXPECT_NE(rollout.view.status.message.find("rollout retry driver"), std::string::npos);
    EXPECT_FALSE(rollout.is_open(0));
    EXPECT_TRUE(rollout.view.status.closed);
  }
  size_t entries = rollout.view.status.history.size();
  rollout.now = rollout.now + hours(8);
  rollout.settle();
  EXPECT_EQ(rollout.view.status.history.size(), entries);
  EXPECT_EQ(rollout.reverts, 1);
  // No deployer applies it any more.
  rollout.set_version("old", "570");
  EXPECT_EQ(rollout.settle(), "RolledBack");
}

// The operator was faster than the watch of the driver's object, and the tag alone names another
// version than the object.
TEST(RejectedVersion, IsRecognizedByItsImageBeforeTheObjectIsSeen) {
  TestRollout rollout(3, two_waves);
  rollout.settle();
  rollout.set_version("new", "580.1-corp1");
  rollout.settle();
  rollout.fail_node(1);
  rollout.settle();
  for (int i = 1; i <= 3; ++i) rollout.finish(i);
  ASSERT_EQ(rollout.settle(), "RolledBack");
  rollout.set_version("new again", "580.1");
  rollout.view.target.fields.reset();
  rollout.view.target_image = "nvcr.io/nvidia/driver:580.1-corp1-ubuntu24.04";
  EXPECT_EQ(rollout.settle(), "Held");
  EXPECT_EQ(rollout.view.status.reason, "RejectedVersion");
  rollout.command("retry");
  rollout.settle();
  rollout.view.object = rollout.view.target.fields = fields_for("580.1-corp1");
  EXPECT_EQ(rollout.settle(), "Upgrading") << "a user may allow it";
}

TEST(RejectedVersion, IsHeldInMidRollbackAndTheRollbackGoesOnAfterIt) {
  TestRollout rollout(3, two_waves);
  rollout.begin();
  rollout.fail_node(1);
  rollout.settle();
  ASSERT_EQ(rollout.phase(), "RollingBack");
  ASSERT_TRUE(rollout.is_open(0));
  rollout.set_version("new", "580");
  EXPECT_EQ(rollout.settle(), "Held");
  EXPECT_EQ(rollout.view.status.reason, "RejectedVersion");
  EXPECT_EQ(rollout.view.status.waves_to_return, 1);
  rollout.set_version("old", "570");
  EXPECT_EQ(rollout.settle(), "RollingBack");
  EXPECT_TRUE(rollout.is_open(0));
  for (int i = 1; i <= 3; ++i) rollout.finish(i);
  EXPECT_EQ(rollout.settle(), "RolledBack");
}

TEST(RejectedVersion, ARollbackInMidRollbackDoesNotAllowIt) {
  TestRollout rollout(3, two_waves);
  rollout.begin();
  rollout.fail_node(1);
  rollout.settle();
  rollout.set_version("new", "580");
  ASSERT_EQ(rollout.settle(), "Held");
  rollout.command("rollback");
  rollout.settle();
  EXPECT_NE(rollout.phase(), "Upgrading");
  EXPECT_FALSE(rollout.view.status.rejected.empty());
  for (int i = 1; i <= 3; ++i) rollout.finish(i);
  EXPECT_EQ(rollout.settle(), "RolledBack");
}

// A tool that sets it again before the operator has seen what was restored is not fought.
TEST(RejectedVersion, IsHeldWhenTheObjectIsChangedAgainBeforeTheOperatorFollows) {
  TestRollout rollout(3, two_waves);
  rollout.operator_waits = true;
  rollout.begin();
  rollout.fail_node(1);
  rollout.settle();
  ASSERT_TRUE(rollout.view.status.restored);
  rollout.view.object = fields_for("580");
  EXPECT_EQ(rollout.settle(), "Held");
  EXPECT_EQ(rollout.view.status.reason, "RejectedVersion");
  EXPECT_EQ(rollout.reverts, 1);
}

TEST(RejectedVersion, RetryAllowsItFromTheFirstWaveAndPromoteDoesNot) {
  TestRollout rollout(3, two_waves);
  roll_back(rollout);
  rollout.set_version("new", "580");
  rollout.settle();
  rollout.command("promote");
  EXPECT_EQ(rollout.settle(), "Held");
  rollout.command("retry");
  EXPECT_EQ(rollout.settle(), "Upgrading");
  EXPECT_TRUE(rollout.is_open(0));
  EXPECT_FALSE(rollout.is_open(1));
  EXPECT_TRUE(rollout.view.status.rejected.empty());
  const auto& history = rollout.view.status.history;
  EXPECT_TRUE(std::any_of(history.begin(), history.end(), [](const HistoryEntry& entry) {
    return entry.reason == "Retry" && entry.by == "alice";
  }));
}

TEST(RejectedVersion, AnotherVersionContinuesNormally) {
  TestRollout rollout(3, two_waves);
  roll_back(rollout);
  rollout.set_version("new", "580");
  rollout.settle();
  rollout.set_version("newer", "590");
  EXPECT_EQ(rollout.settle(), "Upgrading");
  EXPECT_EQ(rollout.view.status.to.version, "590");
  EXPECT_EQ(rollout.view.status.from.version, "570");
  EXPECT_TRUE(rollout.is_open(0));
}

// The rollout that it interrupted was of an annotation beside the version that the fleet runs.
TEST(RejectedVersion, LetsAnInterruptedChangeOfTheSameVersionGoOn) {
  TestRollout rollout(3, two_waves);
  roll_back(rollout);
  rollout.set_version("annotated", "570");
  ASSERT_EQ(rollout.settle(), "Upgrading");
  rollout.set_version("new", "580");
  ASSERT_EQ(rollout.settle(), "Held");
  rollout.set_version("annotated", "570");
  EXPECT_EQ(rollout.settle(), "Upgrading");
  EXPECT_TRUE(rollout.is_open(0));
}

TEST(RejectedVersion, RollbackRestoresTheObjectOnceMore) {
  TestRollout rollout(3, two_waves);
  roll_back(rollout);
  rollout.set_version("new", "580");
  rollout.settle();
  rollout.command("rollback");
  rollout.settle();
  EXPECT_EQ(rollout.reverts, 2);
  EXPECT_EQ(rollout.restored, fields_for("570"));
  EXPECT_EQ(rollout.settle(), "RolledBack");
}

// The object's watch was behind when it began.
TEST(RejectedVersion, IsKnownByWhatTheObjectSaysLater) {
  TestRollout rollout(3, std::string(two_waves) + "  onFailure: Hold\n");
  rollout.settle();
  rollout.set_version("new", "580");
  rollout.view.target.fields.reset();
  rollout.view.target.version = "driver:580-6.8.0-ubuntu24.04";
  ASSERT_EQ(rollout.settle(), "Upgrading");
  rollout.command("rollback");
  rollout.step();
  ASSERT_FALSE(rollout.view.status.rejected.at(0).driver.fields);
  rollout.set_target("new", "580");
  rollout.settle();
  EXPECT_EQ(rollout.view.status.rejected.at(0).driver.fields, fields_for("580"));
  EXPECT_EQ(rollout.view.status.rejected.at(0).driver.version, "580");
}

// What a user sets back by hand was not rejected.
TEST(RejectedVersion, IsNotOneThatAUserReplacedByHand) {
  TestRollout rollout(3, two_waves);
  rollout.begin();
  rollout.set_version("old", "570");
  EXPECT_EQ(rollout.settle(), "RolledBack");
  rollout.set_version("new", "580");
  EXPECT_EQ(rollout.settle(), "Upgrading");
}

// Also where the user set the version before by hand and asked for the rollback, whichever of the
// two the controller sees first.
TEST(RejectedVersion, IsOneForWhichAUserAskedForTheRollbackAndSetTheOldVersion) {
  for (bool command_is_seen_first : {true, false}) {
    TestRollout rollout(3, two_waves);
    rollout.begin();
    if (command_is_seen_first) rollout.command("rollback");
    rollout.set_version("old", "570");
    if (!command_is_seen_first) {
      rollout.step();
      ASSERT_EQ(rollout.phase(), "RollingBack");
      ASSERT_TRUE(rollout.view.status.rejected.empty());
      rollout.command("rollback");
    }
    EXPECT_EQ(rollout.settle(), "RolledBack");
    ASSERT_EQ(rollout.view.status.rejected.size(), 1U) << command_is_seen_first;
    EXPECT_EQ(rollout.view.status.rejected[0].reason, "RollbackAsked");
    EXPECT_EQ(rollout.reverts, 0);
    rollout.set_version("new", "580");
    EXPECT_EQ(rollout.settle(), "Held");
    EXPECT_EQ(rollout.view.status.reason, "RejectedVersion");
    rollout.command("retry");
    EXPECT_EQ(rollout.settle(), "Upgrading");
  }
}

// The version that the fleet runs is not rejected with a change of something else beside it.
TEST(RejectedVersion, IsNotTheSameDriverWithAnotherAnnotation) {
  TestRollout rollout(3, two_waves);
  rollout.settle();
  rollout.set_version("annotated", "570");
  ASSERT_EQ(rollout.settle(), "Upgrading");
  rollout.set_version("old", "570");
  rollout.command("rollback");
  for (int i = 1; i <= 3; ++i) rollout.finish(i);
  EXPECT_EQ(rollout.settle(), "RolledBack");
  EXPECT_TRUE(rollout.view.status.rejected.empty());
}

TEST(RejectedVersion, TheListIsBounded) {
  RolloutStatus status;
  for (int i = 0; i < 30; ++i) {
    reject(status, revision(fmt::format("r{}", i), fmt::format("{}", 500 + i)),
           Time::from_unix(1'800'000'000), Reason::gate_failed);
  }
  EXPECT_EQ(status.rejected.size(), most_rejected);
  EXPECT_EQ(status.rejected.back().driver.version, "529");
  // Once each.
  reject(status, revision("r29", "529"), Time::from_unix(1'800'000'001), Reason::bake_failed);
  EXPECT_EQ(status.rejected.size(), most_rejected);
  EXPECT_EQ(status.rejected.back().reason, "BakeFailed");
  // As it comes back from the cluster.
  EXPECT_EQ(read_rollout_status(JsonObject{{"status", rollout_status_to_json(status)}}).rejected,
            status.rejected);
}

TEST(Restoring, SaysWhatItCannotRestore) {
  RolloutSpec asked;
  EXPECT_EQ(obstacle_to_restore(asked), "");
  asked.driver.kind = DriverKind::daemon_set;
  EXPECT_NE(obstacle_to_restore(asked), "");
  asked.driver.kind = DriverKind::cluster_policy;
  asked.matrix = MatrixPlace{"https://git.example/matrix", "main", "matrix.yaml"};
  EXPECT_NE(obstacle_to_restore(asked).find("Git"), std::string::npos);
}

}  // namespace
}  // namespace lockstep::rollout::restoring_test
