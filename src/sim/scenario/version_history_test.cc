#include "sim/scenario/version_history.h"

#include <gtest/gtest.h>

#include "world/virtual_loop.h"

namespace lockstep::sim::version_history_test {
namespace {

TEST(VersionHistory, TellsWhichVersionThereWasHowLongAgo) {
  VirtualLoop loop(1);
  apiserver::Store store;
  VersionHistory history(store, loop, minutes(1));
  uint64_t first = store.version();
  for (int i = 0; i < 10; ++i) {
    loop.run_for(seconds(10));
    store.put("nodes", {"", "a"}, JsonObject{});
  }
  EXPECT_EQ(history.version_before(Duration(0)), std::to_string(first + 10));
  EXPECT_EQ(history.version_before(seconds(10)), std::to_string(first + 9));
  EXPECT_EQ(history.version_before(seconds(15)), std::to_string(first + 8));
  // Further back than it keeps: the oldest that it knows.
  std::string oldest = history.version_before(hours(1));
  EXPECT_GT(std::stoull(oldest), first);
  EXPECT_LE(std::stoull(oldest), first + 4);
}

// A replica may lag a little more than it was asked to, never less.
TEST(VersionHistory, IsNeverNewerThanTheTruthOfThatTime) {
  VirtualLoop loop(1);
  apiserver::Store store;
  VersionHistory history(store, loop);
  for (int i = 0; i < 5; ++i) {
    store.put("nodes", {"", "a"}, JsonObject{});
    loop.run_for(milliseconds(300));
  }
  uint64_t now = store.version();
  loop.run_for(seconds(5));
  store.put("nodes", {"", "a"}, JsonObject{});
  EXPECT_LE(std::stoull(history.version_before(seconds(1))), now);
}

}  // namespace
}  // namespace lockstep::sim::version_history_test
