#include "http/status_pages.h"

#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

#include "http/raw_client_test_util.h"

namespace lockstep::http::status_pages_test {
namespace {

using testing::body_of;
using testing::code_of;
using testing::RawClient;

struct Scene {
  Scene() {
    StatusPages pages;
    pages["/metrics"] = [this] {
      ++asked;
      return metrics_page(metrics);
    };
    pages["/healthz"] = [] { return readiness(true); };
    pages["/readyz"] = [] { return readiness(false, "waits for nodes"); };
    pages["/broken"] = []() -> Answer { throw std::runtime_error("a bug"); };
    auto listening = serve_status(loop, log, "127.0.0.1:0", std::move(pages));
    EXPECT_TRUE(listening) << (listening ? "" : listening.error().text());
    server = std::move(*listening);
  }
  std::string ask(std::string_view request) {
    return RawClient::ask(loop, server->port(), request);
  }
  std::string get(const std::string& path) {
    return ask("GET " + path + " HTTP/1.1\r\nHost: a\r\n\r\n");
  }

  EventLoop loop;
  MemoryLog log;
  int asked = 0;
  std::string metrics = "a 1\n";
  std::unique_ptr<Server> server;
};

TEST(StatusPages, AnswerWhatTheProcessSaysAboutItself) {
  Scene scene;
  const std::string answer = scene.get("/metrics");
  EXPECT_EQ(code_of(answer), 200);
  EXPECT_NE(answer.find("Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"),
            std::string::npos);
  EXPECT_EQ(body_of(answer), "a 1\n");
  EXPECT_EQ(body_of(scene.get("/healthz?verbose")), "ok\n");
  const std::string ready = scene.get("/readyz");
  EXPECT_EQ(code_of(ready), 503);
  EXPECT_EQ(body_of(ready), "waits for nodes\n");
}

TEST(StatusPages, RefuseWithTheRightCode) {
  Scene scene;
  EXPECT_EQ(code_of(scene.get("/nothing")), 404);
  EXPECT_EQ(code_of(scene.ask("POST /nothing HTTP/1.1\r\nHost: a\r\n\r\n")), 404);
  const std::string refused =
      scene.ask("POST /metrics HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx");
  EXPECT_EQ(code_of(refused), 405);
  EXPECT_NE(refused.find("Allow: GET, HEAD\r\n"), std::string::npos);
  EXPECT_EQ(code_of(scene.get("/broken")), 500);
  EXPECT_EQ(scene.asked, 0);
}

TEST(StatusPages, ARequestMayHaveEightKilobytesAndNoMore) {
  Scene scene;
  const auto of_size = [](size_t size) {
    const std::string text = "GET /healthz HTTP/1.1\r\nHost: a\r\nX: ";
    return text + std::string(size - text.size() - 4, 'x') + "\r\n\r\n";
  };
  EXPECT_EQ(code_of(scene.ask(of_size(8192))), 200);
  EXPECT_EQ(code_of(scene.ask(of_size(8193))), 431);
}

TEST(StatusPages, AProbeGetsThroughBesideAHundredIdleConnections) {
  Scene scene;
  std::vector<RawClient> idle;
  for (int i = 0; i < 100; ++i) idle.emplace_back(scene.loop, scene.server->port());
  EXPECT_EQ(code_of(scene.get("/healthz")), 200);
  EXPECT_LE(scene.server->connections(), 64U);
}

TEST(StatusPages, SayWhyTheyCannotBeServed) {
  Scene scene;
  const auto refused = [&](const std::string& address) {
    const auto server = serve_status(scene.loop, scene.log, address, {});
    EXPECT_FALSE(server) << address;
    return server ? "" : server.error().text();
  };
  const std::string taken = "127.0.0.1:" + std::to_string(scene.server->port());
  EXPECT_NE(refused(taken).find(taken), std::string::npos);
  EXPECT_NE(refused(taken).find("in use"), std::string::npos);
  EXPECT_NE(refused("localhost").find("no port"), std::string::npos);
  EXPECT_NE(refused("127.0.0.1:http").find("port"), std::string::npos);
  EXPECT_NE(refused("1.2.3:x:1").find("1.2.3:x:1"), std::string::npos);
  EXPECT_TRUE(serve_status(scene.loop, scene.log, ":0", {}));
}

}  // namespace
}  // namespace lockstep::http::status_pages_test
