#include "kube/http_watch.h"

#include <gtest/gtest.h>

#include "kube/http_api_test_util.h"

namespace lockstep::kube::http_watch_test {
namespace {

using testing::Client;
using testing::Gate;
using testing::ReceivedRequest;
using testing::ScriptedServer;
using testing::ServerConnection;

std::string event(const std::string& type, const std::string& name) {
  return fmt::format("{{\"type\":\"{}\",\"object\":{{\"name\":\"{}\"}}}}\n", type, name);
}

// A watch on pods that records its events.
struct Watcher {
  explicit Watcher(const std::string& server) : client(server) {
    request.type = resource::pods;
    request.ns = "a";
    request.resource_version = "17";
  }
  void start() {
    watch = client.api().watch(request,
                               {[this](WatchEvent event) {
                                  seen.push_back(fmt::format("{} {}", to_string(event.type),
                                                             std::get<std::string>(event.object)));
                                  if (on_event) on_event();
                                },
                                [this](Error error) {
                                  EXPECT_FALSE(end.has_value()) << "ended twice";
                                  end = std::move(error);
                                  if (on_end) on_end();
                                }});
  }
  bool run_to_end() {
    return client.run_until([this] { return end.has_value(); });
  }
  // Lets everything happen that is due.
  void settle() {
    bool later = false;
    client.loop.after(milliseconds(1), [&] { later = true; });
    ASSERT_TRUE(client.run_until([&] { return later; }));
  }

  Client client;
  WatchRequest request;
  std::vector<std::string> seen;
  std::optional<Error> end;
  std::function<void()> on_event;
  std::function<void()> on_end;
  std::unique_ptr<Watch> watch;
};

const std::vector<std::string> two_seen = {R"(ADDED {"name":"x"})", R"(DELETED {"name":"y"})"};

TEST(HttpWatchTest, EventsThenACleanEnd) {
  ScriptedServer server([](const ReceivedRequest&, ServerConnection& connection) {
    connection.begin_stream();
    connection.chunk(event("ADDED", "x") + event("DELETED", "y"));
    connection.end_stream();
  });
  Watcher watcher(server.url());
  watcher.start();
  EXPECT_TRUE(watcher.seen.empty());
  ASSERT_TRUE(watcher.run_to_end());
  EXPECT_EQ(watcher.seen, two_seen);
  EXPECT_EQ(watcher.end->kind, ErrorKind::timed_out);
  const ReceivedRequest request = server.requests().at(0);
  EXPECT_EQ(request.target,
            "/api/v1/namespaces/a/"
            "pods?watch=true&allowWatchBookmarks=true&resourceVersion=17&timeoutSeconds=300");
  EXPECT_EQ(request.header("accept-encoding"), "");
}

TEST(HttpWatchTest, EventsArriveWhileTheStreamIsOpen) {
  Gate first_seen;
  ScriptedServer server([&](const ReceivedRequest&, ServerConnection& connection) {
    connection.begin_stream();
    connection.chunk(event("ADDED", "x") + "{\"type\":\"DELE");
    EXPECT_TRUE(first_seen.wait());
    connection.chunk("TED\",\"object\":{\"name\":\"y\"}}\n");
    connection.end_stream();
  });
  Watcher watcher(server.url());
  watcher.on_event = [&] { first_seen.open(); };
  watcher.start();
  ASSERT_TRUE(watcher.run_to_end());
  EXPECT_EQ(watcher.seen, two_seen);
}

TEST(HttpWatchTest, ByteByByte) {
  ScriptedServer server([](const ReceivedRequest&, ServerConnection& connection) {
    connection.begin_stream();
    for (char byte : event("ADDED", "x") + event("DELETED", "y")) {
      connection.chunk(std::string(1, byte));
    }
    connection.end_stream();
  });
  Watcher watcher(server.url());
  watcher.start();
  ASSERT_TRUE(watcher.run_to_end());
  EXPECT_EQ(watcher.seen, two_seen);
}

TEST(HttpWatchTest, AnErrorEventEndsIt) {
  ScriptedServer server([](const ReceivedRequest&, ServerConnection& connection) {
    connection.begin_stream();
    connection.chunk(event("ADDED", "x") +
                     R"({"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired",)"
                     R"("message":"too old"}})"
                     "\n" +
                     event("ADDED", "never"));
    connection.wait_for_close();
  });
  Watcher watcher(server.url());
  watcher.start();
  ASSERT_TRUE(watcher.run_to_end());
  EXPECT_EQ(watcher.end->kind, ErrorKind::expired);
  EXPECT_EQ(watcher.end->text(), "watch pods: too old");
  EXPECT_EQ(watcher.seen.size(), 1U);
}

TEST(HttpWatchTest, RefusedAtTheStart) {
  const std::vector<std::pair<int, ErrorKind>> cases = {
      {410, ErrorKind::expired},   {401, ErrorKind::unauthorized}, {403, ErrorKind::forbidden},
      {404, ErrorKind::not_found}, {429, ErrorKind::throttled},    {500, ErrorKind::internal}};
  for (const auto& [code, kind] : cases) {
    ScriptedServer server([code = code](const ReceivedRequest&, ServerConnection& connection) {
      connection.answer(code, R"({"kind":"Status","message":"not now"})");
    });
    Watcher watcher(server.url());
    watcher.start();
    ASSERT_TRUE(watcher.run_to_end());
    EXPECT_EQ(watcher.end->kind, kind) << code;
    EXPECT_EQ(watcher.end->message, "not now");
    EXPECT_TRUE(watcher.seen.empty());
  }
}

TEST(HttpWatchTest, HalfALineThenDropped) {
  for (const bool clean : {false, true}) {
    ScriptedServer server([clean](const ReceivedRequest&, ServerConnection& connection) {
      connection.begin_stream();
      connection.chunk(event("ADDED", "x") + "{\"type\":\"ADD");
      if (clean) {
        connection.end_stream();
      } else {
        connection.drop();
      }
    });
    Watcher watcher(server.url());
    watcher.start();
    ASSERT_TRUE(watcher.run_to_end());
    EXPECT_EQ(watcher.seen.size(), 1U);
    EXPECT_EQ(watcher.end->kind, ErrorKind::unreachable) << clean;
  }
}

TEST(HttpWatchTest, WhatIsNoEventEndsIt) {
  ScriptedServer server([](const ReceivedRequest&, ServerConnection& connection) {
    connection.answer(200, "<html>Log in first</html>\n");
  });
  Watcher watcher(server.url());
  watcher.start();
  ASSERT_TRUE(watcher.run_to_end());
  EXPECT_EQ(watcher.end->kind, ErrorKind::internal);
}

TEST(HttpWatchTest, AnEventOverTheLimitEndsIt) {
  ScriptedServer server([](const ReceivedRequest&, ServerConnection& connection) {
    connection.begin_stream();
    connection.chunk(std::string(200, 'x'));
    connection.wait_for_close();
  });
  Watcher watcher(server.url());
  watcher.client.config.event_limit = 100;
  watcher.start();
  ASSERT_TRUE(watcher.run_to_end());
  EXPECT_EQ(watcher.end->kind, ErrorKind::too_large);
}

TEST(HttpWatchTest, SilenceEndsIt) {
  ScriptedServer server([](const ReceivedRequest&, ServerConnection& connection) {
    connection.begin_stream();
    connection.chunk(event("ADDED", "x"));
    EXPECT_TRUE(connection.wait_for_close());
  });
  Watcher watcher(server.url());
  watcher.request.silence_limit = milliseconds(100);
  watcher.start();
  ASSERT_TRUE(watcher.run_to_end());
  EXPECT_EQ(watcher.end->kind, ErrorKind::unreachable);
  EXPECT_NE(watcher.end->message.find("nothing came"), std::string::npos);
}

TEST(HttpWatchTest, AServerThatNeverEndsItIsLeft) {
  ScriptedServer server([](const ReceivedRequest&, ServerConnection& connection) {
    connection.begin_stream();
    EXPECT_TRUE(connection.wait_for_close());
  });
  Watcher watcher(server.url());
  watcher.request.limit = milliseconds(10);
  watcher.client.config.watch_grace = milliseconds(10);
  watcher.start();
  ASSERT_TRUE(watcher.run_to_end());
  EXPECT_EQ(watcher.end->kind, ErrorKind::timed_out);
  EXPECT_NE(watcher.end->message.find("did not end the watch"), std::string::npos);
}

TEST(HttpWatchTest, NobodyThere) {
  std::string url;
  {
    ScriptedServer server([](const ReceivedRequest&, ServerConnection&) {});
    url = server.url();
  }
  Watcher watcher(url);
  watcher.start();
  ASSERT_TRUE(watcher.run_to_end());
  EXPECT_EQ(watcher.end->kind, ErrorKind::unreachable);
}

TEST(HttpWatchTest, A401IsAskedAgainWithTheNewToken) {
  Gate replaced;
  ScriptedServer server([&](const ReceivedRequest& request, ServerConnection& connection) {
    if (request.header("authorization") != "Bearer new") {
      EXPECT_TRUE(replaced.wait());
      return connection.answer(401, "{}");
    }
    connection.begin_stream();
    connection.chunk(event("ADDED", "x") + event("DELETED", "y"));
    connection.end_stream();
  });
  Watcher watcher(server.url());
  watcher.client.user.token_file = "/token";
  watcher.client.files.contents["/token"] = "old";
  watcher.start();
  ASSERT_TRUE(watcher.client.run_until([&] { return !server.requests().empty(); }));
  watcher.client.files.contents["/token"] = "new";
  replaced.open();
  ASSERT_TRUE(watcher.run_to_end());
  EXPECT_EQ(watcher.seen, two_seen);
  EXPECT_EQ(server.requests().size(), 2U);
}

ScriptedServer::Script many_events() {
  return [](const ReceivedRequest&, ServerConnection& connection) {
    connection.begin_stream();
    std::string events;
    for (int i = 0; i < 10; ++i) events += event("ADDED", "x");
    connection.chunk(events);
    connection.wait_for_close();
  };
}

TEST(HttpWatchTest, DestroyedInsideItsOwnCallback) {
  ScriptedServer server(many_events());
  Watcher watcher(server.url());
  watcher.on_event = [&] { watcher.watch.reset(); };
  watcher.start();
  ASSERT_TRUE(watcher.client.run_until([&] { return !watcher.seen.empty(); }));
  watcher.settle();
  EXPECT_EQ(watcher.seen.size(), 1U);
  EXPECT_FALSE(watcher.end.has_value());
}

TEST(HttpWatchTest, TheApiDestroyedInsideItsCallback) {
  ScriptedServer server(many_events());
  Watcher watcher(server.url());
  watcher.on_event = [&] { watcher.client.made.reset(); };
  watcher.start();
  ASSERT_TRUE(watcher.client.run_until([&] { return !watcher.seen.empty(); }));
  watcher.settle();
  EXPECT_EQ(watcher.seen.size(), 1U);
  EXPECT_FALSE(watcher.end.has_value());
  watcher.watch.reset();
}

TEST(HttpWatchTest, BothDestroyedInsideTheEnd) {
  ScriptedServer server([](const ReceivedRequest&, ServerConnection& connection) {
    connection.begin_stream();
    connection.end_stream();
  });
  Watcher watcher(server.url());
  watcher.on_end = [&] {
    watcher.client.made.reset();
    watcher.watch.reset();
  };
  watcher.start();
  ASSERT_TRUE(watcher.run_to_end());
}

TEST(HttpWatchTest, TheApiGoesFirstAndNothingIsCalled) {
  ScriptedServer server(many_events());
  Watcher watcher(server.url());
  watcher.request.silence_limit = milliseconds(1);
  watcher.start();
  watcher.client.made.reset();
  watcher.settle();
  watcher.settle();
  EXPECT_TRUE(watcher.seen.empty());
  EXPECT_FALSE(watcher.end.has_value());
}

TEST(HttpWatchTest, DestroyedBeforeItBegan) {
  ScriptedServer server(many_events());
  Watcher watcher(server.url());
  watcher.start();
  watcher.watch.reset();
  watcher.settle();
  EXPECT_TRUE(server.requests().empty());
}

TEST(HttpWatchTest, WatchesDoNotTakeTheCallsPlaces) {
  ScriptedServer server([](const ReceivedRequest& request, ServerConnection& connection) {
    if (request.target.find("watch=true") == std::string::npos) return connection.answer(200, "{}");
    connection.begin_stream();
    connection.chunk(event("ADDED", "x"));
    connection.wait_for_close();
  });
  Watcher watcher(server.url());
  watcher.client.config.in_flight_limit = 1;
  watcher.start();
  ASSERT_TRUE(watcher.client.run_until([&] { return !watcher.seen.empty(); }));
  EXPECT_TRUE(watcher.client.call(get(resource::nodes, {"", "n"})).has_value());
}

}  // namespace
}  // namespace lockstep::kube::http_watch_test
