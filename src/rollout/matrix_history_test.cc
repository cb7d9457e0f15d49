#include "rollout/matrix_history.h"

#include <map>

#include <gtest/gtest.h>

#include "rollout/matrix_message.h"

namespace lockstep::rollout::matrix_history_test {
namespace {

std::string matrix(const std::string& current, const std::string& canary,
                   const std::string& status = "production") {
  return "versions:\n  current: {driver: \"" + current + "\", status: " + status +
         "}\n  canary: {driver: \"" + canary + "\"}\n";
}

// The newest first, as git log has them.
struct History {
  std::vector<MatrixCommit> commits;
  std::map<std::string, MatrixTexts> texts;
  int reads = 0;

  void add(const std::string& id, const std::string& message, const std::string& text) {
    const std::string before = commits.empty() ? "" : texts[commits.front().id].after;
    commits.insert(commits.begin(), {id, message});
    texts[id] = {before, text};
  }
  Result<BringingCommit> find(std::string_view version = "") {
    return find_bringing_commit(
        commits,
        [this](const MatrixCommit& commit) -> Result<MatrixTexts> {
          ++reads;
          return texts.at(commit.id);
        },
        version);
  }
};

History usual() {
  History history;
  history.add("a1", "first", matrix("560", ""));
  history.add("a2", "canary", matrix("560", "570"));
  history.add("a3", "promote", matrix("570", ""));
  history.add("a4", "status only", matrix("570", "", "stable"));
  history.add("a5", "a comment", "# more\n" + matrix("570", "", "stable"));
  return history;
}

TEST(MatrixHistory, TheLastChangeOfAVersionIsTakenBack) {
  History history = usual();
  const BringingCommit found = history.find().value();
  EXPECT_EQ(found.commit.id, "a3");
  EXPECT_EQ(found.changes.size(), 2U);
  EXPECT_EQ(history.reads, 3) << "no more than needed is read";
}

TEST(MatrixHistory, AVersionMayBeNamed) {
  History history = usual();
  EXPECT_EQ(history.find("570").value().commit.id, "a3");
  EXPECT_EQ(history.find("560").value().commit.id, "a1");
  EXPECT_EQ(history.find("999").error().kind, ErrorKind::not_found);
}

TEST(MatrixHistory, ARevertIsNotRevertedUnlessAPersonNamesTheVersion) {
  History history = usual();
  history.add("a6", revert_message("a3", "promote", {}, {}), matrix("560", "570"));
  const auto again = history.find();
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().kind, ErrorKind::conflict);
  EXPECT_NE(again.error().text().find("--version"), std::string::npos);
  EXPECT_EQ(history.find("570").value().commit.id, "a6") << "which brought it back to the canary";
}

TEST(MatrixHistory, AVersionIsFoundInTheKeyThatHasIt) {
  auto read = [](const char* text) { return parse_matrix(text, "matrix").value(); };
  const Matrix both = read(
      "versions:\n  current: {cuda: \"13\", driver: \"580\", status: \"99\"}\n"
      "  canary: {firmware: \"13\"}\n");
  EXPECT_EQ(find_version(both, "580")->key, "driver");
  EXPECT_EQ(find_version(both, "13")->key, "cuda");
  EXPECT_FALSE(find_version(both, "99")) << "a status is no version";
  EXPECT_FALSE(find_version(both, "570"));
}

TEST(MatrixHistory, OnlyAPromotionBringsAVersionToCurrent) {
  using Changes = std::vector<MatrixChange>;
  const Changes promotion = {{Slot::current, "cuda", "12", "13"},
                             {Slot::current, "driver", "570", "580"},
                             {Slot::canary, "driver", "580", ""}};
  EXPECT_EQ(promoted_version(promotion)->version, "580");
  EXPECT_FALSE(promoted_version(Changes{{Slot::canary, "driver", "", "580"}}));
  EXPECT_FALSE(promoted_version(Changes{{Slot::current, "status", "", "production"}}));
}

TEST(MatrixHistory, AFileThatWasNoMatrixCountsAsEmpty) {
  History history;
  history.add("b1", "broken", "versions: [\n");
  history.add("b2", "mended", matrix("560", ""));
  EXPECT_EQ(history.find().value().commit.id, "b2");
}

TEST(MatrixHistory, WithoutAnyChangeThereIsNothingToTakeBack) {
  History history;
  EXPECT_EQ(history.find().error().kind, ErrorKind::not_found);
}

}  // namespace
}  // namespace lockstep::rollout::matrix_history_test
