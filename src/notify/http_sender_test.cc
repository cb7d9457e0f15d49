#include "notify/http_sender.h"

#include <gtest/gtest.h>

#include "base/patience_test_util.h"
#include "http/scripted_server_test_util.h"

namespace lockstep::notify::http_sender_test {
namespace {

using http::testing::ReceivedRequest;
using http::testing::ScriptedServer;
using http::testing::ServerConnection;

struct HttpSenderTest : ::testing::Test {
  static http::AddressGuard here() { return http::AddressGuard::read({"127.0.0.0/8"}).value(); }

  Result<void> send(const std::string& address, Duration limit = test_patience) {
    auto sender = HttpSender::create(address, {}, here(), loop, limit);
    if (!sender) return fail(sender.error());
    std::optional<Result<void>> result;
    (*sender)->send(R"({"a":1})", [&](Result<void> sent) { result = std::move(sent); });
    loop.run_until([&] { return result.has_value(); }, test_patience);
    return result ? *result : fail(ErrorKind::internal, "nobody called back");
  }
  EventLoop loop;
};

TEST_F(HttpSenderTest, PostsJsonToPathAndQuery) {
  ScriptedServer server(
      [](const ReceivedRequest&, ServerConnection& connection) { connection.answer(200, "ok"); });
  auto sent = send(server.url() + "/services/T/B?sig=x%2Fy");
  EXPECT_TRUE(sent.has_value()) << sent.error().text();
  auto requests = server.requests();
  ASSERT_EQ(requests.size(), 1U);
  EXPECT_EQ(requests[0].method, "POST");
  EXPECT_EQ(requests[0].target, "/services/T/B?sig=x%2Fy");
  EXPECT_EQ(requests[0].body, R"({"a":1})");
  EXPECT_EQ(requests[0].header("content-type"), "application/json");
}

TEST_F(HttpSenderTest, AnErrorNamesTheHostAndNotTheSecretPath) {
  ScriptedServer server(
      [](const ReceivedRequest&, ServerConnection& connection) { connection.answer(503, "busy"); });
  auto sent = send(server.url() + "/services/HIDDEN");
  ASSERT_FALSE(sent.has_value());
  EXPECT_EQ(sent.error().kind, ErrorKind::unreachable);
  EXPECT_EQ(sent.error().text(), "127.0.0.1: answered with 503");
}

TEST_F(HttpSenderTest, NobodyThereAndNoAnswerInTime) {
  std::string url;
  {
    ScriptedServer gone([](const ReceivedRequest&, ServerConnection&) {});
    url = gone.url();
  }
  auto nobody = send(url + "/HIDDEN");
  ASSERT_FALSE(nobody.has_value());
  EXPECT_EQ(nobody.error().text().find("HIDDEN"), std::string::npos) << nobody.error().text();
  ScriptedServer silent(
      [](const ReceivedRequest&, ServerConnection& connection) { connection.wait_for_close(); });
  auto late = send(silent.url(), milliseconds(50));
  ASSERT_FALSE(late.has_value());
  EXPECT_EQ(late.error().kind, ErrorKind::timed_out);
}

TEST_F(HttpSenderTest, WhatIsNoAddressIsRefusedWithoutRepeatingIt) {
  for (const char* address : {"", "hooks.example.com/HIDDEN", "ftp://HIDDEN", "https://"}) {
    auto sender = HttpSender::create(address, {}, here(), loop);
    ASSERT_FALSE(sender.has_value()) << address;
    EXPECT_EQ(sender.error().text().find("HIDDEN"), std::string::npos);
  }
}

TEST_F(HttpSenderTest, ARefusedAddressIsAnErrorAtOnceAndIsNotConnectedTo) {
  ScriptedServer server(
      [](const ReceivedRequest&, ServerConnection& connection) { connection.answer(200, "ok"); });
  for (const char* host : {"127.0.0.1", "localhost", "[::ffff:127.0.0.1]"}) {
    auto sender = HttpSender::create(fmt::format("http://{}:{}/HIDDEN", host, server.port()), {},
                                     http::AddressGuard(), loop);
    ASSERT_FALSE(sender) << host;
    EXPECT_EQ(sender.error().text().find("HIDDEN"), std::string::npos);
  }
  EXPECT_EQ(server.connections(), 0U);
}

TEST(JudgeAnswer, WhatMayBeBetterLater) {
  EXPECT_TRUE(judge_answer(200, "h").has_value());
  EXPECT_TRUE(judge_answer(204, "h").has_value());
  for (int code : {408, 429, 500, 503}) {
    EXPECT_EQ(judge_answer(code, "h").error().kind, ErrorKind::unreachable) << code;
  }
  for (int code : {301, 400, 401, 404, 410}) {
    EXPECT_EQ(judge_answer(code, "h").error().kind, ErrorKind::invalid) << code;
  }
}

}  // namespace
}  // namespace lockstep::notify::http_sender_test
