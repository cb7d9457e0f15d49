#include "sim/actors/git_checkout.h"

#include <gtest/gtest.h>

#include "git/git_test_util.h"
#include "world/virtual_loop.h"

namespace lockstep::sim::git_checkout_test {
namespace {

TEST(GitCheckout, FollowsABranchOfAGenuineRepository) {
  const git::Repositories places;
  places.make_remote("driver: 560\n");
  git::Session session(places);
  VirtualLoop loop(1);
  GitCheckout checkout(loop, session.program, places / "remote.git", "main");
  const GitRevision first = checkout.fetch().value();
  EXPECT_EQ(first.id, places.sh("git -C remote.git rev-parse main"));
  EXPECT_EQ(first.files, (GitFiles{{git::matrix_path, "driver: 560\n"}})) << "no README";
  places.push_by_another("driver: 570\n");
  const GitRevision second = checkout.fetch().value();
  EXPECT_NE(second.id, first.id);
  EXPECT_EQ(second.files.at(git::matrix_path), "driver: 570\n");
}

TEST(GitCheckout, ARepositoryThatIsNotThereIsAnError) {
  const git::Repositories places;
  git::Session session(places);
  VirtualLoop loop(1);
  GitCheckout checkout(loop, session.program, places / "nowhere.git", "main");
  bool answered = false;
  checkout.latest([&](const Result<GitRevision>& revision) {
    answered = true;
    EXPECT_FALSE(revision);
  });
  loop.run_for(seconds(1));
  EXPECT_TRUE(answered);
}

}  // namespace
}  // namespace lockstep::sim::git_checkout_test
