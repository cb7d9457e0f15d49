#include "kube/queue.h"

#include <memory>
#include <optional>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "world/virtual_loop.h"

namespace lockstep::kube::queue_test {
namespace {

class WorkQueueTest : public ::testing::Test {
 protected:
  void make(WorkQueueOptions options = {}) {
    queue.emplace(loop, random, options, [this](const std::string& key) {
      started.push_back(key);
      if (finish_at_once) queue->done(key);
    });
  }
  void settle() { loop.run_for(Duration::zero()); }

  VirtualLoop loop{7};
  SeededRandom random{7};
  std::vector<std::string> started;
  bool finish_at_once = true;
  std::optional<WorkQueue> queue;
};

using Keys = std::vector<std::string>;

TEST_F(WorkQueueTest, WorksInTheOrderOfTheFirstAdd) {
  make();
  for (const char* key : {"c", "a", "b", "a", "c"}) queue->add(key);
  EXPECT_TRUE(started.empty());  // never inside add()
  settle();
  EXPECT_EQ(started, (Keys{"c", "a", "b"}));
  EXPECT_TRUE(queue->idle());
  EXPECT_EQ(queue->counts().merged, 2u);
}

TEST_F(WorkQueueTest, AddedWhileInWorkRunsAgainAfterwards) {
  finish_at_once = false;
  make({.concurrency = 8});
  queue->add("a");
  settle();
  queue->add("a");
  queue->add("a");
  settle();
  EXPECT_EQ(started, (Keys{"a"}));
  queue->done("a");
  settle();
  EXPECT_EQ(started, (Keys{"a", "a"}));
  queue->done("a");
  settle();
  EXPECT_EQ(started.size(), 2u);
  EXPECT_TRUE(queue->idle());
}

TEST_F(WorkQueueTest, NoMoreAtOnceThanAllowed) {
  finish_at_once = false;
  make({.concurrency = 2});
  for (const char* key : {"a", "b", "c", "d"}) queue->add(key);
  settle();
  EXPECT_EQ(started, (Keys{"a", "b"}));
  EXPECT_EQ(queue->depth(), 2u);
  loop.run_for(seconds(5));
  EXPECT_EQ(queue->oldest_wait(), seconds(5));
  queue->done("b");
  settle();
  EXPECT_EQ(started, (Keys{"a", "b", "c"}));
}

TEST_F(WorkQueueTest, TheEarliestDelayCounts) {
  make();
  queue->add_after("a", seconds(10));
  queue->add_after("a", seconds(5));
  queue->add_after("a", seconds(20));
  EXPECT_EQ(queue->delayed(), 1u);
  loop.run_for(milliseconds(4999));
  EXPECT_TRUE(started.empty());
  loop.run_for(milliseconds(1));
  EXPECT_EQ(started, (Keys{"a"}));
  loop.run_for(minutes(1));
  EXPECT_EQ(started.size(), 1u);
}

TEST_F(WorkQueueTest, EqualDelaysKeepTheirOrder) {
  make();
  Keys keys;
  for (int i = 0; i < 50; ++i) keys.push_back(std::to_string(i));
  for (const std::string& key : keys) queue->add_after(key, seconds(1));
  loop.run_for(seconds(2));
  EXPECT_EQ(started, keys);
}

TEST_F(WorkQueueTest, RetriesGrowUntilForgotten) {
  make({.retry = {seconds(1), seconds(10), 2.0, 0.0}});
  auto wait = [&] {
    Duration before = loop.uptime();
    size_t count = started.size();
    EXPECT_TRUE(loop.run_until([&] { return started.size() > count; }, hours(1)));
    return loop.uptime() - before;
  };
  for (Duration expected :
       {seconds(1), seconds(2), seconds(4), seconds(8), seconds(10), seconds(10)}) {
    queue->retry("a");
    EXPECT_EQ(wait(), expected);
  }
  EXPECT_EQ(queue->failures("a"), 6u);
  queue->forget("a");
  queue->retry("a");
  EXPECT_EQ(wait(), seconds(1));
  queue->retry_at_least("a", seconds(30));
  EXPECT_EQ(wait(), seconds(30));
}

TEST_F(WorkQueueTest, AForgottenObjectsDelayIsTakenAway) {
  make();
  queue->add_after("a", seconds(1));
  queue->add_after("b", seconds(1));
  queue->cancel_delay("a");
  loop.run_for(minutes(1));
  EXPECT_EQ(started, (Keys{"b"}));
}

TEST_F(WorkQueueTest, ShutDownStartsNothingMore) {
  finish_at_once = false;
  make();
  queue->add("a");
  settle();
  queue->add("a");
  queue->add("b");
  queue->add_after("c", seconds(1));
  queue->shut_down();
  queue->add("d");
  queue->retry("e");
  EXPECT_FALSE(queue->idle());
  queue->done("a");
  loop.run_for(minutes(1));
  EXPECT_EQ(started, (Keys{"a"}));
  EXPECT_TRUE(queue->idle());
}

TEST_F(WorkQueueTest, AStrayDoneIsHarmless) {
  make();
  queue->done("never");
  queue->add("a");
  settle();
  queue->done("a");
  EXPECT_EQ(started, (Keys{"a"}));
}

TEST_F(WorkQueueTest, MayBeDestroyedWithWorkInIt) {
  finish_at_once = false;
  make();
  queue->add("a");
  queue->add("b");
  queue->add_after("c", seconds(1));
  settle();
  queue.reset();
  loop.run_for(minutes(1));
  EXPECT_EQ(started, (Keys{"a"}));
}

TEST(WorkQueueDestruction, TheHandlerMayDestroyTheQueue) {
  VirtualLoop loop(1);
  SeededRandom random(1);
  auto queue = std::make_unique<std::optional<WorkQueue>>();
  queue->emplace(loop, random, WorkQueueOptions{},
                 [&](const std::string&) { loop.post([&] { queue->reset(); }); });
  (*queue)->add("a");
  (*queue)->add("b");
  loop.run_for(minutes(1));
  EXPECT_FALSE(queue->has_value());
}

// Random use: never twice at once, never more than allowed, and after the last add of a key it is
// worked on at least once more.
TEST(WorkQueueProperties, HoldUnderRandomUse) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    VirtualLoop loop(seed);
    SeededRandom random(seed);
    WorkQueueOptions options;
    options.concurrency = 1 + random.below(4);
    std::set<std::string> in_work;
    std::map<std::string, int> wanted;  // the number of the last add
    std::map<std::string, int> seen;    // the number of the last add when work began
    std::unique_ptr<WorkQueue> queue;
    auto work = [&](const std::string& key) {
      EXPECT_TRUE(in_work.insert(key).second);
      EXPECT_LE(in_work.size(), options.concurrency);
      seen[key] = wanted[key];
      loop.after(milliseconds(static_cast<int64_t>(random.below(50))), [&, key] {
        in_work.erase(key);
        if (random.below(4) == 0) {
          queue->retry(key);
        } else {
          queue->forget(key);
        }
        queue->done(key);
      });
    };
    queue = std::make_unique<WorkQueue>(loop, random, options, work);
    for (int i = 1; i <= 500; ++i) {
      std::string key(1, static_cast<char>('a' + random.below(8)));
      wanted[key] = i;
      if (random.below(3) == 0) {
        queue->add_after(key, milliseconds(static_cast<int64_t>(random.below(100))));
      } else {
        queue->add(key);
      }
      loop.run_for(milliseconds(static_cast<int64_t>(random.below(20))));
    }
    loop.run_for(hours(1));
    EXPECT_EQ(seen, wanted);
    EXPECT_TRUE(queue->idle());
    EXPECT_EQ(queue->delayed(), 0u);
  }
}

// The same seed and the same adds give the same order, whatever ties the loop draws.
TEST(WorkQueueProperties, OrderIsDeterministic) {
  auto run = [](uint64_t loop_seed) {
    VirtualLoop loop(loop_seed);
    SeededRandom random(3);
    Keys order;
    std::unique_ptr<WorkQueue> queue;
    queue =
        std::make_unique<WorkQueue>(loop, random, WorkQueueOptions{}, [&](const std::string& key) {
          order.push_back(key);
          queue->done(key);
        });
    for (int i = 0; i < 30; ++i) queue->add_after(std::to_string(i), milliseconds(i % 5));
    for (int i = 0; i < 30; ++i) queue->add(std::to_string(100 + i));
    loop.run_for(seconds(1));
    return order;
  };
  Keys first = run(1);
  for (uint64_t seed = 2; seed < 20; ++seed) EXPECT_EQ(run(seed), first);
}

}  // namespace
}  // namespace lockstep::kube::queue_test
