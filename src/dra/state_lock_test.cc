#include "dra/state_lock.h"

#include <gtest/gtest.h>

#include "world/directories_test_util.h"

namespace lockstep::dra::state_lock_test {
namespace {

TEST(StateLock, OnlyOneHasItAndItComesBack) {
  lockstep::testing::TemporaryDirectory folder;
  auto first = FileLock::open(folder / "lock");
  ASSERT_TRUE(first) << first.error().text();
  EXPECT_TRUE(first->try_lock());
  {
    auto second = FileLock::open(folder / "lock");
    ASSERT_TRUE(second);
    EXPECT_FALSE(second->try_lock());
    first->unlock();
    EXPECT_TRUE(second->try_lock());
    EXPECT_FALSE(first->try_lock());
  }
  EXPECT_TRUE(first->try_lock()) << "the other is gone, and its lock with it";
}

TEST(StateLock, WhereNoFileCanBeThereIsNoLock) {
  EXPECT_FALSE(FileLock::open("/no/such/folder/lock"));
}

}  // namespace
}  // namespace lockstep::dra::state_lock_test
