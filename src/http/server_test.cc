#include "http/server.h"

#include <deque>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

#include "http/raw_client_test_util.h"

namespace lockstep::http::server_test {
namespace {

using testing::body_of;
using testing::code_of;
using testing::RawClient;

constexpr Duration patience = test_patience;

class Words final : public Stream {
 public:
  Piece next() override {
    Piece piece;
    if (!words.empty()) {
      piece.text = std::make_shared<const std::string>(words.front());
      words.pop_front();
    }
    piece.is_last = is_over && words.empty();
    return piece;
  }
  void say(std::string word) {
    words.push_back(std::move(word));
    wake();
  }
  std::deque<std::string> words;
  bool is_over = false;
};

struct Scene {
  explicit Scene(ServerOptions options = {}) {
    auto listening = Server::listen(
        loop, log, "127.0.0.1:0",
        [this](Request request, Server::Respond respond) {
          asked.push_back(request);
          const std::string_view path = request.path();
          if (path == "/later") {
            waiting = std::move(respond);
          } else if (path == "/broken") {
            throw std::runtime_error("a bug");
          } else if (path == "/stream") {
            streams.push_back(std::make_shared<Words>());
            Answer answer;
            answer.stream = streams.back();
            respond(std::move(answer));
          } else if (path == "/pieces") {
            Answer answer;
            answer.more = [left = 3](std::string& out) mutable {
              out += "piece ";
              return --left > 0;
            };
            respond(std::move(answer));
          } else if (path == "/none") {
            respond(plain_answer(304));
          } else {
            respond(plain_answer(
                200, path == "/large" ? large : std::string(path.substr(1)) + request.body));
          }
        },
        std::move(options));
    EXPECT_TRUE(listening) << (listening ? "" : listening.error().text());
    server = std::move(*listening);
  }
  RawClient connect(int receive_buffer = 0) { return {loop, server->port(), receive_buffer}; }
  std::string ask(std::string_view request) {
    return RawClient::ask(loop, server->port(), request);
  }
  bool run_until(const std::function<bool()>& done) { return loop.run_until(done, patience); }
  RawClient stream() {
    RawClient client = connect();
    client.say("GET /stream HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_TRUE(client.hear_of("\r\n\r\n"));
    return client;
  }

  EventLoop loop;
  MemoryLog log;
  std::vector<Request> asked;
  Server::Respond waiting;
  std::string large;
  std::vector<std::shared_ptr<Words>> streams;
  std::unique_ptr<Server> server;
};

ServerOptions one_request_each() {
  ServerOptions options;
  options.keep_alive = false;
  return options;
}

std::string get(const std::string& path) { return "GET " + path + " HTTP/1.1\r\nHost: a\r\n\r\n"; }

TEST(HttpServer, AnswersAndGoesOnWithTheNextRequest) {
  Scene scene;
  RawClient client = scene.connect();
  for (int i = 0; i < 3; ++i) {
    client.say(get("/a"));
    ASSERT_TRUE(client.hear_of("\r\n\r\na\n"));
    EXPECT_NE(client.heard().find("HTTP/1.1 200 OK\r\nDate: "), std::string::npos);
    EXPECT_NE(client.heard().find("Content-Length: 2\r\n"), std::string::npos);
    EXPECT_EQ(client.heard().find("Connection:"), std::string::npos);
    client.forget_heard();
  }
  EXPECT_EQ(scene.server->connections(), 1U);
}

TEST(HttpServer, AnswersRequestsThatCameTogetherInTheirOrder) {
  Scene scene;
  RawClient client = scene.connect();
  std::string all;
  for (int i = 0; i < 100; ++i) all += get("/" + std::to_string(i));
  client.say(all);
  ASSERT_TRUE(client.hear_of("\r\n\r\n99\n"));
  size_t at = 0;
  for (int i = 0; i < 100; ++i) {
    at = client.heard().find("\r\n\r\n" + std::to_string(i) + "\n", at);
    ASSERT_NE(at, std::string::npos) << i;
  }
}

TEST(HttpServer, ARequestThatWaitsForAnAnswerHoldsTheNextOnesBack) {
  Scene scene;
  RawClient client = scene.connect();
  client.say(get("/later") + get("/after"));
  ASSERT_TRUE(scene.run_until([&] { return scene.waiting != nullptr; }));
  EXPECT_EQ(scene.asked.size(), 1U);
  scene.waiting(plain_answer(200, "now"));
  EXPECT_TRUE(client.hear_of("\r\n\r\nafter\n"));
  EXPECT_LT(client.heard().find("\r\n\r\nnow\n"), client.heard().find("\r\n\r\nafter\n"));
}

TEST(HttpServer, TakesABodyHoweverItIsCut) {
  Scene scene(one_request_each());
  RawClient client = scene.connect();
  client.say("POST /p HTTP/1.1\r\nHost: a\r\nContent-Le");
  client.say("ngth: 6\r\n\r\nab");
  client.say("cdef");
  EXPECT_EQ(body_of(client.rest()), "pabcdef\n");
}

TEST(HttpServer, ARequestMayComeByteByByteAndEndItsSide) {
  Scene scene;
  RawClient client = scene.connect();
  for (char c : get("/ok")) {
    ASSERT_TRUE(client.say(std::string(1, c)));
    scene.loop.run_until([] { return false; }, microseconds(100));
  }
  client.finish_saying();
  EXPECT_EQ(body_of(client.rest()), "ok\n");
}

TEST(HttpServer, HeadHasTheLengthAndNotTheBody) {
  Scene scene(one_request_each());
  for (const char* path : {"/abc", "/pieces", "/stream"}) {
    const std::string answer =
        scene.ask(std::string("HEAD ") + path + " HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_EQ(code_of(answer), 200);
    EXPECT_EQ(body_of(answer), "") << path;
  }
  EXPECT_NE(scene.ask("HEAD /abc HTTP/1.1\r\nHost: a\r\n\r\n").find("Content-Length: 4\r\n"),
            std::string::npos);
  EXPECT_EQ(scene.ask(get("/none")).find("Content-Length"), std::string::npos);
}

TEST(HttpServer, ALongAnswerMayComeInPieces) {
  Scene scene(one_request_each());
  EXPECT_EQ(body_of(scene.ask(get("/pieces"))),
            "6\r\npiece \r\n6\r\npiece \r\n6\r\npiece \r\n0\r\n\r\n");
  EXPECT_EQ(body_of(scene.ask("GET /pieces HTTP/1.0\r\n\r\n")), "piece piece piece ")
      << "HTTP/1.0 has no chunks";
}

TEST(HttpServer, RefusesWithTheRightCodeAndAsksNobody) {
  ServerOptions options;
  options.head_bytes = 200;
  options.body_bytes = 10;
  Scene scene(options);
  const std::string post = "POST /p HTTP/1.1\r\nHost: a\r\n";
  struct Case {
    std::string request;
    int code;
  };
  for (const auto& [request, code] : std::vector<Case>{
           {"GET /" + std::string(300, 'a') + " HTTP/1.1\r\nHost: a\r\n\r\n", 431},
           {post + "Content-Length: 11\r\n\r\n", 413},
           {post + "Transfer-Encoding: chunked\r\n\r\nb\r\nab", 413},
           {post + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
           {"rubbish\r\n\r\n", 400},
           {"GET / HTTP/3\r\n\r\n", 505},
           {"GET / HTTP/1.1\r\n\r\n", 400},
           // It need not end: and what else is sent does not take the answer away.
           {std::string(200'000, 'x'), 431},
       }) {
    RawClient client = scene.connect();
    EXPECT_TRUE(client.say(request));
    EXPECT_EQ(code_of(client.rest()), code) << request.substr(0, 60);
    EXPECT_FALSE(client.broken()) << request.substr(0, 60);
    EXPECT_NE(client.heard().find("Connection: close\r\n"), std::string::npos);
  }
  EXPECT_TRUE(scene.asked.empty());
}

TEST(HttpServer, AHandlersBugIsTheAnswerAndNotTheEnd) {
  Scene scene(one_request_each());
  EXPECT_EQ(code_of(scene.ask(get("/broken"))), 500);
  ASSERT_EQ(scene.log.lines.size(), 1U);
  EXPECT_NE(scene.log.lines[0].find("a bug"), std::string::npos);
  EXPECT_EQ(code_of(scene.ask(get("/ok"))), 200);
}

TEST(HttpServer, AnAnswerMayComeLaterAndItsAskerMayBeGone) {
  Scene scene;
  RawClient client = scene.connect();
  client.say(get("/later"));
  ASSERT_TRUE(scene.run_until([&] { return scene.waiting != nullptr; }));
  client.leave();
  ASSERT_TRUE(scene.run_until([&] { return scene.server->connections() == 0; }));
  scene.waiting(plain_answer(200));
  EXPECT_EQ(scene.server->connections(), 0U);
  scene.server.reset();
  scene.waiting(plain_answer(200));
  EXPECT_EQ(scene.asked.size(), 1U);
}

TEST(HttpServer, OnlyTheFirstAnswerCounts) {
  Scene scene;
  RawClient client = scene.connect();
  client.say(get("/later"));
  ASSERT_TRUE(scene.run_until([&] { return scene.waiting != nullptr; }));
  const auto first = std::exchange(scene.waiting, nullptr);
  first(plain_answer(200, "one"));
  first(plain_answer(200, "two"));
  client.say(get("/later"));
  ASSERT_TRUE(scene.run_until([&] { return scene.waiting != nullptr; }));
  first(plain_answer(200, "three"));
  scene.waiting(plain_answer(200, "four"));
  EXPECT_TRUE(client.hear_of("four"));
  EXPECT_EQ(client.heard().find("two"), std::string::npos);
  EXPECT_EQ(client.heard().find("three"), std::string::npos);
}

TEST(HttpServer, AHandlerThatNeverAnswersHasItsLimit) {
  ServerOptions options;
  options.answer_limit = milliseconds(50);
  Scene scene(options);
  EXPECT_EQ(scene.ask(get("/later")), "");
}

TEST(HttpServer, ALongAnswerReachesAClientThatReadsSlowly) {
  Scene scene(one_request_each());
  scene.large = std::string(4'000'000, 'm');
  RawClient client = scene.connect(4096);
  ASSERT_TRUE(client.say(get("/large")));
  // Others are served meanwhile.
  ASSERT_TRUE(scene.run_until([&] { return scene.asked.size() == 1; }));
  EXPECT_EQ(code_of(scene.ask(get("/ok"))), 200);
  EXPECT_EQ(body_of(client.rest()).size(), scene.large.size() + 1);
  EXPECT_FALSE(client.broken());
}

TEST(HttpServer, ClientsThatDieLeaveNothingBehind) {
  Scene scene;
  scene.large = std::string(4'000'000, 'm');
  {
    RawClient silent = scene.connect();
    RawClient half = scene.connect();
    RawClient deaf = scene.connect();
    const RawClient stream = scene.stream();
    ASSERT_TRUE(half.say("GET /met"));
    ASSERT_TRUE(deaf.say(get("/large")));
    ASSERT_TRUE(scene.run_until(
        [&] { return scene.asked.size() == 2 && scene.server->connections() == 4; }));
  }
  EXPECT_TRUE(scene.run_until([&] { return scene.server->connections() == 0; }));
  EXPECT_EQ(scene.server->streams(), 0U);
}

TEST(HttpServer, WhoIsTooSlowIsCutOff) {
  ServerOptions options = one_request_each();
  options.request_limit = milliseconds(50);
  options.write_limit = milliseconds(50);
  Scene scene(options);
  scene.large = std::string(8'000'000, 'm');
  RawClient silent = scene.connect();
  RawClient half = scene.connect();
  RawClient deaf = scene.connect(4096);
  ASSERT_TRUE(half.say("POST /p HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nab"));
  ASSERT_TRUE(deaf.say(get("/large")));
  EXPECT_EQ(silent.rest(), "");
  EXPECT_EQ(half.rest(), "");
  EXPECT_TRUE(scene.run_until([&] { return scene.server->connections() == 0; }));
  EXPECT_LT(deaf.rest().size(), scene.large.size());
}

// A byte now and then does not make a request's time longer.
TEST(HttpServer, ARequestThatDripsIsCutOff) {
  ServerOptions options;
  options.request_limit = milliseconds(100);
  Scene scene(options);
  RawClient client = scene.connect();
  client.say("GET /ok HTTP/1.1\r\nHost: a\r\nX: ");
  ASSERT_TRUE(scene.run_until([&] { return scene.server->connections() == 1; }));
  const Duration begin = scene.loop.uptime();
  while (scene.server->connections() == 1 && scene.loop.uptime() - begin < patience) {
    client.say("x");
    scene.loop.run_until([&] { return scene.server->connections() == 0; }, milliseconds(5));
  }
  EXPECT_EQ(scene.server->connections(), 0U);
  EXPECT_TRUE(scene.asked.empty());
}

TEST(HttpServer, BetweenRequestsAConnectionMayBeIdleForItsTime) {
  ServerOptions options;
  options.request_limit = milliseconds(20);
  options.idle_limit = patience * 2;
  Scene scene(options);
  RawClient client = scene.connect();
  client.say(get("/one"));
  ASSERT_TRUE(client.hear_of("one"));
  scene.loop.run_until([] { return false; }, milliseconds(100));
  client.say(get("/two"));
  EXPECT_TRUE(client.hear_of("two"));
}

// ------------------------------------------------------------------------------------- streams

TEST(HttpServer, AStreamLivesAsLongAsItsClient) {
  Scene scene;
  RawClient client = scene.stream();
  EXPECT_EQ(scene.server->streams(), 1U);
  scene.streams[0]->say("one");
  EXPECT_TRUE(client.hear_of("3\r\none\r\n"));
  // What it says now is thrown away.
  client.say(get("/a"));
  scene.streams[0]->say("two");
  EXPECT_TRUE(client.hear_of("3\r\ntwo\r\n"));
  EXPECT_EQ(scene.asked.size(), 1U);
  client.leave();
  EXPECT_TRUE(scene.run_until([&] { return scene.server->streams() == 0; }));
  scene.streams[0]->say("three");
}

TEST(HttpServer, AStreamEndsWithItsLastPiece) {
  Scene scene;
  RawClient client = scene.stream();
  scene.streams[0]->is_over = true;
  scene.streams[0]->say("bye");
  EXPECT_EQ(body_of(client.rest()), "3\r\nbye\r\n0\r\n\r\n");
  RawClient old = scene.connect();
  old.say("GET /stream HTTP/1.0\r\n\r\n");
  ASSERT_TRUE(old.hear_of("\r\n\r\n"));
  scene.streams[1]->is_over = true;
  scene.streams[1]->say("bye");
  EXPECT_EQ(body_of(old.rest()), "bye") << "HTTP/1.0 has no chunks";
}

TEST(HttpServer, AStreamWhoseClientTakesNothingIsCutOff) {
  ServerOptions options;
  options.write_limit = milliseconds(50);
  Scene scene(options);
  const RawClient client = scene.stream();
  // More than the sockets' buffers hold.
  for (int i = 0; i < 4; ++i) scene.streams[0]->say(std::string(4 << 20, 'x'));
  EXPECT_TRUE(scene.run_until([&] { return scene.server->streams() == 0; }));
}

TEST(HttpServer, StreamsThatAreNotReadAreEndedBeyondTheTotal) {
  ServerOptions options;
  options.stream_bytes = 40 << 20;
  Scene scene(options);
  std::vector<RawClient> clients;
  for (int i = 0; i < 4; ++i) clients.push_back(scene.stream());
  for (const auto& stream : scene.streams) stream->say(std::string(16 << 20, 'x'));
  EXPECT_EQ(scene.server->streams(), 2U) << "two of 16 MiB are within 40";
  EXPECT_LE(scene.server->stream_bytes(), options.stream_bytes);
}

// ------------------------------------------------------------------------------- too many of them

// A program that only opens connections does not take the place of a stream.
TEST(HttpServer, ConnectionsThatAskNothingMakeRoomAndStreamsStay) {
  for (const bool is_total : {true, false}) {
    ServerOptions options = one_request_each();
    (is_total ? options.connections : options.connections_per_address) = 4;
    Scene scene(options);
    RawClient page = scene.stream();
    std::vector<RawClient> idle;
    for (int i = 0; i < 20; ++i) idle.push_back(scene.connect());
    EXPECT_EQ(code_of(scene.ask(get("/a"))), 200);
    EXPECT_EQ(scene.server->streams(), 1U);
    EXPECT_LE(scene.server->connections(), 4U);
    scene.streams[0]->say("{}");
    EXPECT_TRUE(page.hear_of("{}"));
  }
}

TEST(HttpServer, TheOldestThatAsksNothingGoesFirst) {
  ServerOptions options;
  options.connections = 4;
  Scene scene(options);
  std::vector<RawClient> idle;
  for (size_t i = 0; i < 4; ++i) {
    idle.push_back(scene.connect());
    ASSERT_TRUE(scene.run_until([&] { return scene.server->connections() == i + 1; }));
  }
  RawClient fifth = scene.connect();
  fifth.say(get("/a"));
  EXPECT_TRUE(fifth.hear_of("200 OK"));
  EXPECT_EQ(idle[0].rest(), "");
  EXPECT_FALSE(idle[1].hear_now());
}

// A probe must get through although a program holds all connections by answers that it never takes.
TEST(HttpServer, ThoseThatDoNotTakeTheirAnswerMakeRoom) {
  ServerOptions options = one_request_each();
  options.connections = 4;
  Scene scene(options);
  scene.large = std::string(8'000'000, 'm');
  std::vector<RawClient> deaf;
  for (size_t i = 0; i < 4; ++i) {
    deaf.push_back(scene.connect(4096));
    ASSERT_TRUE(deaf.back().say(get("/large")));
    ASSERT_TRUE(scene.run_until([&] { return scene.asked.size() == i + 1; }));
  }
  EXPECT_EQ(code_of(scene.ask(get("/ok"))), 200);
}

TEST(HttpServer, WhenAllAreInUseANewOneIsRefusedAndStreamsStay) {
  ServerOptions options = one_request_each();
  options.connections_per_address = 3;
  Scene scene(options);
  RawClient first = scene.stream();
  const RawClient second = scene.stream();
  const RawClient third = scene.stream();
  EXPECT_EQ(scene.ask(get("/a")), "");
  EXPECT_EQ(scene.server->streams(), 3U);
  first.leave();
  EXPECT_TRUE(scene.run_until([&] { return scene.server->connections() == 2; }));
  EXPECT_EQ(code_of(scene.ask(get("/a"))), 200);
}

TEST(HttpServer, CanBeDestroyedWithOpenConnections) {
  Scene scene;
  RawClient idle = scene.connect();
  RawClient stream = scene.stream();
  ASSERT_TRUE(scene.run_until([&] { return scene.server->connections() == 2; }));
  scene.server.reset();
  EXPECT_EQ(idle.rest(), "");
  stream.rest();
  scene.streams[0]->say("nobody hears it");
}

TEST(HttpServer, DroppedConnectionsAreGoneAndNewOnesServed) {
  Scene scene;
  RawClient stream = scene.stream();
  scene.server->drop_connections();
  EXPECT_EQ(scene.server->connections(), 0U);
  EXPECT_EQ(scene.server->streams(), 0U);
  stream.rest();
  RawClient next = scene.connect();
  next.say(get("/a"));
  EXPECT_TRUE(next.hear_of("200 OK"));
}

TEST(HttpServer, ABrokenIdentityIsNotServed) {
  Scene scene;
  ServerOptions options;
  options.tls = TlsOptions{"no certificate", "no key", ""};
  const auto server = Server::listen(scene.loop, scene.log, "127.0.0.1:0", nullptr, options);
  ASSERT_FALSE(server);
  EXPECT_NE(server.error().message.find("certificate"), std::string::npos);
}

}  // namespace
}  // namespace lockstep::http::server_test
