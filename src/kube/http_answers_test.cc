#include <algorithm>

#include <gtest/gtest.h>

#include "kube/http_api.h"
#include "kube/http_api_test_util.h"

namespace lockstep::kube::http_answers_test {
namespace {

using testing::always;
using testing::Client;
using testing::Gate;
using testing::get_node;
using testing::ReceivedRequest;
using testing::ScriptedServer;
using testing::ServerConnection;

// One exchange without an Api around it.
Result<http::Response> ask(const ScriptedServer& server, const http::Exchange& exchange) {
  EventLoop loop;
  http::Client transport(loop);
  http::Route route;
  route.endpoint = http::parse_endpoint(server.url(), false).value();
  Result<http::Response> answer = fail(ErrorKind::internal, "the test waited too long");
  bool done = false;
  transport.start(route, exchange, {nullptr, [&](Result<http::Response> result) {
                                      answer = std::move(result);
                                      done = true;
                                    }});
  loop.run_until([&] { return done; }, testing::patience);
  return answer;
}

TEST(HttpAnswersTest, AnswerInPieces) {
  ScriptedServer server([](const ReceivedRequest&, ServerConnection& connection) {
    connection.begin_stream();
    for (char byte : std::string(R"({"kind":"Node"})")) connection.chunk(std::string(1, byte));
    connection.end_stream();
  });
  Client client(server.url());
  const auto document = document_of(client.call(get_node()));
  ASSERT_TRUE(document.has_value()) << document.error().text();
  EXPECT_EQ(text_at(**document, "kind"), "Node");
}

TEST(HttpAnswersTest, HeadersThatAreWanted) {
  ScriptedServer server(always(200, "", "LOCATION:  /a \r\nOther: x\r\nLocation: /b\r\n"));
  http::Exchange exchange;
  exchange.wanted_headers = {"location", "missing"};
  const auto answer = ask(server, exchange);
  const std::vector<std::pair<std::string, std::string>> expected = {{"location", "/a"},
                                                                     {"location", "/b"}};
  EXPECT_EQ(answer.value().headers, expected);
}

// The length of an answer to HEAD is that of a body that does not follow.
TEST(HttpAnswersTest, HeadHasNoBody) {
  ScriptedServer server([](const ReceivedRequest&, ServerConnection& connection) {
    connection.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n");
  });
  http::Exchange exchange;
  exchange.method = "HEAD";
  const auto answer = ask(server, exchange);
  EXPECT_EQ(answer.value().code, 200);
  EXPECT_EQ(server.requests().at(0).method, "HEAD");
}

TEST(HttpAnswersTest, AnswerCompressed) {
  const std::string zipped(
      "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\xab\x56\xca\xce\xcc\x4b\x51\xb2\x52\xf2\xcb\x4f\x49"
      "\x55\xaa\x05\x00\x0b\x8d\x58\x18\x0f\x00\x00\x00",
      35);
  ScriptedServer server(always(200, zipped, "Content-Encoding: gzip\r\n"));
  Client client(server.url());
  const auto document = document_of(client.call(get_node()));
  ASSERT_TRUE(document.has_value()) << document.error().text();
  EXPECT_EQ(text_at(**document, "kind"), "Node");
}

TEST(HttpAnswersTest, CompressionCanBeOff) {
  ScriptedServer server(always(200, "{}"));
  Client client(server.url());
  client.config.cluster.disable_compression = true;
  ASSERT_TRUE(client.call(get_node()).has_value());
  EXPECT_EQ(server.requests().at(0).header("accept-encoding"), "");
}

TEST(HttpAnswersTest, ARefusalIsAnAnswerAndIsNotRetried) {
  ScriptedServer server(always(429,
                               R"({"kind":"Status","reason":"TooManyRequests","message":"slow"})",
                               "Retry-After: 7\r\n"));
  Client client(server.url());
  const Reply reply = client.call(get_node());
  ASSERT_TRUE(reply.has_value()) << reply.error().text();
  EXPECT_EQ(reply->code, 429);
  EXPECT_EQ(reply->retry_after, seconds(7));
  EXPECT_EQ(reply->error().kind, ErrorKind::throttled);
  EXPECT_EQ(server.requests().size(), 1U);
}

TEST(HttpAnswersTest, RedirectsAreNotFollowed) {
  ScriptedServer server(always(302, "", "Location: /elsewhere\r\n"));
  Client client(server.url());
  EXPECT_EQ(client.call(get_node())->code, 302);
  EXPECT_EQ(server.requests().size(), 1U);
}

TEST(HttpAnswersTest, NobodyThere) {
  std::string url;
  {
    url = ScriptedServer(always(200, "")).url();
  }
  Client client(url);
  const Reply reply = client.call(get_node());
  ASSERT_FALSE(reply.has_value());
  EXPECT_EQ(reply.error().kind, ErrorKind::unreachable);
  EXPECT_EQ(reply.error().place, "get nodes/n");
  EXPECT_NE(reply.error().message.find(url.substr(7) + ": connection refused: is the API server"),
            std::string::npos)
      << reply.error().text();
}

TEST(HttpAnswersTest, DroppedInTheMiddle) {
  ScriptedServer server([](const ReceivedRequest&, ServerConnection& connection) {
    connection.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"half\":");
    connection.drop();
  });
  Client client(server.url());
  const Reply reply = client.call(get_node());
  ASSERT_FALSE(reply.has_value());
  EXPECT_EQ(reply.error().kind, ErrorKind::unreachable);
  EXPECT_NE(reply.error().message.find("connection was lost"), std::string::npos);
}

TEST(HttpAnswersTest, DroppedWithoutAnAnswer) {
  ScriptedServer server(
      [](const ReceivedRequest&, ServerConnection& connection) { connection.drop(); });
  Client client(server.url());
  EXPECT_EQ(client.call(get_node()).error().kind, ErrorKind::unreachable);
}

TEST(HttpAnswersTest, NotHttp) {
  ScriptedServer server([](const ReceivedRequest&, ServerConnection& connection) {
    connection.send("SSH-2.0-OpenSSH_9.2\r\n\r\n");
    connection.drop();
  });
  Client client(server.url());
  const Reply reply = client.call(get_node());
  ASSERT_FALSE(reply.has_value());
  EXPECT_NE(reply.error().message.find("does not speak HTTP"), std::string::npos)
      << reply.error().text();
}

TEST(HttpAnswersTest, NoAnswerInTime) {
  Gate over;
  ScriptedServer server([&](const ReceivedRequest&, ServerConnection& connection) {
    EXPECT_TRUE(connection.wait_for_close()) << "giving up closes the connection";
    over.open();
  });
  Client client(server.url());
  Request request = get_node();
  request.limit = milliseconds(50);
  const Reply reply = client.call(request);
  ASSERT_FALSE(reply.has_value());
  EXPECT_EQ(reply.error().kind, ErrorKind::timed_out);
  EXPECT_NE(reply.error().message.find("did not answer within 50ms"), std::string::npos)
      << reply.error().text();
  EXPECT_TRUE(over.wait());
}

TEST(HttpAnswersTest, AnAnswerOverTheLimit) {
  ScriptedServer server(always(200, std::string(1001, ' ')));
  Client client(server.url());
  client.config.answer_limit = 1000;
  EXPECT_EQ(client.call(get_node()).error().kind, ErrorKind::too_large);
}

TEST(HttpAnswersTest, AnAnswerAtTheLimit) {
  ScriptedServer server(always(200, std::string(1000, ' ')));
  Client client(server.url());
  client.config.answer_limit = 1000;
  EXPECT_TRUE(client.call(get_node()).has_value());
}

}  // namespace
}  // namespace lockstep::kube::http_answers_test
