// Raw sockets against the server: what a broken or hostile client does.
#include "apiserver/door/http_server.h"

#include <algorithm>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "apiserver/door/embedded_server.h"

namespace lockstep::apiserver::http_server_test {
namespace {

// A client that sends exactly the given bytes. Every wait is bounded.
class RawClient {
 public:
  explicit RawClient(uint16_t port) : socket_(socket(AF_INET, SOCK_STREAM, 0)), port_(port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }
  ~RawClient() { hang_up(); }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  bool connected() const { return connected_; }
  // "Host: x" is sent as the server's own address.
  void send_text(std::string_view request) {
    std::string whole(request);
    const std::string host = "Host: 127.0.0.1:" + std::to_string(port_) + "\r";
    for (size_t at = whole.find("Host: x\r"); at != std::string::npos;
         at = whole.find("Host: x\r")) {
      whole.replace(at, 8, host);
    }
    send_bytes(whole);
  }
  void send_bytes(std::string_view text) {
    while (!text.empty()) {
      ssize_t sent = ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;
      text.remove_prefix(static_cast<size_t>(sent));
    }
  }
  // Reads until the text holds `mark`, or the other side closes.
  std::string read_until(std::string_view mark) {
    char buffer[4096];
    while (received_.find(mark) == std::string::npos) {
      pollfd ready{socket_, POLLIN, 0};
      if (poll(&ready, 1, 20'000) <= 0) break;
      ssize_t size = recv(socket_, buffer, sizeof buffer, 0);
      if (size <= 0) {
        closed_ = true;
        break;
      }
      received_.append(buffer, static_cast<size_t>(size));
    }
    return std::exchange(received_, {});
  }
  // What is there now; true when the other side has closed.
  bool drain() {
    char buffer[65536];
    pollfd ready{socket_, POLLIN, 0};
    while (!closed_ && poll(&ready, 1, 10) > 0) {
      if (recv(socket_, buffer, sizeof buffer, 0) <= 0) closed_ = true;
    }
    return closed_;
  }
  bool closed() const { return closed_; }
  void hang_up() {
    if (socket_ >= 0) close(socket_);
    socket_ = -1;
  }

 private:
  int socket_;
  uint16_t port_;
  bool connected_ = false;
  bool closed_ = false;
  std::string received_;
};

struct HttpServerTest : ::testing::Test {
  void SetUp() override { start({}); }
  void start(EmbeddedOptions options) {
    options.open = options.token.empty() && !options.tls;
    auto started = EmbeddedServer::start(std::move(options));
    ASSERT_TRUE(started) << started.error().text();
    server = std::move(*started);
  }
  // The server still serves.
  void expect_alive() {
    RawClient client(server->port());
    ASSERT_TRUE(client.connected());
    client.send_text("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_NE(client.read_until("ok").find("200 OK"), std::string::npos);
  }
  std::unique_ptr<EmbeddedServer> server;
};

TEST_F(HttpServerTest, OneConnectionServesManyRequests) {
  RawClient client(server->port());
  for (int i = 0; i < 3; ++i) {
    client.send_text("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_NE(client.read_until("\r\n\r\nok").find("200 OK"), std::string::npos);
  }
  // Two at once.
  client.send_text(
      "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\nGET /version HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_NE(client.read_until("gitVersion").find("gitVersion"), std::string::npos);
}

TEST_F(HttpServerTest, EveryAnswerSaysTheTime) {
  RawClient client(server->port());
  client.send_text("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
  std::string answer = client.read_until("\r\n\r\nok");
  size_t at = answer.find("\r\nDate: ");
  ASSERT_NE(at, std::string::npos) << answer;
  std::string date = answer.substr(at + 8, answer.find('\r', at + 2) - at - 8);
  EXPECT_EQ(date.size(), std::string("Sun, 06 Nov 1994 08:49:37 GMT").size()) << date;
  EXPECT_TRUE(date.ends_with(" GMT")) << date;
}

TEST_F(HttpServerTest, AMalformedRequestGets400) {
  for (const char* text : {"NONSENSE\r\n\r\n", "GET / HTTP/1.1\r\n\r\n", "GET  / HTTP/1.1\r\n\r\n",
                           "POST /api/v1/nodes HTTP/1.1\r\nContent-Length: abc\r\n\r\n"}) {
    RawClient client(server->port());
    client.send_text(text);
    std::string answer = client.read_until("\"code\":400");
    EXPECT_NE(answer.find("400 Bad Request"), std::string::npos) << text << "\n" << answer;
  }
  expect_alive();
}

TEST_F(HttpServerTest, TooLargeABodyGets413) {
  RawClient client(server->port());
  client.send_text("POST /api/v1/nodes HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n");
  EXPECT_NE(client.read_until("RequestEntityTooLarge").find(" 413 "), std::string::npos);
  expect_alive();
}

TEST_F(HttpServerTest, TooLargeAHeaderIsRefused) {
  RawClient client(server->port());
  client.send_text("GET / HTTP/1.1\r\nX: " + std::string(100'000, 'x') + "\r\n\r\n");
  EXPECT_NE(client.read_until("too large").find("HTTP/1.1 431 "), std::string::npos);
  expect_alive();
}

TEST_F(HttpServerTest, AHalfSentRequestHurtsNobodyAndIsEndedInTime) {
  EmbeddedOptions options;
  options.http.request_limit = seconds(2);
  options.http.idle_limit = seconds(2);
  start(std::move(options));
  RawClient half(server->port());
  half.send_text("POST /api/v1/nodes HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{\"meta");
  expect_alive();
  half.read_until("never");
  EXPECT_TRUE(half.closed());
}

TEST_F(HttpServerTest, AClientThatDiesInAWatchIsForgotten) {
  {
    RawClient client(server->port());
    client.send_text("GET /api/v1/nodes?watch=true HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_NE(client.read_until("chunked").find("200 OK"), std::string::npos);
  }
  server->with_backend([](Backend& backend) {
    (void)handle(
        backend,
        kube::create(resource::nodes, "", JsonObject{{"metadata", JsonObject{{"name", "n"}}}}),
        Caller{});
  });
  expect_alive();
}

TEST_F(HttpServerTest, AWatchStreamsChangesAndEndsByItsTimeLimit) {
  RawClient client(server->port());
  client.send_text("GET /api/v1/nodes?watch=true&timeoutSeconds=1 HTTP/1.1\r\nHost: x\r\n\r\n");
  client.read_until("\r\n\r\n");
  server->with_backend([](Backend& backend) {
    (void)handle(
        backend,
        kube::create(resource::nodes, "", JsonObject{{"metadata", JsonObject{{"name", "n"}}}}),
        Caller{});
  });
  EXPECT_NE(client.read_until("}\n").find("\"ADDED\""), std::string::npos);
  client.read_until("0\r\n\r\n");
  client.read_until("never");
  EXPECT_TRUE(client.closed());
}

TEST_F(HttpServerTest, ASlowWatcherHoldsNobodyUp) {
  EmbeddedOptions options;
  options.backend.log_limit = 50;
  start(std::move(options));
  RawClient slow(server->port());
  slow.send_text("GET /api/v1/configmaps?watch=true HTTP/1.1\r\nHost: x\r\n\r\n");
  slow.read_until("\r\n\r\n");
  // Far more than the sockets buffer: the watcher reads none of it.
  for (int round = 0; round < 40; ++round) {
    server->with_backend([&](Backend& backend) {
      for (int i = 0; i < 10; ++i) {
        (void)handle(
            backend,
            kube::create(resource::config_maps, "default",
                         JsonObject{{"metadata", JsonObject{{"generateName", "c-"}}},
                                    {"data", JsonObject{{"k", std::string(60'000, 'x')}}}}),
            Caller{});
      }
    });
  }
  expect_alive();
  EXPECT_NE(slow.read_until("too old resource version").find("too old resource version"),
            std::string::npos)
      << "it is told that it fell behind";
}

// Many watches that no client reads: each holds a piece, together no more than the limit.
TEST_F(HttpServerTest, WatchesThatDoNotReadAreEndedBeyondTheTotal) {
  EmbeddedOptions options;
  options.http.watch_memory = 300 << 10;
  start(std::move(options));
  std::vector<std::unique_ptr<RawClient>> idle;
  for (int i = 0; i < 12; ++i) {
    idle.push_back(std::make_unique<RawClient>(server->port()));
    idle.back()->send_text("GET /api/v1/configmaps?watch=true HTTP/1.1\r\nHost: x\r\n\r\n");
    idle.back()->read_until("\r\n\r\n");
  }
  // More than the sockets buffer.
  for (int round = 0; round < 200; ++round) {
    server->with_backend([&](Backend& backend) {
      for (int i = 0; i < 5; ++i) {
        (void)handle(
            backend,
            kube::create(resource::config_maps, "default",
                         JsonObject{{"metadata", JsonObject{{"generateName", "c-"}}},
                                    {"data", JsonObject{{"k", std::string(60'000, 'x')}}}}),
            Caller{});
      }
    });
  }
  auto ended = [&] {
    return std::count_if(idle.begin(), idle.end(),
                         [](const auto& client) { return client->drain(); });
  };
  int rounds = 0;
  while (ended() < 6 && rounds < 1000) ++rounds;
  EXPECT_GE(ended(), 6) << "300 KiB hold at most four pieces";
  expect_alive();
}

TEST_F(HttpServerTest, OverTlsAnonymousIsRefusedAndHealthIsOpen) {
  EmbeddedOptions options;
  options.tls = true;
  start(std::move(options));
  EXPECT_EQ(server->url().substr(0, 8), "https://");
  RawClient plain(server->port());
  plain.send_text("GET / HTTP/1.1\r\n\r\n");
  plain.read_until("never");
  EXPECT_TRUE(plain.closed()) << "plain text on a TLS port";
}

TEST_F(HttpServerTest, WithoutItsTokenNothingIsAnswered) {
  EmbeddedOptions options;
  options.token = "right";
  start(std::move(options));
  RawClient client(server->port());
  client.send_text("GET /api/v1/nodes HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_NE(client.read_until("\"code\":401").find(" 401 "), std::string::npos);
  client.send_text("GET /api/v1/nodes HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer wrong\r\n\r\n");
  EXPECT_NE(client.read_until("\"code\":401").find(" 401 "), std::string::npos);
  client.send_text("GET /api/v1/nodes HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer right\r\n\r\n");
  EXPECT_NE(client.read_until("NodeList").find(" 200 "), std::string::npos);
  expect_alive();
}

// What a page in a browser can make: the name of its own site (rebound to this machine), its
// origin, and the types of bodies that need no preflight.
TEST_F(HttpServerTest, APageOfAnotherSiteReachesNothing) {
  const std::string body = R"({"metadata":{"name":"n"}})";
  auto answer_to = [&](const std::string& headers) {
    RawClient client(server->port());
    client.send_text("POST /api/v1/nodes HTTP/1.1\r\n" + headers +
                     "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
    return client.read_until("}").substr(0, 12);
  };
  const std::string json = "Content-Type: application/json\r\n";
  EXPECT_EQ(answer_to("Host: evil.example:" + std::to_string(server->port()) + "\r\n" + json),
            "HTTP/1.1 421");
  EXPECT_EQ(answer_to("Host: x\r\nOrigin: http://evil.example\r\n" + json), "HTTP/1.1 403");
  EXPECT_EQ(answer_to("Host: x\r\nContent-Type: text/plain\r\n"), "HTTP/1.1 415");
  EXPECT_EQ(answer_to("Host: x\r\n"), "HTTP/1.1 415");
  server->with_backend(
      [](Backend& backend) { EXPECT_TRUE(backend.store.shelf("nodes").objects().empty()); });
  EXPECT_EQ(answer_to("Host: x\r\n" + json), "HTTP/1.1 201");
}

TEST_F(HttpServerTest, ATakenPortIsAClearError) {
  EmbeddedOptions options;
  options.port = server->port();
  auto second = EmbeddedServer::start(std::move(options));
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind, ErrorKind::unreachable);
  EXPECT_NE(second.error().message.find("cannot listen"), std::string::npos);
}

}  // namespace
}  // namespace lockstep::apiserver::http_server_test
