#include "world/event_loop.h"

#include <csignal>
#include <fcntl.h>
#include <memory>
#include <stdexcept>
#include <string>
#include <sys/socket.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "base/patience_test_util.h"
#include "world/descriptor.h"

namespace lockstep::event_loop_test {
namespace {

// Far longer than anything here takes: only a broken loop reaches it.
constexpr Duration patience = test_patience;

struct Pipe {
  Pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) throw std::runtime_error("pipe2");
    reader = Descriptor(ends[0]);
    writer = Descriptor(ends[1]);
  }
  void send(char c) const { EXPECT_EQ(write(writer.get(), &c, 1), 1); }
  char receive() const {
    char c = 0;
    return read(reader.get(), &c, 1) == 1 ? c : '\0';
  }
  Descriptor reader, writer;
};

TEST(EventLoop, PostedTasksRunInOrderAndNotAtOnce) {
  EventLoop loop;
  std::string ran;
  loop.post([&] { ran += 'a'; });
  loop.post([&] { ran += 'b'; });
  EXPECT_EQ(ran, "");
  EXPECT_TRUE(loop.run_until([&] { return ran == "ab"; }, patience));
}

TEST(EventLoop, TimersRunInTheOrderOfTheirTimes) {
  EventLoop loop;
  std::string ran;
  loop.after(milliseconds(20), [&] { ran += 'c'; });
  loop.after(milliseconds(1), [&] { ran += 'a'; });
  loop.after(milliseconds(10), [&] { ran += 'b'; });
  EXPECT_TRUE(loop.run_until([&] { return ran.size() == 3; }, patience));
  EXPECT_EQ(ran, "abc");
}

TEST(EventLoop, TimersAreNeverEarly) {
  EventLoop loop;
  Duration ran{};
  const Duration set = loop.uptime();
  loop.after(microseconds(2500), [&] { ran = loop.uptime(); });
  EXPECT_TRUE(loop.run_until([&] { return ran != Duration::zero(); }, patience));
  EXPECT_GE(ran - set, microseconds(2500));
}

TEST(EventLoop, ACancelledTimerDoesNotRun) {
  EventLoop loop;
  bool later = false;
  TimerId second = 0;
  loop.after(Duration::zero(), [&] { loop.cancel(second); });
  second = loop.after(Duration::zero(), [] { FAIL(); });
  TimerId self = 0;
  self = loop.after(milliseconds(1), [&] { loop.cancel(self); });
  loop.after(milliseconds(2), [&] { later = true; });
  EXPECT_TRUE(loop.run_until([&] { return later; }, patience));
}

TEST(EventLoop, RunUntilGivesUpAtItsLimit) {
  EventLoop loop;
  EXPECT_FALSE(loop.run_until([] { return false; }, milliseconds(5)));
  EXPECT_FALSE(loop.run_until([] { return false; }, Duration::zero()));
  EXPECT_TRUE(loop.run_until([] { return true; }, Duration::zero()));
}

TEST(EventLoop, NowIsTheWallClock) {
  EventLoop loop;
  EXPECT_GT(loop.now(), Time::from_unix(1'700'000'000));
  EXPECT_LT(loop.uptime(), hours(1));
}

TEST(EventLoop, ThreadsWakeItUp) {
  EventLoop loop;
  size_t count = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 1000; ++k) loop.post_from_thread([&] { ++count; });
    });
  }
  EXPECT_TRUE(loop.run_until([&] { return count == 4000; }, patience));
  for (std::thread& thread : threads) thread.join();
}

TEST(EventLoop, StopEndsRun) {
  EventLoop loop;
  loop.post([&] { loop.stop(); });
  loop.run();
  loop.after(milliseconds(1), [&] { loop.stop(); });
  loop.run();
  std::thread other([&] { loop.stop(); });
  loop.run();
  other.join();
}

TEST(EventLoop, StopBeforeRunIsNotLost) {
  EventLoop loop;
  loop.stop();
  loop.run();
  loop.stop();
  EXPECT_FALSE(loop.run_until([] { return false; }, patience));
}

EventLoop* loop_of_signal = nullptr;

TEST(EventLoop, ASignalHandlerMayStopIt) {
  EventLoop loop;
  loop_of_signal = &loop;
  struct sigaction action{};
  struct sigaction before{};
  action.sa_handler = [](int) { loop_of_signal->stop(); };
  sigaction(SIGUSR1, &action, &before);
  loop.post([] { raise(SIGUSR1); });
  loop.run();
  sigaction(SIGUSR1, &before, nullptr);
}

TEST(EventLoop, AnExceptionLeavesRunAndLosesNothing) {
  EventLoop loop;
  const Pipe pipe;
  std::string ran;
  loop.post([&] { ran += 'a'; });
  loop.post([] { throw std::runtime_error("posted"); });
  loop.post([&] { ran += 'b'; });
  loop.after(Duration::zero(), [] { throw std::runtime_error("timer"); });
  loop.watch_descriptor(pipe.reader.get(), true, false, [&](EventLoop::Readiness) {
    if (pipe.receive() == 'x') throw std::runtime_error("descriptor");
    ran += 'c';
    loop.unwatch_descriptor(pipe.reader.get());
  });
  pipe.send('x');
  pipe.send('y');
  int thrown = 0;
  for (bool complete = false; !complete;) {
    try {
      ASSERT_TRUE(loop.run_until([&] { return ran.size() == 3 && thrown == 3; }, patience));
      complete = true;
    } catch (const std::runtime_error&) {
      ++thrown;
    }
  }
  EXPECT_LT(ran.find('a'), ran.find('b'));
}

// A process that was stopped and continues: its deadline passed long ago, and the answer to its
// last question is in the socket.
TEST(EventLoop, TimersThatAreDueRunBeforeDescriptorsThatAreReady) {
  EventLoop loop;
  const Pipe pipe;
  std::string ran;
  loop.watch_descriptor(pipe.reader.get(), true, false, [&](auto) {
    ran += 'd';
    loop.unwatch_descriptor(pipe.reader.get());
  });
  loop.after(milliseconds(1), [&] { ran += 't'; });
  pipe.send('x');
  const Duration due = loop.uptime() + milliseconds(2);
  while (loop.uptime() < due) {
  }
  EXPECT_TRUE(loop.run_until([&] { return ran.size() == 2; }, patience));
  EXPECT_EQ(ran, "td");
}

// A callback whose deadline cancels the question does not hear the answer.
TEST(EventLoop, ATimerMayTakeAwayADescriptorThatIsReady) {
  EventLoop loop;
  const Pipe pipe;
  bool timer = false;
  loop.watch_descriptor(pipe.reader.get(), true, false, [](auto) { FAIL(); });
  loop.after(Duration::zero(), [&] {
    timer = true;
    loop.unwatch_descriptor(pipe.reader.get());
  });
  pipe.send('x');
  EXPECT_TRUE(loop.run_until([&] { return timer; }, patience));
  EXPECT_FALSE(loop.run_until([] { return false; }, milliseconds(1)));
}

TEST(EventLoop, SelfPostingTasksStarveNobody) {
  EventLoop loop;
  const Pipe pipe;
  bool timer = false, descriptor = false, thread = false;
  std::function<void()> again = [&] { loop.post(again); };
  again();
  std::function<void()> tick = [&] { loop.after(Duration::zero(), tick); };
  tick();
  loop.after(milliseconds(1), [&] { timer = true; });
  pipe.send('x');
  loop.watch_descriptor(pipe.reader.get(), true, false, [&](auto) { descriptor = true; });
  std::thread other([&] { loop.post_from_thread([&] { thread = true; }); });
  EXPECT_TRUE(loop.run_until([&] { return timer && descriptor && thread; }, patience));
  other.join();
}

TEST(EventLoop, ReportsWhatIsReady) {
  EventLoop loop;
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  const Descriptor ours(ends[0]), theirs(ends[1]);
  std::vector<EventLoop::Readiness> seen;
  const auto record = [&](EventLoop::Readiness readiness) {
    seen.push_back(readiness);
    loop.watch_descriptor(ours.get(), false, false, [](auto) { FAIL(); });
  };
  loop.watch_descriptor(ours.get(), true, true, record);
  EXPECT_TRUE(loop.run_until([&] { return seen.size() == 1; }, patience));
  EXPECT_FALSE(seen[0].readable);
  EXPECT_TRUE(seen[0].writable);

  ASSERT_EQ(write(theirs.get(), "x", 1), 1);
  loop.watch_descriptor(ours.get(), true, false, record);
  EXPECT_TRUE(loop.run_until([&] { return seen.size() == 2; }, patience));
  EXPECT_TRUE(seen[1].readable);
  EXPECT_FALSE(seen[1].writable);
}

TEST(EventLoop, TheOtherEndGoneIsReadable) {
  EventLoop loop;
  Pipe pipe;
  bool ended = false;
  loop.watch_descriptor(pipe.reader.get(), true, false, [&](EventLoop::Readiness readiness) {
    char c;
    ended = readiness.readable && read(pipe.reader.get(), &c, 1) == 0;
    loop.unwatch_descriptor(pipe.reader.get());
  });
  pipe.writer = {};
  EXPECT_TRUE(loop.run_until([&] { return ended; }, patience));
}

TEST(EventLoop, ABrokenPipeIsWritableWithError) {
  EventLoop loop;
  Pipe pipe;
  EventLoop::Readiness seen;
  loop.watch_descriptor(pipe.writer.get(), false, true, [&](EventLoop::Readiness readiness) {
    seen = readiness;
    loop.unwatch_descriptor(pipe.writer.get());
  });
  pipe.reader = {};
  EXPECT_TRUE(loop.run_until([&] { return seen.error; }, patience));
  EXPECT_TRUE(seen.writable);
  EXPECT_FALSE(seen.readable);
}

TEST(EventLoop, ACallbackMayUnwatchItselfAndStillUseWhatItHolds) {
  EventLoop loop;
  const Pipe pipe;
  pipe.send('x');
  std::string result;
  const std::string held = "a string long enough to live on the heap";
  loop.watch_descriptor(pipe.reader.get(), true, false, [&, held](auto) {
    loop.unwatch_descriptor(pipe.reader.get());
    result = held;
  });
  EXPECT_TRUE(loop.run_until([&] { return !result.empty(); }, patience));
  EXPECT_EQ(result, held);
  loop.unwatch_descriptor(pipe.reader.get());
}

// Both are ready in one batch; whichever runs first removes the other.
TEST(EventLoop, UnwatchingAnotherTakesEffectAtOnce) {
  EventLoop loop;
  const Pipe a, b;
  a.send('x');
  b.send('x');
  int calls = 0;
  for (const Pipe* pipe : {&a, &b}) {
    loop.watch_descriptor(pipe->reader.get(), true, false, [&](auto) {
      ++calls;
      loop.unwatch_descriptor(a.reader.get());
      loop.unwatch_descriptor(b.reader.get());
    });
  }
  bool later = false;
  loop.after(milliseconds(1), [&] { loop.after(Duration::zero(), [&] { later = true; }); });
  EXPECT_TRUE(loop.run_until([&] { return later; }, patience));
  EXPECT_EQ(calls, 1);
}

// The number of a closed descriptor is given to the next one: an event that was reported for the
// old one must not reach the callback of the new.
TEST(EventLoop, AReusedNumberGetsNoStaleEvent) {
  EventLoop loop;
  Pipe a, b;
  a.send('x');
  b.send('x');
  Pipe fresh;  // nothing to read
  bool replaced = false;
  for (Pipe* pipe : {&a, &b}) {
    Pipe* other = pipe == &a ? &b : &a;
    loop.watch_descriptor(pipe->reader.get(), true, false, [&, pipe, other](auto) {
      const int number = other->reader.get();
      loop.unwatch_descriptor(pipe->reader.get());
      loop.unwatch_descriptor(number);
      ASSERT_EQ(dup3(fresh.reader.get(), number, O_CLOEXEC), number);
      loop.watch_descriptor(number, true, false, [](auto) { FAIL() << "a stale event"; });
      replaced = true;
    });
  }
  bool later = false;
  EXPECT_TRUE(loop.run_until([&] { return replaced; }, patience));
  loop.after(milliseconds(1), [&] { later = true; });
  EXPECT_TRUE(loop.run_until([&] { return later; }, patience));
}

TEST(EventLoop, ClosingWithoutUnwatchingDoesNotBlockTheNumber) {
  EventLoop loop;
  Pipe first;
  const int number = first.reader.get();
  loop.watch_descriptor(number, true, false, [](auto) { FAIL(); });
  const Pipe second;
  second.send('x');
  ASSERT_EQ(dup3(second.reader.get(), number, O_CLOEXEC), number);
  bool called = false;
  loop.watch_descriptor(number, true, false, [&](auto) { called = true; });
  EXPECT_TRUE(loop.run_until([&] { return called; }, patience));
}

TEST(EventLoop, WhatCannotBeWatchedThrows) {
  EventLoop loop;
  const Descriptor file(open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  EXPECT_THROW(loop.watch_descriptor(file.get(), true, false, [](auto) {}), std::system_error);
  EXPECT_THROW(loop.watch_descriptor(-1, true, false, [](auto) {}), std::system_error);
}

TEST(EventLoop, DestroyingItDestroysTasksThatStillTalkToIt) {
  struct Talker {
    EventLoop& loop;
    int& destroyed;
    Talker(EventLoop& target, int& count) : loop(target), destroyed(count) {}
    ~Talker() {
      ++destroyed;
      loop.post([] {});
      loop.cancel(loop.after(seconds(1), [] {}));
      loop.unwatch_descriptor(0);
    }
  };
  int destroyed = 0;
  const Pipe pipe;
  {
    EventLoop loop;
    loop.post([talker = std::make_shared<Talker>(loop, destroyed)] {});
    loop.after(hours(1), [talker = std::make_shared<Talker>(loop, destroyed)] {});
    loop.watch_descriptor(pipe.reader.get(), true, false,
                          [talker = std::make_shared<Talker>(loop, destroyed)](auto) {});
  }
  EXPECT_EQ(destroyed, 3);
}

}  // namespace
}  // namespace lockstep::event_loop_test
