#include "sim/actors/git_repository.h"

#include <optional>

#include <gtest/gtest.h>

#include "world/virtual_loop.h"

namespace lockstep::sim::git_repository_test {
namespace {

TEST(MemoryRepository, ARevertRestoresWhatTheRevisionChangedAndNothingElse) {
  VirtualLoop loop(1);
  MemoryRepository repository(loop);
  repository.commit({{"a", "1"}, {"b", "1"}}, "first");
  const std::string second = repository.commit({{"a", "2"}, {"c", "new"}}, "second");
  repository.commit({{"b", "2"}}, "third");
  ASSERT_TRUE(repository.revert(second));
  EXPECT_EQ(repository.log().back().revision.files, (GitFiles{{"a", "1"}, {"b", "2"}}));
  EXPECT_EQ(repository.log().back().message, "Revert \"second\"");
  EXPECT_EQ(repository.log().size(), 4U);
}

TEST(MemoryRepository, AConflictChangesNothing) {
  VirtualLoop loop(1);
  MemoryRepository repository(loop);
  const std::string first = repository.commit({{"a", "1"}}, "first");
  repository.commit({{"a", "2"}}, "second");
  EXPECT_EQ(repository.revert(first).error().kind, ErrorKind::conflict);
  EXPECT_EQ(repository.revert("nobody").error().kind, ErrorKind::not_found);
  EXPECT_EQ(repository.log().size(), 2U);
}

TEST(MemoryRepository, TheNewestRevisionIsGivenLaterAndNoneWhenUnreachable) {
  VirtualLoop loop(1);
  MemoryRepository repository(loop);
  std::optional<Result<GitRevision>> answer;
  auto ask = [&] {
    answer.reset();
    repository.latest([&](Result<GitRevision> revision) { answer = std::move(revision); });
    EXPECT_FALSE(answer.has_value());
    loop.run_for(seconds(1));
    ASSERT_TRUE(answer.has_value());
  };
  ask();
  EXPECT_EQ(answer->error().kind, ErrorKind::not_found);
  const std::string id = repository.commit({{"a", "1"}}, "first");
  ask();
  EXPECT_EQ((*answer)->id, id);
  repository.set_unreachable(true);
  ask();
  EXPECT_EQ(answer->error().kind, ErrorKind::unreachable);
}

}  // namespace
}  // namespace lockstep::sim::git_repository_test
