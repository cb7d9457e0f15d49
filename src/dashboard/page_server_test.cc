#include "dashboard/page_server.h"

#include <gtest/gtest.h>

#include "dashboard/page_client_test_util.h"

namespace lockstep::dashboard::page_server_test {
namespace {

struct Scene {
  explicit Scene(PageServerOptions options = {}) {
    auto listening = PageServer::listen(
        loop, log, "127.0.0.1:0", ring,
        [this](const PageRequest& request, const PageServer::Respond& respond) {
          asked.push_back(request);
          if (request.head.path == "/later") {
            waiting = respond;
          } else {
            respond(PageAnswer::json(request.head.path + " " + request.body));
          }
        },
        options);
    EXPECT_TRUE(listening) << (listening ? "" : listening.error().text());
    server = std::move(*listening);
  }
  void push(std::string_view data) {
    ring.push(ring.last() + 1, data);
    server->wake();
  }
  std::string ask(std::string_view request) {
    return PageClient::ask(loop, server->port(), request);
  }
  PageClient stream(const std::string& after) {
    PageClient client(loop, server->port());
    client.say("GET /api/events?after=" + after + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
    EXPECT_TRUE(client.hear_of("retry: 1000"));
    return client;
  }

  EventLoop loop;
  MemoryLog log;
  EventRing ring{"e", {.events = 4, .bytes = 1 << 20}};
  std::vector<PageRequest> asked;
  PageServer::Respond waiting;
  std::unique_ptr<PageServer> server;
};

TEST(PageServer, AnswersAndCloses) {
  Scene scene;
  std::string answer = scene.ask("GET /a?b=c HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(answer.substr(0, 15), "HTTP/1.1 200 OK");
  EXPECT_NE(answer.find("\r\n\r\n/a "), std::string::npos);
  EXPECT_NE(answer.find("Content-Security-Policy:"), std::string::npos);
  ASSERT_EQ(scene.asked.size(), 1U);
  EXPECT_EQ(scene.asked[0].head.query, "b=c");
}

TEST(PageServer, TakesABodyHoweverItIsCut) {
  Scene scene;
  PageClient client(scene.loop, scene.server->port());
  client.say("POST /p HTTP/1.1\r\nHost: localhost\r\nX-Lockstep-Request: 1\r\nContent-Le");
  client.say("ngth: 6\r\n\r\nab");
  client.say("cdef");
  EXPECT_NE(client.rest().find("/p abcdef"), std::string::npos);
}

TEST(PageServer, RefusesWhatIsTooLargeOrNotAllowed) {
  Scene scene({.head_bytes = 200, .body_bytes = 10});
  struct Case {
    std::string request;
    std::string code;
  };
  const std::string post = "POST /p HTTP/1.1\r\nHost: localhost\r\nX-Lockstep-Request: 1\r\n";
  for (const auto& [request, code] : std::vector<Case>{
           {"GET /" + std::string(300, 'a') + " HTTP/1.1\r\nHost: localhost\r\n\r\n", "431"},
           {post + "Content-Length: 11\r\n\r\n", "413"},
           {post + "Transfer-Encoding: chunked\r\n\r\n", "411"},
           {"POST /p HTTP/1.1\r\nHost: localhost\r\n\r\n", "403"},
           {"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", "421"},
           {"PUT / HTTP/1.1\r\nHost: localhost\r\n\r\n", "405"},
           {"rubbish\r\n\r\n", "400"},
       }) {
    EXPECT_EQ(scene.ask(request).substr(9, 3), code) << request;
  }
  EXPECT_TRUE(scene.asked.empty()) << "nobody was asked";
}

TEST(PageServer, AnAnswerMayComeLaterAndItsAskerMayBeGone) {
  Scene scene;
  PageClient client(scene.loop, scene.server->port());
  client.say("GET /later HTTP/1.1\r\nHost: localhost\r\n\r\n");
  scene.loop.run_until([&] { return scene.waiting != nullptr; }, patience);
  client.leave();
  scene.loop.run_until([&] { return scene.server->connections() == 0; }, patience);
  scene.waiting(PageAnswer::json("x"));
  EXPECT_EQ(scene.server->connections(), 0U);
  scene.server.reset();
  scene.waiting(PageAnswer::json("x"));
  EXPECT_EQ(scene.asked.size(), 1U);
}

TEST(PageServer, AStreamGoesOnAfterWhatWasSeen) {
  Scene scene;
  scene.push("one");
  scene.push("two");
  PageClient client = scene.stream("e%3A1");
  EXPECT_TRUE(client.hear_of("id: e:2\ndata: two\n\n"));
  EXPECT_EQ(client.heard().find("data: one"), std::string::npos);
  EXPECT_EQ(scene.server->streams(), 1U);
  scene.push("three");
  EXPECT_TRUE(client.hear_of("id: e:3\ndata: three\n\n"));
  client.leave();
  EXPECT_TRUE(scene.loop.run_until([&] { return scene.server->streams() == 0; }, patience));
}

TEST(PageServer, TheHeaderOfAReconnectCountsMoreThanTheAddress) {
  Scene scene;
  scene.push("one");
  scene.push("two");
  PageClient client(scene.loop, scene.server->port());
  client.say("GET /api/events?after=e:0 HTTP/1.1\r\nHost: localhost\r\nLast-Event-ID: e:1\r\n\r\n");
  EXPECT_TRUE(client.hear_of("data: two"));
  EXPECT_EQ(client.heard().find("data: one"), std::string::npos);
}

TEST(PageServer, WhoCannotGoOnIsToldToBeginAnew) {
  Scene scene;
  for (int i = 0; i < 9; ++i) scene.push("x");
  for (const char* seen : {"e:2", "other:8", "", "e:99"}) {
    PageClient client = scene.stream(seen);
    EXPECT_TRUE(client.hear_of("event: reset")) << seen;
    scene.push("after");
    EXPECT_TRUE(client.hear_of("data: after")) << seen;
  }
}

TEST(PageServer, HeartbeatsKeepAStreamAlive) {
  Scene scene({.heartbeat = milliseconds(10)});
  PageClient client = scene.stream("");
  EXPECT_TRUE(client.hear_of("\n\n:\n\n"));
}

TEST(PageServer, APageThatTakesNothingIsCutOff) {
  Scene scene({.request_limit = milliseconds(50)});
  PageClient client = scene.stream("e:0");
  ASSERT_EQ(scene.server->streams(), 1U);
  // More than the sockets' buffers hold.
  std::string large(4 << 20, 'x');
  for (int i = 0; i < 4; ++i) scene.push(large);
  EXPECT_TRUE(scene.loop.run_until([&] { return scene.server->streams() == 0; }, patience));
}

// A program that only opens connections does not close anyone's page.
TEST(PageServer, ConnectionsThatAskNothingMakeRoomAndPagesStay) {
  for (const auto& options :
       {PageServerOptions{.connections = 4}, PageServerOptions{.connections_per_address = 4}}) {
    Scene scene(options);
    PageClient page = scene.stream("");
    std::vector<PageClient> idle;
    for (int i = 0; i < 20; ++i) idle.emplace_back(scene.loop, scene.server->port());
    EXPECT_NE(scene.ask("GET /a HTTP/1.1\r\nHost: localhost\r\n\r\n").find("200 OK"),
              std::string::npos);
    EXPECT_EQ(scene.server->streams(), 1U);
    EXPECT_LE(scene.server->connections(), 4U);
    scene.push("{}");
    EXPECT_TRUE(page.hear_of("data: {}"));
  }
}

TEST(PageServer, WhenAllAreInUseANewOneIsRefusedAndPagesStay) {
  Scene scene({.connections_per_address = 3});
  PageClient first = scene.stream("");
  PageClient second = scene.stream("");
  PageClient third = scene.stream("");
  EXPECT_EQ(scene.ask("GET /a HTTP/1.1\r\nHost: localhost\r\n\r\n"), "");
  EXPECT_EQ(scene.server->streams(), 3U);
  first.leave();
  EXPECT_TRUE(scene.loop.run_until([&] { return scene.server->connections() == 2; }, patience));
  EXPECT_NE(scene.ask("GET /a HTTP/1.1\r\nHost: localhost\r\n\r\n").find("200 OK"),
            std::string::npos);
}

}  // namespace
}  // namespace lockstep::dashboard::page_server_test
