#include "controller/status_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdexcept>
#include <sys/socket.h>
#include <vector>

#include <gtest/gtest.h>

#include "base/patience_test_util.h"
#include "base/strings.h"

namespace lockstep::controller::status_server_test {
namespace {

// Far longer than anything here takes: only a broken server reaches it.
constexpr Duration patience = test_patience;

struct Scene {
  explicit Scene(StatusServerOptions options = {}) {
    StatusServer::Handlers handlers;
    handlers["/metrics"] = [this](const std::string&) {
      ++asked;
      return StatusAnswer{200, metrics, "text/plain; version=0.0.4"};
    };
    handlers["/healthz"] = [](const std::string&) { return StatusAnswer{200, "ok\n"}; };
    handlers["/readyz"] = [](const std::string& path) { return StatusAnswer{503, path}; };
    handlers["/broken"] = [](const std::string&) -> StatusAnswer {
      throw std::runtime_error("a bug");
    };
    auto listening = StatusServer::listen(loop, log, "127.0.0.1:0", std::move(handlers), options);
    EXPECT_TRUE(listening) << (listening ? "" : listening.error().text());
    server = std::move(*listening);
  }

  EventLoop loop;
  MemoryLog log;
  int asked = 0;
  std::string metrics = "a 1\n";
  std::unique_ptr<StatusServer> server;
};

class Client {
 public:
  explicit Client(Scene& scene, int receive_buffer = 0)
      : scene_(scene), socket_(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) {
    if (receive_buffer > 0) {
      setsockopt(socket_.get(), SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    }
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(scene.server->port());
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connect(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address);
  }
  // The whole of it, as fast as the server takes it; false: the server is gone.
  bool say(std::string_view text) {
    return scene_.loop.run_until(
        [&] {
          ssize_t size = ::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL);
          if (size > 0) text.remove_prefix(static_cast<size_t>(size));
          if (size < 0 && errno != EAGAIN && errno != ENOTCONN) text = {};
          return text.empty();
        },
        patience);
  }
  void finish_saying() const { shutdown(socket_.get(), SHUT_WR); }
  // Takes what there is; true when the server has ended the connection.
  bool hear() {
    char buffer[65536];
    while (true) {
      ssize_t size = recv(socket_.get(), buffer, sizeof buffer, 0);
      if (size > 0) {
        heard.append(buffer, static_cast<size_t>(size));
        continue;
      }
      if (size == 0) return true;
      if (errno == EAGAIN || errno == EINTR || errno == ENOTCONN) return false;
      broken = true;
      return true;
    }
  }
  bool hear_all() {
    return scene_.loop.run_until([&] { return hear(); }, patience);
  }
  void hang_up() { socket_ = Descriptor(); }
  int code() const {
    return heard.size() < 12 ? 0 : static_cast<int>(parse_integer(heard.substr(9, 3)).value_or(0));
  }
  std::string body() const {
    size_t end = heard.find("\r\n\r\n");
    return end == std::string::npos ? "" : heard.substr(end + 4);
  }

  std::string heard;
  bool broken = false;

 private:
  Scene& scene_;
  Descriptor socket_;
};

std::string get(std::string_view path) {
  return "GET " + std::string(path) + " HTTP/1.1\r\nHost: a\r\n\r\n";
}

std::string ask(Scene& scene, std::string_view request) {
  Client client(scene);
  EXPECT_TRUE(client.say(request));
  EXPECT_TRUE(client.hear_all());
  EXPECT_FALSE(client.broken) << request.substr(0, 60);
  return client.heard;
}

int code_of(const std::string& answer) {
  return static_cast<int>(parse_integer(answer.substr(9, 3)).value_or(0));
}

TEST(StatusServer, AnswersWhatItsHandlersSay) {
  Scene scene;
  EXPECT_EQ(ask(scene, get("/metrics")),
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: 4\r\n"
            "Connection: close\r\n\r\na 1\n");
  EXPECT_EQ(code_of(ask(scene, get("/healthz?verbose"))), 200);
  std::string ready = ask(scene, get("/readyz"));
  EXPECT_EQ(code_of(ready), 503);
  EXPECT_NE(ready.find("\r\n\r\n/readyz"), std::string::npos);
}

TEST(StatusServer, HeadHasTheLengthAndNotTheBody) {
  Scene scene;
  std::string answer = ask(scene, "HEAD /metrics HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_NE(answer.find("Content-Length: 4\r\n"), std::string::npos);
  EXPECT_EQ(answer.substr(answer.size() - 4), "\r\n\r\n");
}

TEST(StatusServer, RefusesWithTheRightCode) {
  Scene scene;
  EXPECT_EQ(code_of(ask(scene, get("/nothing"))), 404);
  EXPECT_EQ(code_of(ask(scene, "POST /nothing HTTP/1.1\r\nHost: a\r\n\r\n")), 404);
  std::string refused =
      ask(scene, "POST /metrics HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx");
  EXPECT_EQ(code_of(refused), 405);
  EXPECT_NE(refused.find("Allow: GET, HEAD\r\n"), std::string::npos);
  EXPECT_EQ(code_of(ask(scene, "hello\r\n\r\n")), 400);
  EXPECT_EQ(code_of(ask(scene, "GET / HTTP/3\r\n\r\n")), 505);
  EXPECT_EQ(scene.asked, 0);
}

TEST(StatusServer, ARequestMayHaveEightKilobytesAndNoMore) {
  Scene scene;
  auto of_size = [](size_t size) {
    std::string text = "GET /healthz HTTP/1.1\r\nHost: a\r\nX: ";
    return text + std::string(size - text.size() - 4, 'x') + "\r\n\r\n";
  };
  EXPECT_EQ(code_of(ask(scene, of_size(8192))), 200);
  EXPECT_EQ(code_of(ask(scene, of_size(8193))), 431);
  // It need not end: and what else is sent does not take the answer away.
  EXPECT_EQ(code_of(ask(scene, std::string(200'000, 'x'))), 431);
}

TEST(StatusServer, ABugInAHandlerIsTheAnswerAndNotTheEnd) {
  Scene scene;
  EXPECT_EQ(code_of(ask(scene, get("/broken"))), 500);
  ASSERT_EQ(scene.log.lines.size(), 1U);
  EXPECT_NE(scene.log.lines[0].find("a bug"), std::string::npos);
  EXPECT_EQ(code_of(ask(scene, get("/healthz"))), 200);
}

TEST(StatusServer, ARequestMayComeByteByByteAndEndItsSide) {
  Scene scene;
  Client client(scene);
  for (char c : get("/healthz")) {
    ASSERT_TRUE(client.say(std::string(1, c)));
    scene.loop.run_until([] { return false; }, microseconds(100));
  }
  client.finish_saying();
  EXPECT_TRUE(client.hear_all());
  EXPECT_EQ(client.body(), "ok\n");
}

TEST(StatusServer, ALongAnswerReachesAClientThatReadsSlowly) {
  Scene scene;
  scene.metrics = std::string(4'000'000, 'm');
  Client client(scene, 4096);
  ASSERT_TRUE(client.say(get("/metrics")));
  // Others are served meanwhile.
  ASSERT_TRUE(scene.loop.run_until([&] { return scene.asked == 1; }, patience));
  EXPECT_EQ(code_of(ask(scene, get("/healthz"))), 200);
  EXPECT_TRUE(client.hear_all());
  EXPECT_FALSE(client.broken);
  EXPECT_EQ(client.body().size(), scene.metrics.size());
}

TEST(StatusServer, AClientThatDiesLeavesNothingBehind) {
  Scene scene;
  scene.metrics = std::string(4'000'000, 'm');
  {
    Client silent(scene);
    Client half(scene);
    Client deaf(scene);
    ASSERT_TRUE(half.say("GET /met"));
    ASSERT_TRUE(deaf.say(get("/metrics")));
    ASSERT_TRUE(scene.loop.run_until(
        [&] { return scene.asked == 1 && scene.server->connections() == 3; }, patience));
  }
  EXPECT_TRUE(scene.loop.run_until([&] { return scene.server->connections() == 0; }, patience));
  EXPECT_EQ(code_of(ask(scene, get("/healthz"))), 200);
}

TEST(StatusServer, AConnectionThatTakesTooLongIsEnded) {
  StatusServerOptions options;
  options.time_limit = milliseconds(50);
  Scene scene(options);
  scene.metrics = std::string(8'000'000, 'm');
  Client silent(scene);
  Client deaf(scene, 4096);
  ASSERT_TRUE(deaf.say(get("/metrics")));
  EXPECT_TRUE(silent.hear_all());
  EXPECT_TRUE(scene.loop.run_until([&] { return scene.server->connections() == 0; }, patience));
  EXPECT_TRUE(deaf.hear_all());
  EXPECT_LT(deaf.body().size(), scene.metrics.size());
}

TEST(StatusServer, WhenAllConnectionsAreTakenTheOldestMakesRoom) {
  StatusServerOptions options;
  options.connections = 4;
  Scene scene(options);
  std::vector<std::unique_ptr<Client>> idle;
  for (size_t i = 0; i < 4; ++i) {
    idle.push_back(std::make_unique<Client>(scene));
    ASSERT_TRUE(
        scene.loop.run_until([&] { return scene.server->connections() == i + 1; }, patience));
  }
  EXPECT_EQ(code_of(ask(scene, get("/healthz"))), 200);
  EXPECT_TRUE(idle[0]->hear_all());
  EXPECT_FALSE(idle[1]->hear());
  EXPECT_LE(scene.server->connections(), 4U);
}

TEST(StatusServer, SaysWhyItCannotListen) {
  Scene scene;
  auto refused = [&](const std::string& address) {
    auto server = StatusServer::listen(scene.loop, scene.log, address, {});
    EXPECT_FALSE(server) << address;
    return server ? "" : server.error().text();
  };
  std::string taken = "127.0.0.1:" + std::to_string(scene.server->port());
  EXPECT_NE(refused(taken).find(taken), std::string::npos);
  EXPECT_NE(refused(taken).find("in use"), std::string::npos);
  EXPECT_NE(refused("localhost").find("no port"), std::string::npos);
  EXPECT_NE(refused("127.0.0.1:http").find("port"), std::string::npos);
  EXPECT_NE(refused("127.0.0.1:65536").find("port"), std::string::npos);
  EXPECT_NE(refused("1.2.3:x:1").find("1.2.3:x:1"), std::string::npos);
  EXPECT_TRUE(StatusServer::listen(scene.loop, scene.log, ":0", {}));
}

TEST(StatusServer, CanBeDestroyedWithOpenConnections) {
  Scene scene;
  Client client(scene);
  ASSERT_TRUE(scene.loop.run_until([&] { return scene.server->connections() == 1; }, patience));
  scene.server.reset();
  EXPECT_TRUE(client.hear_all());
}

}  // namespace
}  // namespace lockstep::controller::status_server_test
