#include "apiserver/door/watch_rounds.h"

#include <gtest/gtest.h>

#include "world/virtual_loop.h"

namespace lockstep::apiserver::watch_rounds_test {
namespace {

struct Counted final : http::Stream {
  Counted() {
    on_wake([this] { ++woken; });
  }
  Piece next() override { return {}; }
  int woken = 0;
};

TEST(WatchRounds, WakesThoseWhoseStorageChangedOnceForABurst) {
  VirtualLoop loop(1);
  WatchRounds rounds(loop);
  Counted nodes;
  Counted pods;
  rounds.add("nodes", nodes);
  const uint64_t number = rounds.add("pods", pods);
  for (int i = 0; i < 10; ++i) rounds.on_change("nodes");
  EXPECT_EQ(nodes.woken, 0) << "not from inside the change";
  loop.run_for(seconds(1));
  EXPECT_EQ(nodes.woken, 1);
  EXPECT_EQ(pods.woken, 0);
  rounds.on_change("pods");
  rounds.on_change("unwatched");
  loop.run_for(seconds(1));
  EXPECT_EQ(pods.woken, 1);
  rounds.remove("pods", number);
  rounds.on_change("pods");
  loop.run_for(seconds(1));
  EXPECT_EQ(pods.woken, 1);
}

TEST(WatchRounds, WakingOneMayEndAnother) {
  VirtualLoop loop(1);
  WatchRounds rounds(loop);
  Counted first;
  Counted second;
  const uint64_t first_number = rounds.add("nodes", first);
  const uint64_t second_number = rounds.add("nodes", second);
  first.on_wake([&] {
    ++first.woken;
    rounds.remove("nodes", first_number);
    rounds.remove("nodes", second_number);
  });
  rounds.on_change("nodes");
  loop.run_for(seconds(1));
  EXPECT_EQ(first.woken, 1);
  EXPECT_EQ(second.woken, 0);
}

}  // namespace
}  // namespace lockstep::apiserver::watch_rounds_test
