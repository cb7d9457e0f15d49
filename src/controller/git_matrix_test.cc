#include "controller/git_matrix.h"

#include <filesystem>
#include <optional>

#include <gtest/gtest.h>

#include "base/patience_test_util.h"
#include "git/git_test_util.h"
#include "rollout/matrix_file.h"

namespace lockstep::controller::git_matrix_test {
namespace {

std::string matrix(const std::string& current, const std::string& canary) {
  return "# versions\nversions:\n  current:\n    driver: \"" + current +
         "\"\n    status: production\n  canary:\n    driver: \"" + canary +
         "\"\n    status: \"\"\n";
}

struct Place : git::Repositories {
  Place() {
    make_remote(matrix("560", ""));
    push_by_another(matrix("560", "570"));
  }
  GitMatrixOptions options() const {
    GitMatrixOptions options;
    options.environment = environment();
    options.allowed =
        git::AllowedRepositories::read({*this / "remote.git"}, git::Local::accepted).value();
    return options;
  }
  MatrixCommit order(rollout::GitStep step, const std::string& version = "570") const {
    rollout::Evidence evidence;
    evidence.lines = {"gate training of canary: Passed, 1 nodes"};
    evidence.rollout = "driver";
    return {step, {*this / "remote.git", "main", git::matrix_path}, version, evidence};
  }
  Result<std::string> now(const MatrixCommit& commit) const {
    SystemProcesses processes;
    return GitMatrix::commit_now(processes, options(), commit);
  }
  std::string message() const { return sh("git -C remote.git log -1 --format=%B main"); }
};

TEST(GitMatrix, PromotesWithTheEvidenceAndOnlyOnce) {
  const Place place;
  const std::string commit = place.now(place.order(rollout::GitStep::promote)).value();
  EXPECT_EQ(commit, place.sh("git -C remote.git rev-parse main"));
  EXPECT_EQ(
      rollout::parse_matrix(place.in_remote() + "\n", "m")->value(rollout::Slot::current, "driver"),
      "570");
  EXPECT_NE(place.message().find("- gate training of canary: Passed"), std::string::npos);
  EXPECT_NE(place.message().find("Rollout: driver"), std::string::npos);
  EXPECT_EQ(place.now(place.order(rollout::GitStep::promote)).value(), commit) << "asked again";
  EXPECT_EQ(place.sh("git -C remote.git rev-list --count main"), "3");
  EXPECT_TRUE(place.left_nothing());
}

TEST(GitMatrix, TakesBackACanary) {
  const Place place;
  const std::string bad = place.sh("git -C remote.git rev-parse main");
  const std::string commit = place.now(place.order(rollout::GitStep::take_back)).value();
  EXPECT_EQ(place.in_remote() + "\n", matrix("560", ""));
  EXPECT_NE(place.message().find("This reverts commit " + bad), std::string::npos);
  EXPECT_EQ(place.now(place.order(rollout::GitStep::take_back)).value(), no_commit)
      << "asked again";
  EXPECT_EQ(place.sh("git -C remote.git rev-parse main"), commit);
}

TEST(GitMatrix, TakesBackAPromotionTogetherWithItsCanaryInOneCommit) {
  const Place place;
  ASSERT_TRUE(place.now(place.order(rollout::GitStep::promote)));
  ASSERT_TRUE(place.now(place.order(rollout::GitStep::take_back)));
  EXPECT_EQ(place.in_remote() + "\n", matrix("560", ""));
  EXPECT_EQ(place.sh("git -C remote.git rev-list --count main"), "4");
}

TEST(GitMatrix, AConflictIsAnErrorThatDoesNotPassAndNothingIsPushed) {
  const Place place;
  place.push_by_another(
      "# versions\nversions:\n  current:\n    driver: \"560\"\n    status: "
      "production\n  canary:\n    driver: \"570\" # looks good\n    status: \"\"\n");
  const std::string before = place.sh("git -C remote.git rev-parse main");
  const auto taken = place.now(place.order(rollout::GitStep::take_back));
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().kind, ErrorKind::conflict) << taken.error().text();
  EXPECT_FALSE(may_pass(taken.error()));
  const auto other = place.now(place.order(rollout::GitStep::promote, "999"));
  ASSERT_FALSE(other);
  EXPECT_FALSE(may_pass(other.error()));
  EXPECT_EQ(place.sh("git -C remote.git rev-parse main"), before);
  EXPECT_TRUE(may_pass({ErrorKind::unreachable, "the host does not answer", ""}));
}

TEST(GitMatrix, ACommitOfTheControllerHasItsNameAndNotTheAccounts) {
  const Place place;
  ASSERT_TRUE(place.now(place.order(rollout::GitStep::promote)));
  EXPECT_EQ(place.sh("git -C remote.git log -1 --format=%an main"), "Lockstep");
}

// A hook or a setting of the account could be anything, and would run with what git knows.
TEST(GitMatrix, SettingsAndHooksOfTheAccountAreNotUsed) {
  const Place place;
  place.sh("mkdir hooks; printf '#!/bin/sh\ntouch " + (place / "ran") +
           "\n' > hooks/pre-commit; chmod +x hooks/pre-commit; "
           "git config --file home/.gitconfig core.hooksPath " +
           (place / "hooks"));
  ASSERT_TRUE(place.now(place.order(rollout::GitStep::promote)));
  EXPECT_FALSE(std::filesystem::exists(place / "ran"));
}

TEST(GitMatrix, ARepositoryThatIsNotAllowedIsRefusedAndNotAskedFor) {
  const Place place;
  EventLoop loop;
  GitMatrixOptions options = place.options();
  options.allowed = git::AllowedRepositories::read({"https://git.example.com/team/"}).value();
  const GitMatrix store(loop, options);
  rollout::RolloutSpec spec;
  EXPECT_EQ(store.refusal(spec), "") << "without a matrix";
  MatrixCommit commit = place.order(rollout::GitStep::promote);
  for (const std::string& repository :
       {place / "remote.git", std::string("https://evil.example.com/team/matrix"),
        std::string("https://git.example.com/teams/matrix"),
        std::string("https://git.example.com/team/../other/matrix"),
        std::string("http://git.example.com/team/matrix"), std::string("--upload-pack=evil")}) {
    spec.matrix = commit.place;
    spec.matrix->repository = repository;
    EXPECT_NE(store.refusal(spec), "") << repository;
    commit.place.repository = repository;
    SystemProcesses processes;
    const auto made = GitMatrix::commit_now(processes, options, commit);
    ASSERT_FALSE(made) << repository;
    EXPECT_FALSE(may_pass(made.error())) << repository;
  }
  spec.matrix->repository = "https://git.example.com/team/matrix";
  EXPECT_EQ(store.refusal(spec), "");
  EXPECT_TRUE(place.left_nothing());
}

TEST(GitMatrix, AnswersOnTheLoopAndEndsWhatRunsWhenItGoes) {
  const Place place;
  EventLoop loop;
  std::optional<Result<std::string>> answer;
  {
    GitMatrix store(loop, place.options());
    rollout::RolloutSpec spec;
    spec.matrix = place.order(rollout::GitStep::promote).place;
    EXPECT_EQ(store.obstacle(spec), "");
    store.commit(place.order(rollout::GitStep::promote),
                 [&](Result<std::string> made) { answer = std::move(made); });
    EXPECT_FALSE(answer.has_value());
    ASSERT_TRUE(loop.run_until([&] { return answer.has_value(); }, test_patience));
    EXPECT_TRUE(*answer);
    answer.reset();
    store.commit(place.order(rollout::GitStep::take_back),
                 [&](Result<std::string> made) { answer = std::move(made); });
  }
  loop.run_until([&] { return answer.has_value(); }, milliseconds(50));
  EXPECT_FALSE(answer.has_value()) << "nobody is there any more to hear it";
}

}  // namespace
}  // namespace lockstep::controller::git_matrix_test
