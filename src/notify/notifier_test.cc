#include "notify/notifier.h"

#include <gtest/gtest.h>

#include "world/virtual_loop.h"

namespace lockstep::notify::notifier_test {
namespace {

// Answers when the test says so.
class FakeSender : public Sender {
 public:
  void send(std::string body, std::function<void(Result<void>)> done) override {
    bodies.push_back(std::move(body));
    pending.push_back(std::move(done));
  }
  void answer(Result<void> result) {
    ASSERT_FALSE(pending.empty());
    auto done = std::move(pending.front());
    pending.pop_front();
    done(std::move(result));
  }
  std::vector<std::string> bodies;
  std::deque<std::function<void(Result<void>)>> pending;
};

Notice about(const std::string& subject,
             const fleet::ReasonName& reason = fleet::Reason::driver_crash_loop) {
  return {Time::from_unix(1'800'000'000),
          fleet::Severity::warning,
          fleet::Reason::node_failed,
          subject,
          "upgrade-failed",
          reason,
          "text",
          ""};
}

struct NotifierTest : ::testing::Test {
  NotifierTest() {
    options.queue_limit = 3;
    options.tries = 3;
  }
  Notifier& notifier() {
    if (!made) made = std::make_unique<Notifier>(sender, loop, random, log, options);
    return *made;
  }
  void run(Duration time) { loop.run_for(time); }

  VirtualLoop loop{1};
  SeededRandom random{1};
  SilentLog log;
  FakeSender sender;
  NotifierOptions options;
  std::unique_ptr<Notifier> made;
};

const Unexpected later = fail(ErrorKind::unreachable, "answered with 503");

TEST_F(NotifierTest, OneAfterTheOtherInTheirOrder) {
  notifier().notify(about("a"));
  notifier().notify(about("b"));
  ASSERT_EQ(sender.bodies.size(), 1U);
  sender.answer({});
  run(seconds(1));
  ASSERT_EQ(sender.bodies.size(), 2U);
  EXPECT_NE(sender.bodies[1].find("\"b\""), std::string::npos);
  sender.answer({});
  run(seconds(1));
  EXPECT_TRUE(notifier().idle());
  EXPECT_EQ(notifier().counts().sent, 2U);
}

TEST_F(NotifierTest, TheSameNewsIsToldOnceInAnHour) {
  notifier().notify(about("a"));
  notifier().notify(about("a"));
  sender.answer({});
  run(minutes(59));
  notifier().notify(about("a"));
  EXPECT_EQ(sender.bodies.size(), 1U);
  EXPECT_EQ(notifier().counts().repeated, 2U);
  notifier().notify(about("a", fleet::Reason::protected_pods));
  EXPECT_EQ(sender.bodies.size(), 2U) << "another reason is other news";
  sender.answer({});
  run(minutes(2));
  notifier().notify(about("a"));
  EXPECT_EQ(sender.bodies.size(), 3U);
}

TEST_F(NotifierTest, WhatFailsIsTriedAgainWithGrowingPauses) {
  notifier().notify(about("a"));
  sender.answer(later);
  EXPECT_EQ(sender.bodies.size(), 1U);
  run(milliseconds(900));
  EXPECT_EQ(sender.bodies.size(), 1U) << "not at once";
  run(seconds(2));
  ASSERT_EQ(sender.bodies.size(), 2U);
  EXPECT_EQ(sender.bodies[0], sender.bodies[1]);
  sender.answer(later);
  run(milliseconds(1900));
  EXPECT_EQ(sender.bodies.size(), 2U);
  run(seconds(2));
  ASSERT_EQ(sender.bodies.size(), 3U);
  sender.answer({});
  EXPECT_EQ(notifier().counts().sent, 1U);
  EXPECT_EQ(notifier().counts().retries, 2U);
}

TEST_F(NotifierTest, AfterAllTriesItGivesUpAndTheNextHasItsTurn) {
  notifier().notify(about("a"));
  notifier().notify(about("b"));
  for (uint32_t i = 0; i < options.tries; ++i) {
    sender.answer(later);
    run(minutes(1));
  }
  EXPECT_EQ(notifier().counts().gave_up, 1U);
  EXPECT_NE(sender.bodies.back().find("\"b\""), std::string::npos);
}

TEST_F(NotifierTest, WhatIsRefusedIsNotTriedAgain) {
  notifier().notify(about("a"));
  sender.answer(fail(ErrorKind::invalid, "answered with 404"));
  run(hours(1));
  EXPECT_EQ(sender.bodies.size(), 1U);
  EXPECT_EQ(notifier().counts().gave_up, 1U);
  EXPECT_TRUE(notifier().idle());
}

TEST_F(NotifierTest, TheQueueIsBoundedAndKeepsTheNewest) {
  for (const char* name : {"a", "b", "c", "d", "e"}) notifier().notify(about(name));
  EXPECT_EQ(notifier().counts().overflow, 2U);
  std::string all;
  while (!sender.pending.empty()) {
    sender.answer({});
    run(seconds(1));
  }
  for (const std::string& body : sender.bodies) all += body;
  for (const char* kept : {"\"a\"", "\"d\"", "\"e\""}) {
    EXPECT_NE(all.find(kept), std::string::npos) << kept;
  }
  EXPECT_EQ(all.find("\"b\""), std::string::npos);
  EXPECT_EQ(notifier().counts().sent, 3U);
}

TEST_F(NotifierTest, ItMayGoWhileSomethingIsOnItsWay) {
  notifier().notify(about("a"));
  made.reset();
  sender.answer({});
  run(seconds(1));
  EXPECT_EQ(sender.bodies.size(), 1U);
}

TEST(NotifierMetrics, CountByOutcome) {
  NotifierCounts counts;
  counts.sent = 3;
  counts.gave_up = 1;
  std::string text = metrics_of(counts);
  EXPECT_NE(text.find("lockstep_notifications_total{outcome=\"sent\"} 3\n"), std::string::npos);
  EXPECT_NE(text.find("lockstep_notifications_total{outcome=\"gave_up\"} 1\n"), std::string::npos);
  EXPECT_NE(text.find("# TYPE lockstep_notifications_total counter\n"), std::string::npos);
}

}  // namespace
}  // namespace lockstep::notify::notifier_test
