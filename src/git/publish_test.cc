#include "git/publish.h"

#include <gtest/gtest.h>

#include "git/git_test_util.h"

namespace lockstep::git::publish_test {
namespace {

// Adds a line to whatever is there.
Stage append(const std::string& line) {
  return [line](Clone& clone) -> Result<std::string> {
    LOCKSTEP_TRY(const std::string text, clone.read(matrix_path));
    LOCKSTEP_CHECK(clone.stage(matrix_path, text + line));
    return std::string("message");
  };
}

TEST(Publish, OneChangeIsOneCommit) {
  const Repositories places;
  places.make_remote();
  Session session(places);
  auto clone = session.open(places / "work");
  ASSERT_TRUE(clone);
  const Published published = publish(**clone, append("more: 1\n")).value();
  EXPECT_EQ(published.tries, 1);
  EXPECT_EQ(published.commit, places.sh("git -C remote.git rev-parse main"));
  EXPECT_NE(published.diff.find("\n+more: 1\n"), std::string::npos) << published.diff;
  EXPECT_EQ(places.in_remote(), "driver: 560\nmore: 1");
  // The user's directory is as it was.
  EXPECT_EQ(places.sh("cat work/" + matrix_path), "driver: 560");
  EXPECT_EQ(places.sh("git -C work status --porcelain"), "");
}

TEST(Publish, ADryRunShowsTheDiffAndChangesNothing) {
  const Repositories places;
  places.make_remote();
  Session session(places);
  auto clone = session.open(places / "remote.git");
  ASSERT_TRUE(clone);
  const Published published = publish(**clone, append("more: 1\n"), {.dry_run = true}).value();
  EXPECT_EQ(published.commit, "");
  EXPECT_NE(published.diff.find("+more: 1"), std::string::npos);
  EXPECT_EQ(places.in_remote(), "driver: 560");
}

TEST(Publish, NothingToChangeIsNoCommit) {
  const Repositories places;
  places.make_remote();
  Session session(places);
  auto clone = session.open(places / "remote.git");
  ASSERT_TRUE(clone);
  const Published published = publish(**clone, append("")).value();
  EXPECT_EQ(published.commit, "");
  EXPECT_EQ(published.diff, "");
  EXPECT_EQ(places.sh("git -C remote.git rev-list --count main"), "1");
}

TEST(Publish, WhenSomebodyIsFasterItIsDoneAgainOnWhatIsThereThen) {
  const Repositories places;
  places.make_remote();
  Session session(places);
  auto clone = session.open(places / "remote.git");
  ASSERT_TRUE(clone);
  int calls = 0;
  const Published published = publish(**clone, [&](Clone& ours) -> Result<std::string> {
                                auto message = append("ours: 1\n")(ours);
                                if (++calls <= 2) {
                                  places.push_by_another("theirs: " + std::to_string(calls) + "\n");
                                }
                                return message;
                              }).value();
  EXPECT_EQ(published.tries, 3);
  EXPECT_EQ(places.in_remote(), "theirs: 2\nours: 1");
  EXPECT_EQ(places.sh("git -C remote.git rev-list --count main"), "4");
}

TEST(Publish, TriesAreBoundedAndNothingIsForced) {
  const Repositories places;
  places.make_remote();
  Session session(places);
  auto clone = session.open(places / "remote.git");
  ASSERT_TRUE(clone);
  int calls = 0;
  const auto published =
      publish(**clone,
              [&](Clone& ours) -> Result<std::string> {
                auto message = append("ours: 1\n")(ours);
                places.push_by_another("theirs: " + std::to_string(++calls) + "\n");
                return message;
              },
              {.tries = 3});
  ASSERT_FALSE(published);
  EXPECT_EQ(published.error().kind, ErrorKind::conflict);
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(places.in_remote(), "theirs: 3");
}

TEST(Publish, AChangeThatNoLongerFitsIsAnErrorOfItsOwn) {
  const Repositories places;
  places.make_remote();
  Session session(places);
  auto clone = session.open(places / "remote.git");
  ASSERT_TRUE(clone);
  const auto published = publish(**clone, [&](Clone& ours) -> Result<std::string> {
    LOCKSTEP_TRY(const std::string text, ours.read(matrix_path));
    if (text != "driver: 560\n") return fail(ErrorKind::conflict, "it changed");
    LOCKSTEP_CHECK(ours.stage(matrix_path, "driver: 565\n"));
    places.push_by_another("driver: 570\n");
    return std::string("x");
  });
  ASSERT_FALSE(published);
  EXPECT_EQ(published.error().message, "it changed");
  EXPECT_EQ(places.in_remote(), "driver: 570");
}

}  // namespace
}  // namespace lockstep::git::publish_test
