#include "controller/matrix_log.h"

#include <filesystem>
#include <optional>

#include <gtest/gtest.h>

#include "base/patience_test_util.h"
#include "git/git_test_util.h"

namespace lockstep::controller::matrix_log_test {
namespace {

using rollout::MatrixReport;
using rollout::Slot;

std::string matrix(const std::string& current, const std::string& canary) {
  return "versions:\n  current:\n    driver: \"" + current + "\"\n  canary:\n    driver: \"" +
         canary + "\"\n";
}

struct Place : git::Repositories {
  Place() {
    make_remote(matrix("560", ""));
    push_by_another(matrix("560", "570"));
  }
  MatrixLogOptions options() const {
    MatrixLogOptions options;
    options.environment = environment();
    return options;
  }
  rollout::MatrixPlace place() const { return {*this / "remote.git", "main", git::matrix_path}; }
};

TEST(MatrixLog, SaysWhoMovedWhichVersion) {
  const Place place;
  EventLoop loop;
  MatrixLog log(loop, place.options());
  const MatrixReport report = log.read_now(place.place()).value();
  EXPECT_EQ(report.branch, "main");
  EXPECT_EQ(report.commit, place.sh("git -C remote.git rev-parse main"));
  EXPECT_EQ(report.matrix.value(Slot::canary, "driver"), "570");
  ASSERT_EQ(report.entries.size(), 2U);
  EXPECT_EQ(report.entries[0].author, "Bob");
  EXPECT_EQ(report.entries[0].commit, report.commit);
  EXPECT_TRUE(report.entries[0].at.is_set());
  ASSERT_EQ(report.entries[0].changes.size(), 1U);
  EXPECT_EQ(report.entries[0].changes[0],
            (rollout::MatrixChange{Slot::canary, "driver", "", "570"}));
  // The first commit brought the file itself.
  ASSERT_FALSE(report.entries[1].changes.empty());
  EXPECT_EQ(report.entries[1].changes[0],
            (rollout::MatrixChange{Slot::current, "driver", "", "560"}));
  EXPECT_FALSE(report.has_older);
}

TEST(MatrixLog, ASecondLookSeesWhatCameAndARevertSaysWhatItTakesBack) {
  const Place place;
  EventLoop loop;
  MatrixLog log(loop, place.options());
  const std::string bad = log.read_now(place.place()).value().commit;
  place.sh("cd work; git pull -q; git revert --no-edit HEAD; git push -q");
  const MatrixReport report = log.read_now(place.place()).value();
  ASSERT_EQ(report.entries.size(), 3U);
  EXPECT_EQ(report.entries[0].takes_back, std::vector<std::string>{bad});
  EXPECT_EQ(report.entries[0].changes.at(0),
            (rollout::MatrixChange{Slot::canary, "driver", "570", ""}));
  EXPECT_EQ(report.entries[1].changes.at(0).after, "570");
}

TEST(MatrixLog, AnOlderPastIsLeftOutAndSaid) {
  const Place place;
  EventLoop loop;
  MatrixLogOptions options = place.options();
  options.entries = 1;
  MatrixLog log(loop, options);
  const MatrixReport report = log.read_now(place.place()).value();
  EXPECT_EQ(report.entries.size(), 1U);
  EXPECT_TRUE(report.has_older);
}

TEST(MatrixLog, ACloneThatWasSweptAwayIsMadeAgainAndNothingIsLeftAtTheEnd) {
  const Place place;
  EventLoop loop;
  {
    MatrixLog log(loop, place.options());
    ASSERT_TRUE(log.read_now(place.place()));
    for (const auto& entry : std::filesystem::directory_iterator(place / "temporary")) {
      std::filesystem::remove_all(entry.path());
    }
    EXPECT_EQ(log.read_now(place.place()).value().entries.size(), 2U);
  }
  EXPECT_TRUE(place.left_nothing());
}

TEST(MatrixLog, WhatCannotBeReadIsAnError) {
  const Place place;
  EventLoop loop;
  MatrixLog log(loop, place.options());
  EXPECT_FALSE(log.read_now({place / "nowhere.git", "main", git::matrix_path}));
  EXPECT_FALSE(log.read_now({"ext::sh -c true", "main", git::matrix_path}));
  EXPECT_FALSE(log.read_now({place / "remote.git", "main", "../outside"}));
  EXPECT_EQ(log.read_now({place / "remote.git", "main", "other.yaml"}).error().kind,
            ErrorKind::not_found);
}

TEST(MatrixLog, AnswersOnTheLoop) {
  const Place place;
  EventLoop loop;
  MatrixLog log(loop, place.options());
  std::optional<Result<MatrixReport>> answer;
  log.read(place.place(), [&](Result<MatrixReport> report) { answer = std::move(report); });
  EXPECT_FALSE(answer.has_value());
  ASSERT_TRUE(loop.run_until([&] { return answer.has_value(); }, test_patience));
  EXPECT_TRUE(*answer);
}

}  // namespace
}  // namespace lockstep::controller::matrix_log_test
