#include "kube/watch_stream.h"

#include <gtest/gtest.h>

namespace lockstep::kube::watch_stream_test {
namespace {

const std::string two_events =
    "{\"type\":\"ADDED\",\"object\":{\"kind\":\"Pod\",\"note\":\"a\\n}b\"}}\n"
    "\r\n"
    "{ \"object\" : {\"kind\":\"Pod\"} , \"more\":[1,2], \"type\":\"BOOKMARK\" }\n";

std::vector<WatchEvent> drain(WatchStream& stream) {
  std::vector<WatchEvent> events;
  while (auto event = stream.next()) {
    EXPECT_TRUE(event->has_value()) << event->error().text();
    if (!*event) break;
    events.push_back(std::move(**event));
  }
  return events;
}

TEST(WatchStreamTest, SplitsAtEveryPlaceAlike) {
  for (size_t split = 0; split <= two_events.size(); ++split) {
    WatchStream stream(1000);
    stream.append(two_events.substr(0, split));
    std::vector<WatchEvent> events = drain(stream);
    stream.append(two_events.substr(split));
    for (WatchEvent& event : drain(stream)) events.push_back(std::move(event));
    ASSERT_EQ(events.size(), 2U) << split;
    EXPECT_EQ(events[0].type, WatchEventType::added);
    EXPECT_EQ(std::get<std::string>(events[0].object), R"({"kind":"Pod","note":"a\n}b"})");
    EXPECT_EQ(events[1].type, WatchEventType::bookmark);
    EXPECT_EQ(std::get<std::string>(events[1].object), R"({"kind":"Pod"})");
    EXPECT_FALSE(stream.finish().has_value());
  }
}

TEST(WatchStreamTest, ByteByByte) {
  WatchStream stream(1000);
  size_t count = 0;
  for (char byte : two_events) {
    stream.append(std::string_view(&byte, 1));
    count += drain(stream).size();
  }
  EXPECT_EQ(count, 2U);
}

TEST(WatchStreamTest, ALastEventWithoutItsLineBreakCounts) {
  WatchStream stream(1000);
  stream.append(R"({"type":"DELETED","object":{}})");
  EXPECT_FALSE(stream.next().has_value());
  const auto last = stream.finish();
  ASSERT_TRUE(last && *last);
  EXPECT_EQ((*last)->type, WatchEventType::deleted);
}

TEST(WatchStreamTest, HalfAnEventIsABrokenConnection) {
  WatchStream stream(1000);
  stream.append(R"({"type":"DELETED","obj)");
  EXPECT_FALSE(stream.next().has_value());
  const auto last = stream.finish();
  ASSERT_TRUE(last.has_value());
  EXPECT_EQ(last->error().kind, ErrorKind::unreachable);
}

TEST(WatchStreamTest, AnEventOverTheLimitIsAnErrorEvenBeforeItsEnd) {
  WatchStream stream(10);
  stream.append("{\"type\":\"ADD");
  const auto event = stream.next();
  ASSERT_TRUE(event.has_value());
  EXPECT_EQ(event->error().kind, ErrorKind::too_large);
  stream.append("\n{}\n");
  EXPECT_FALSE(stream.next().has_value()) << "nothing comes after an error";
}

TEST(WatchStreamTest, WhatIsNoEventIsAnError) {
  for (const char* line :
       {"hello", "{}", "[]", R"({"type":"ADDED"})", R"({"type":"NEW","object":{}})",
        R"({"type":"ADDED","object":{}} {"type":"ADDED","object":{}})",
        R"({"type":"ADDED","object":{]})", R"({"type":7,"object":{}})"}) {
    const auto event = decode_watch_event(line);
    ASSERT_FALSE(event.has_value()) << line;
    EXPECT_EQ(event.error().kind, ErrorKind::internal) << line;
  }
}

TEST(WatchStreamTest, ErrorEventCarriesItsStatus) {
  const auto event = decode_watch_event(
      R"({"type":"ERROR","object":{"kind":"Status","code":410,"message":"too old resource version"}})");
  ASSERT_TRUE(event.has_value());
  EXPECT_EQ(error_of_event(*event).kind, ErrorKind::expired);
  EXPECT_EQ(error_of_event(*event).message, "too old resource version");
}

}  // namespace
}  // namespace lockstep::kube::watch_stream_test
