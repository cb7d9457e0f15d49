#include "apiserver/asio_loop.h"

#include <thread>

#include <gtest/gtest.h>

namespace lockstep::apiserver::asio_loop_test {
namespace {

TEST(AsioLoop, RunsTasksAndTimersInOrderAndStops) {
  AsioLoop loop;
  std::string order;
  loop.after(milliseconds(5), [&] {
    order += "timer ";
    loop.stop();
  });
  TimerId cancelled = loop.after(milliseconds(1), [&] { order += "cancelled "; });
  loop.post([&] { order += "task "; });
  loop.cancel(cancelled);
  loop.cancel(0);
  loop.run();
  EXPECT_EQ(order, "task timer ");
}

TEST(AsioLoop, TasksMayComeFromAnotherThread) {
  AsioLoop loop;
  bool ran = false;
  std::thread other([&] {
    loop.post([&] {
      ran = true;
      loop.stop();
    });
  });
  loop.run();
  other.join();
  EXPECT_TRUE(ran);
}

}  // namespace
}  // namespace lockstep::apiserver::asio_loop_test
