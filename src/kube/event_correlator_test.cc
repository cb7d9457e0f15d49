#include "kube/event_correlator.h"

#include <gtest/gtest.h>

#include "base/strings.h"

namespace lockstep::kube::event_correlator_test {
namespace {

Event event_on(std::string_view node, std::string_view message,
               std::string_view reason = "Reason") {
  Event event;
  event.about.kind = "Node";
  event.about.name = node;
  event.component = "lockstep";
  event.type = "Normal";
  event.reason = reason;
  event.message = message;
  return event;
}

TEST(EventCorrelator, TheSameEventHasTheSameKey) {
  EventCorrelator correlator({});
  auto key = [&](Event event) { return correlator.judge(event, seconds(0)).key; };
  std::string first = key(event_on("a", "hello"));
  EXPECT_EQ(key(event_on("a", "hello")), first);
  EXPECT_NE(key(event_on("b", "hello")), first);
  EXPECT_NE(key(event_on("a", "other")), first);
  EXPECT_NE(key(event_on("a", "hello", "Other")), first);
  Event warning = event_on("a", "hello");
  warning.type = "Warning";
  EXPECT_NE(key(warning), first);
  Event successor = event_on("a", "hello");
  successor.about.uid = "another";
  EXPECT_NE(key(successor), first);
}

TEST(EventCorrelator, ManySimilarOnesAreCombined) {
  EventCorrelator correlator({.burst = 1000});
  std::set<std::string> keys;
  for (int i = 0; i < 50; ++i) {
    Event event = event_on("a", "message " + std::to_string(i));
    keys.insert(correlator.judge(event, seconds(i)).key);
    bool combined = event.message.view().starts_with("(combined from similar events): message");
    EXPECT_EQ(combined, i >= 9) << i;
  }
  EXPECT_EQ(keys.size(), 10u);  // nine by themselves and one for the rest
  // Another object is not affected, and after the window the counting restarts.
  Event other = event_on("b", "message 50");
  correlator.judge(other, seconds(50));
  EXPECT_EQ(other.message, "message 50");
  Event later = event_on("a", "message 51");
  correlator.judge(later, minutes(12));
  EXPECT_EQ(later.message, "message 51");
}

TEST(EventCorrelator, OneObjectGetsABurstThenOneInFiveMinutes) {
  EventCorrelator correlator({});
  auto writes = [&](std::string_view node, Duration at) {
    Event event = event_on(node, "x");
    return correlator.judge(event, at).write;
  };
  for (int i = 0; i < 25; ++i) EXPECT_TRUE(writes("a", seconds(i)));
  EXPECT_FALSE(writes("a", seconds(26)));
  EXPECT_TRUE(writes("b", seconds(26)));
  EXPECT_TRUE(writes("a", seconds(30) + minutes(5)));
  EXPECT_FALSE(writes("a", seconds(31) + minutes(5)));
  for (int i = 0; i < 25; ++i) EXPECT_TRUE(writes("a", hours(10)));
  EXPECT_FALSE(writes("a", hours(10)));
}

TEST(WarningEvents, HaveABudgetOfTheirOwn) {
  EventCorrelator correlator({});
  auto writes = [&](std::string_view type, int i) {
    Event event = event_on("a", std::to_string(i));
    event.type = type;
    return correlator.judge(event, seconds(i)).write;
  };
  for (int i = 0; i < 25; ++i) EXPECT_TRUE(writes("Normal", i));
  EXPECT_FALSE(writes("Normal", 26));
  for (int i = 0; i < 25; ++i) EXPECT_TRUE(writes("Warning", 27 + i));
  EXPECT_FALSE(writes("Warning", 60));
}

TEST(EventCorrelator, MemoryIsBounded) {
  RecentMap<int> map(3);
  for (int i = 0; i < 10; ++i) {
    map.put(std::to_string(i), i);
    map.find("0");
  }
  EXPECT_EQ(map.size(), 3u);
  EXPECT_NE(map.find("0"), nullptr);  // used all the time
  EXPECT_NE(map.find("9"), nullptr);
  EXPECT_EQ(map.find("5"), nullptr);
  map.put("9", 90);
  EXPECT_EQ(*map.find("9"), 90);
  map.erase("9");
  map.erase("never");
  EXPECT_EQ(map.find("9"), nullptr);
}

TEST(BoundedMessage, CutsBetweenCharacters) {
  EXPECT_EQ(bounded_message("short", 1024), "short");
  EXPECT_EQ(bounded_message(std::string(1024, 'x'), 1024).size(), 1024u);
  EXPECT_EQ(bounded_message("abcdefgh", 6), "abc...");
  EXPECT_EQ(bounded_message("ab€cdefgh", 7), "ab...");
  EXPECT_EQ(bounded_message("a\xff\xfe", 10), "a??");
  EXPECT_EQ(bounded_message("a\xe2\x82", 10), "a??");
  for (size_t length = 0; length < 400; ++length) {
    std::string text;
    for (size_t i = 0; i < length; ++i) text += i % 3 == 0 ? "é" : i % 3 == 1 ? "😀" : "x";
    for (size_t limit : {3u, 64u, 65u, 66u, 67u}) {
      std::string bounded = bounded_message(text, limit);
      EXPECT_LE(bounded.size(), limit);
      EXPECT_TRUE(is_valid_utf8(bounded));
    }
  }
}

}  // namespace
}  // namespace lockstep::kube::event_correlator_test
