// Rollouts whose version is stored in a matrix in Git.
#include <gtest/gtest.h>

#include "rollout/rollout_test_util.h"

namespace lockstep::rollout::decide_rollout_git_test {
namespace {

constexpr const char* with_matrix = R"(
  matrix: {repo: "https://git.example/matrix"}
  waves:
    - {name: canary, nodes: {count: 1}}
    - {name: tenth, nodes: {count: 1}}
    - {name: rest, nodes: {rest: true}}
)";

// As far as the wave before the last, which has passed.
TestRollout before_the_last() {
  TestRollout rollout(4, with_matrix);
  rollout.begin();
  rollout.finish(1);
  rollout.settle();
  EXPECT_TRUE(rollout.commits.empty()) << "the canary is not the wave before the last";
  rollout.finish(2);
  return rollout;
}

TEST(DecideRolloutInGit, TheVersionBecomesEverybodysBeforeTheLastWaveOpens) {
  TestRollout rollout = before_the_last();
  while (rollout.commits.empty()) rollout.step();
  EXPECT_EQ(rollout.view.status.open_waves, 2);
  EXPECT_EQ(rollout.commits.front().step, GitStep::promote);
  EXPECT_EQ(rollout.commits.front().version, "580");
  ASSERT_EQ(rollout.commits.front().evidence.lines.size(), 2U);
  EXPECT_NE(rollout.commits.front().evidence.lines[0].find("wave canary: Passed"),
            std::string::npos);
  EXPECT_EQ(rollout.settle(), "Upgrading");
  EXPECT_EQ(rollout.view.status.open_waves, 3);
  EXPECT_EQ(rollout.view.status.promote_commit, "c0ffee");
  rollout.finish(3);
  rollout.finish(4);
  EXPECT_EQ(rollout.settle(), "Complete");
  EXPECT_EQ(rollout.commits.size(), 1U) << "once";
}

TEST(DecideRolloutInGit, APromotionThatGitRefusesHoldsAndIsTriedAgainByAPerson) {
  TestRollout rollout = before_the_last();
  rollout.answer = {GitStep::promote, "", "somebody changed the same lines", false};
  EXPECT_EQ(rollout.settle(), "Held");
  EXPECT_EQ(rollout.view.status.reason, "PromotionFailed");
  EXPECT_NE(rollout.view.status.message.find("the same lines"), std::string::npos);
  EXPECT_EQ(rollout.view.status.open_waves, 2);
  EXPECT_EQ(rollout.view.status.waves[1].verdict, Outcome::passed) << "the wave itself is well";
  rollout.answer = {GitStep::promote, "c0ffee", "", false};
  rollout.command("promote");
  EXPECT_EQ(rollout.settle(), "Upgrading");
  EXPECT_EQ(rollout.view.status.open_waves, 3);
}

TEST(DecideRolloutInGit, WhatIsTriedAgainByItselfWaits) {
  TestRollout rollout = before_the_last();
  rollout.answer = {GitStep::promote, "", "the host does not answer", true};
  EXPECT_EQ(rollout.settle(), "Promoting");
  EXPECT_EQ(rollout.view.status.message, "the host does not answer");
  EXPECT_EQ(rollout.commits.size(), 1U);
  // The controller forgets the answer when it is time.
  rollout.view.git.reset();
  rollout.answer = {GitStep::promote, "c0ffee", "", false};
  EXPECT_EQ(rollout.settle(), "Upgrading");
}

TestRollout with_failed_canary() {
  TestRollout rollout(4, with_matrix);
  rollout.begin();
  rollout.fail_node(1);
  return rollout;
}

TEST(DecideRolloutInGit, AFailedWaveIsTakenBackByACommitAndWaitsForTheSync) {
  TestRollout rollout = with_failed_canary();
  EXPECT_EQ(rollout.settle(), "RollingBack");
  ASSERT_EQ(rollout.commits.size(), 1U);
  EXPECT_EQ(rollout.commits[0].step, GitStep::take_back);
  EXPECT_EQ(rollout.commits[0].version, "580");
  EXPECT_NE(rollout.commits[0].evidence.reason.find("gpu-1"), std::string::npos);
  EXPECT_EQ(rollout.reverts, 0) << "the object is Git's";
  EXPECT_EQ(rollout.view.status.revert_commit, "c0ffee");
  EXPECT_EQ(rollout.view.status.reason, "AwaitingSync");
  EXPECT_TRUE(rollout.view.status.closed);
  rollout.set_version("old", "570");
  rollout.settle();
  EXPECT_TRUE(rollout.is_open(0));
  rollout.finish(1);
  EXPECT_EQ(rollout.settle(), "RolledBack");
  EXPECT_EQ(rollout.commits.size(), 1U);
}

TEST(DecideRolloutInGit, TheCommitIsNotedEvenWhenTheClusterWasFaster) {
  TestRollout rollout = with_failed_canary();
  while (rollout.commits.empty()) rollout.step();
  rollout.set_version("old", "570");
  rollout.settle();
  EXPECT_EQ(rollout.view.status.revert_commit, "c0ffee");
  EXPECT_TRUE(rollout.is_open(0));
}

TEST(DecideRolloutInGit, ARevertThatCannotBeMadeHoldsWithItsReason) {
  TestRollout rollout = with_failed_canary();
  rollout.answer = {GitStep::take_back, "", "later commits changed the same lines", false};
  EXPECT_EQ(rollout.settle(), "Held");
  EXPECT_EQ(rollout.view.status.reason, "RevertFailed");
  EXPECT_NE(rollout.view.status.message.find("later commits"), std::string::npos);
  rollout.command("retry");
  rollout.node(1).state = fleet::State::required;
  EXPECT_EQ(rollout.settle(), "Held") << "still";
  EXPECT_EQ(rollout.commits.size(), 2U);
  EXPECT_FALSE(rollout.is_open(0)) << "nobody begins with the bad version meanwhile";
  // A user reverts it manually.
  rollout.set_version("old", "570");
  rollout.settle();
  EXPECT_EQ(rollout.phase(), "RollingBack");
  EXPECT_TRUE(rollout.is_open(0));
}

TEST(DecideRolloutInGit, AStepThatNothingLeadsBackFromIsNotBegun) {
  TestRollout rollout(4, with_matrix);
  rollout.checked = {GitStep::check, "", "firmware 28.42 comes with driver 580", true};
  EXPECT_EQ(rollout.begin(), "Pending");
  EXPECT_EQ(rollout.view.status.reason, "RollbackUnavailable");
  EXPECT_EQ(rollout.view.status.message, "firmware 28.42 comes with driver 580");
  EXPECT_EQ(rollout.checks, 1);
  // A user changes the matrix; the controller forgets its answer after a while.
  rollout.checked = {GitStep::check, "none", "", false};
  rollout.view.git.reset();
  EXPECT_EQ(rollout.settle(), "Upgrading");
  EXPECT_EQ(rollout.checks, 2);
}

// Also where there is nothing to roll back: a promotion would be a commit there.
TEST(DecideRolloutInGit, ARepositoryThatIsNotAllowedIsNotBegunWith) {
  for (const char* failure : {"  onFailure: RollBack\n", "  onFailure: Hold\n"}) {
    TestRollout rollout(4, std::string(with_matrix) + failure);
    rollout.view.refused_repository = "the repository https://evil/x is not on the list";
    EXPECT_EQ(rollout.begin(), "Pending") << failure;
    EXPECT_EQ(rollout.view.status.reason, "RepositoryNotAllowed");
    EXPECT_NE(rollout.view.status.message.find("https://evil/x"), std::string::npos);
    EXPECT_EQ(rollout.checks, 0) << "git is not asked";
    rollout.view.refused_repository.clear();
    EXPECT_EQ(rollout.settle(), "Upgrading");
  }
}

TEST(DecideRolloutInGit, TheAnswerForAnotherVersionIsNone) {
  TestRollout rollout(4, with_matrix);
  rollout.settle();
  rollout.view.git = GitOutcome{GitStep::check, "none", "", false, "575"};
  rollout.set_version("new", "580");
  rollout.settle();
  EXPECT_EQ(rollout.checks, 1);
}

TEST(DecideRolloutInGit, WhoHoldsOnFailureNeedsNoRollback) {
  TestRollout rollout(4, std::string(with_matrix) + "  onFailure: Hold\n");
  EXPECT_EQ(rollout.begin(), "Upgrading");
  EXPECT_EQ(rollout.checks, 0);
}

TEST(DecideRolloutInGit, WithoutAMatrixTheObjectIsSetBack) {
  TestRollout rollout(4, "  waves:\n    - {name: canary, nodes: {count: 1}}\n");
  rollout.begin();
  rollout.fail_node(1);
  rollout.settle();
  EXPECT_EQ(rollout.reverts, 1);
  EXPECT_TRUE(rollout.commits.empty());
}

}  // namespace
}  // namespace lockstep::rollout::decide_rollout_git_test
