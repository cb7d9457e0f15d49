#include "dashboard/event_streams.h"

#include <gtest/gtest.h>

#include "http/raw_client_test_util.h"
#include "http/server.h"

namespace lockstep::dashboard::event_streams_test {
namespace {

using http::testing::RawClient;

constexpr Duration patience = test_patience;

struct Scene {
  explicit Scene(Duration heartbeat = minutes(10)) : streams(loop, ring, heartbeat) {
    auto listening = http::Server::listen(
        loop, log, "127.0.0.1:0",
        [this](const http::Request& request, const http::Server::Respond& respond) {
          respond(streams.open(request));
        });
    EXPECT_TRUE(listening) << (listening ? "" : listening.error().text());
    server = std::move(*listening);
  }
  void push(std::string_view data) {
    ring.push(ring.last() + 1, data);
    streams.wake();
  }
  RawClient listen(const std::string& after, const std::string& headers = "") {
    RawClient client(loop, server->port());
    client.say("GET /?after=" + after + " HTTP/1.1\r\nHost: localhost\r\n" + headers + "\r\n");
    EXPECT_TRUE(client.hear_of("retry: 1000"));
    return client;
  }

  EventLoop loop;
  MemoryLog log;
  EventRing ring{"e", {.events = 4, .bytes = 1 << 20}};
  EventStreams streams;
  std::unique_ptr<http::Server> server;
};

TEST(EventStreams, GoOnAfterWhatWasSeen) {
  Scene scene;
  scene.push("one");
  scene.push("two");
  RawClient client = scene.listen("e%3A1");
  EXPECT_TRUE(client.hear_of("id: e:2\ndata: two\n\n"));
  EXPECT_EQ(client.heard().find("data: one"), std::string::npos);
  EXPECT_NE(client.heard().find("Content-Type: text/event-stream"), std::string::npos);
  EXPECT_EQ(scene.server->streams(), 1U);
  scene.push("three");
  EXPECT_TRUE(client.hear_of("id: e:3\ndata: three\n\n"));
  client.leave();
  EXPECT_TRUE(scene.loop.run_until([&] { return scene.server->streams() == 0; }, patience));
  scene.push("four");
}

TEST(EventStreams, TheHeaderOfAReconnectCountsMoreThanTheAddress) {
  Scene scene;
  scene.push("one");
  scene.push("two");
  RawClient client = scene.listen("e:0", "Last-Event-ID: e:1\r\n");
  EXPECT_TRUE(client.hear_of("data: two"));
  EXPECT_EQ(client.heard().find("data: one"), std::string::npos);
}

TEST(EventStreams, APageThatCannotGoOnIsToldToBeginAgain) {
  Scene scene;
  for (int i = 0; i < 9; ++i) scene.push("x");
  for (const char* seen : {"e:2", "other:8", "", "e:99"}) {
    RawClient client = scene.listen(seen);
    EXPECT_TRUE(client.hear_of("event: reset")) << seen;
    scene.push("after");
    EXPECT_TRUE(client.hear_of("data: after")) << seen;
  }
}

// More than it takes, so that the ring drops what it has not seen.
TEST(EventStreams, APageThatFallsBehindIsToldToBeginAgain) {
  Scene scene;
  RawClient client = scene.listen("e:0");
  for (int i = 0; i < 12; ++i) scene.push(std::string(4 << 20, 'x'));
  EXPECT_TRUE(client.hear_of("event: reset"));
  scene.push("after");
  EXPECT_TRUE(client.hear_of("data: after"));
}

TEST(EventStreams, HeartbeatsKeepAPageListening) {
  Scene scene(milliseconds(10));
  RawClient client = scene.listen("");
  EXPECT_TRUE(client.hear_of("\n:\n\n"));
}

}  // namespace
}  // namespace lockstep::dashboard::event_streams_test
