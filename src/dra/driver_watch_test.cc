#include "dra/driver_watch.h"

#include <gtest/gtest.h>

#include "world/virtual_loop.h"

namespace lockstep::dra::driver_watch_test {
namespace {

struct DriverWatchTest : ::testing::Test, DriverProbe {
  DriverState state() override { return now; }
  void ask(const DriverState& asked, std::function<void(Result<Inventory>)> done) override {
    ++asks;
    if (hangs) {
      // The probe's own deadline.
      loop.after(seconds(5), [done] { done(fail(ErrorKind::timed_out, "killed")); });
      return;
    }
    Result<Inventory> answer = Inventory{};
    answer->driver_version = library;
    if (library != asked.module_version) answer = fail(ErrorKind::conflict, "mismatch");
    if (error) answer = fail(*error);
    loop.after(delay, [done, answer] { done(answer); });
  }
  void load(const std::string& version) {
    now = {version, "load-" + std::to_string(++loads), "/lib", "/lib/nvml", "1:1", "boot"};
  }
  void start() {
    watch.emplace(
        loop, log, *this, DriverWatchOptions{},
        DriverWatch::Listener{[this](const Inventory& inventory, bool is_new) {
                                seen.push_back(inventory.driver_version + (is_new ? " new" : ""));
                              },
                              [this](const std::string& why) { away.push_back(why); }});
    watch->start();
  }

  VirtualLoop loop{1};
  MemoryLog log;
  DriverState now;
  std::string library = "580.1";
  std::optional<Error> error;
  bool hangs = false;
  Duration delay = milliseconds(50);
  int loads = 0;
  int asks = 0;
  std::vector<std::string> seen;
  std::vector<std::string> away;
  std::optional<DriverWatch> watch;
};

TEST_F(DriverWatchTest, ANewDriverIsKnownWithinASecond) {
  load("580.1");
  start();
  loop.run_for(milliseconds(500));
  EXPECT_EQ(seen, (std::vector<std::string>{"580.1 new"}));
  now = {};
  loop.run_for(seconds(3));
  EXPECT_FALSE(watch->is_current());
  EXPECT_EQ(away.back(), "the driver's kernel module is not loaded");
  load("590.1");
  library = "590.1";
  loop.run_for(milliseconds(900));
  EXPECT_TRUE(watch->is_current());
  EXPECT_EQ(seen.back(), "590.1 new");
}

TEST_F(DriverWatchTest, TheSameVersionLoadedAgainIsANewDriver) {
  load("580.1");
  start();
  loop.run_for(seconds(1));
  load("580.1");
  loop.run_for(seconds(1));
  EXPECT_EQ(seen, (std::vector<std::string>{"580.1 new", "580.1 new"}));
}

TEST_F(DriverWatchTest, AMismatchIsWaitedOut) {
  load("580.1");
  start();
  loop.run_for(seconds(1));
  load("590.1");
  loop.run_for(seconds(20));
  EXPECT_FALSE(watch->is_current());
  EXPECT_EQ(watch->why_away(),
            "the driver's library and its kernel module are of different versions");
  size_t told = away.size();
  loop.run_for(seconds(60));
  EXPECT_EQ(away.size(), told) << "the same is told once";
  int before = asks;
  loop.run_for(seconds(60));
  EXPECT_LE(asks - before, 31) << "no hot loop";
  library = "590.1";
  loop.run_for(seconds(3));
  EXPECT_TRUE(watch->is_current());
}

TEST_F(DriverWatchTest, AnAnswerAboutTheOldDriverIsNone) {
  load("580.1");
  delay = milliseconds(900);
  start();
  loop.run_for(milliseconds(500));
  load("590.1");
  library = "590.1";
  loop.run_for(milliseconds(500));
  EXPECT_TRUE(seen.empty());
  loop.run_for(seconds(3));
  EXPECT_EQ(seen, (std::vector<std::string>{"590.1 new"}));
}

TEST_F(DriverWatchTest, OneFailedCheckIsChanceThreeAreNot) {
  load("580.1");
  start();
  loop.run_for(seconds(1));
  error = Error{ErrorKind::internal, "x", ""};
  loop.run_for(milliseconds(9600));
  EXPECT_TRUE(watch->is_current()) << "once";
  error.reset();
  loop.run_for(seconds(5));
  EXPECT_TRUE(watch->is_current());
  hangs = true;
  loop.run_for(seconds(40));
  EXPECT_FALSE(watch->is_current());
  EXPECT_EQ(watch->why_away(), "NVML does not answer");
  hangs = false;
  loop.run_for(seconds(10));
  EXPECT_TRUE(watch->is_current());
}

TEST_F(DriverWatchTest, WhoAsksBetweenTwoLooksIsToldWhatIsTrueNow) {
  load("580.1");
  start();
  loop.run_for(seconds(1));
  EXPECT_TRUE(watch->is_current_now());
  load("590.1");
  EXPECT_TRUE(watch->is_current()) << "nobody has looked";
  EXPECT_FALSE(watch->is_current_now());
}

TEST_F(DriverWatchTest, HealthIsAskedForNowAndThenAndWhenWanted) {
  load("580.1");
  start();
  loop.run_for(seconds(1));
  EXPECT_EQ(asks, 1);
  loop.run_for(seconds(30));
  EXPECT_EQ(asks, 4);
  EXPECT_EQ(seen.back(), "580.1");
  watch->check_soon(seconds(1));
  loop.run_for(milliseconds(1500));
  EXPECT_EQ(asks, 5);
}

}  // namespace
}  // namespace lockstep::dra::driver_watch_test
