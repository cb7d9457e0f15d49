#include "sim/actors/memory_matrix.h"

#include <gtest/gtest.h>

#include "world/virtual_loop.h"

namespace lockstep::sim::memory_matrix_test {
namespace {

std::string matrix(const std::string& current, const std::string& canary) {
  return "versions:\n  current: {driver: \"" + current + "\", status: production}\n" +
         "  canary: {driver: \"" + canary + "\", status: \"\"}\n";
}

struct World {
  World() : repository(loop), store(loop, repository) {
    repository.commit({{path, matrix("560", "")}, {"README", "hello"}}, "first");
    repository.commit({{path, matrix("560", "570")}}, "canary");
  }
  Result<std::string> now(rollout::GitStep step) {
    return store.commit_now({step, {"memory", "main", path}, "570", {}});
  }
  std::string text() { return repository.log().back().revision.files.at(path); }

  const std::string path = "gpu-version-matrix.yaml";
  VirtualLoop loop{1};
  MemoryRepository repository;
  MemoryMatrix store;
};

TEST(MemoryMatrix, PromotesOnceAndTakesBothBack) {
  World world;
  const std::string commit = world.now(rollout::GitStep::promote).value();
  EXPECT_EQ(world.repository.log().back().revision.id, commit);
  EXPECT_EQ(world.now(rollout::GitStep::promote).value(), commit) << "asked again";
  EXPECT_EQ(world.repository.log().size(), 3U);
  ASSERT_TRUE(world.now(rollout::GitStep::take_back));
  EXPECT_EQ(world.text(), matrix("560", ""));
  EXPECT_EQ(world.now(rollout::GitStep::take_back).value(), controller::no_commit);
}

TEST(MemoryMatrix, WhatSomebodyChangedSinceIsAConflict) {
  World world;
  world.repository.commit({{world.path, matrix("560", "570") + "owner: me\n"}}, "by another");
  const auto taken = world.now(rollout::GitStep::take_back);
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().kind, ErrorKind::conflict);
  EXPECT_EQ(world.repository.log().size(), 3U) << "nothing is half done";
}

TEST(MemoryMatrix, ARepositoryThatDoesNotAnswerMayAnswerLater) {
  World world;
  world.repository.set_unreachable(true);
  bool answered = false;
  world.store.commit({rollout::GitStep::promote, {"memory", "main", world.path}, "570", {}},
                     [&](const Result<std::string>& made) {
                       answered = true;
                       ASSERT_FALSE(made);
                       EXPECT_TRUE(controller::may_pass(made.error()));
                     });
  world.loop.run_for(minutes(1));
  EXPECT_TRUE(answered);
}

}  // namespace
}  // namespace lockstep::sim::memory_matrix_test
