#include "world/timer_queue.h"

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace lockstep::timer_queue_test {
namespace {

std::string run_all(TimerQueue& queue, std::string& ran) {
  while (queue.size() > 0) queue.take_first()();
  return ran;
}

TEST(TimerQueue, OrdersByTimeThenTieThenAge) {
  TimerQueue queue;
  std::string ran;
  queue.add(seconds(2), 0, [&] { ran += 'e'; });
  queue.add(seconds(1), 7, [&] { ran += 'c'; });
  queue.add(seconds(1), 7, [&] { ran += 'd'; });
  queue.add(seconds(1), 3, [&] { ran += 'b'; });
  queue.add(seconds(0), 9, [&] { ran += 'a'; });
  EXPECT_EQ(queue.next_due(), seconds(0));
  EXPECT_EQ(run_all(queue, ran), "abcde");
  EXPECT_EQ(queue.next_due(), std::nullopt);
}

TEST(TimerQueue, CancelRemovesOneOnly) {
  TimerQueue queue;
  std::string ran;
  const TimerId first = queue.add(seconds(1), 0, [&] { ran += 'a'; });
  queue.add(seconds(1), 0, [&] { ran += 'b'; });
  EXPECT_NE(first, 0U);
  queue.cancel(first);
  queue.cancel(first);
  queue.cancel(0);
  queue.cancel(12345);
  EXPECT_EQ(run_all(queue, ran), "b");
}

// Timers that are set and cancelled all the time must not pile up or delay other timers.
TEST(TimerQueue, ManyCancelledTimersLeaveTheOthersInOrder) {
  TimerQueue queue;
  std::string ran;
  std::vector<TimerId> doomed;
  for (int i = 0; i < 500; ++i)
    doomed.push_back(queue.add(seconds(1000 - i), 0, [&] { ran += 'x'; }));
  queue.add(seconds(3), 0, [&] { ran += 'c'; });
  queue.add(seconds(600), 0, [&] { ran += 'd'; });
  queue.add(seconds(2), 0, [&] { ran += 'b'; });
  for (TimerId id : doomed) queue.cancel(id);
  EXPECT_EQ(queue.size(), 3U);
  // The number of a timer is not given to another while a caller may still hold it.
  const TimerId again = queue.add(seconds(1), 0, [&] { ran += 'a'; });
  for (TimerId id : doomed) {
    EXPECT_NE(id, again);
    queue.cancel(id);
  }
  EXPECT_EQ(queue.next_due(), seconds(1));
  EXPECT_EQ(run_all(queue, ran), "abcd");
}

// A task that owns something whose destructor cancels another timer, as connections do.
TEST(TimerQueue, DestructorsMayComeBack) {
  TimerQueue queue;
  struct Canceller {
    TimerQueue& queue;
    TimerId timer;
    Canceller(TimerQueue& target, TimerId id) : queue(target), timer(id) {}
    ~Canceller() { queue.cancel(timer); }
  };
  const TimerId other = queue.add(seconds(2), 0, [] {});
  auto canceller = std::make_shared<Canceller>(queue, other);
  const TimerId owner = queue.add(seconds(1), 0, [canceller] {});
  canceller.reset();
  queue.cancel(owner);
  EXPECT_EQ(queue.size(), 0U);
}

TEST(TimerQueue, ClearAlsoDestroysWhatDestructorsAdd) {
  TimerQueue queue;
  struct Adder {
    TimerQueue& queue;
    explicit Adder(TimerQueue& target) : queue(target) {}
    ~Adder() {
      queue.add(seconds(1), 0, [] {});
    }
  };
  queue.add(seconds(1), 0, [adder = std::make_shared<Adder>(queue)] {});
  queue.clear();
  EXPECT_EQ(queue.size(), 0U);
}

TEST(DueAfter, NeitherGoesBackNorOverflows) {
  EXPECT_EQ(due_after(seconds(5), seconds(1)), seconds(6));
  EXPECT_EQ(due_after(seconds(5), seconds(-1)), seconds(5));
  EXPECT_EQ(due_after(seconds(5), Duration::min()), seconds(5));
  EXPECT_EQ(due_after(seconds(5), Duration::max()), Duration::max());
}

}  // namespace
}  // namespace lockstep::timer_queue_test
