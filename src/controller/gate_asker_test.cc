#include "controller/gate_asker.h"

#include <gtest/gtest.h>

#include "base/patience_test_util.h"
#include "http/scripted_server_test_util.h"

namespace lockstep::controller::gate_asker_test {
namespace {

using http::testing::ReceivedRequest;
using http::testing::ScriptedServer;
using http::testing::ServerConnection;

struct HttpGateAskerTest : ::testing::Test {
  Result<GateAnswer> ask(const std::string& address, Duration limit = test_patience,
                         const std::vector<std::string>& allowed = {"127.0.0.0/8"}) {
    HttpGateAsker asker({}, http::AddressGuard::read(allowed).value(), loop, limit);
    std::optional<Result<GateAnswer>> result;
    asker.ask({address, "text/plain", "how is it?"},
              [&](Result<GateAnswer> answer) { result = std::move(answer); });
    EXPECT_FALSE(result) << "never from inside of the call";
    loop.run_until([&] { return result.has_value(); }, test_patience);
    return result ? *result : fail(ErrorKind::internal, "nobody called back");
  }
  EventLoop loop;
};

TEST_F(HttpGateAskerTest, PostsTheQuestionAndBringsTheAnswerWhateverItsCode) {
  ScriptedServer server([](const ReceivedRequest& request, ServerConnection& connection) {
    connection.answer(request.target == "/bad" ? 400 : 200, "an answer");
  });
  auto answer = ask(server.url() + "/api/v1/query?x=1");
  ASSERT_TRUE(answer) << answer.error().text();
  EXPECT_EQ(answer->code, 200);
  EXPECT_EQ(answer->body, "an answer");
  ASSERT_EQ(server.requests().size(), 1U);
  EXPECT_EQ(server.requests()[0].method, "POST");
  EXPECT_EQ(server.requests()[0].target, "/api/v1/query?x=1");
  EXPECT_EQ(server.requests()[0].body, "how is it?");
  EXPECT_EQ(server.requests()[0].header("content-type"), "text/plain");
  EXPECT_EQ(server.requests()[0].header("authorization"), "");
  auto bad = ask(server.url() + "/bad");
  ASSERT_TRUE(bad);
  EXPECT_EQ(bad->code, 400);
}

// A rollout names it, and the controller's network is not the rollout's.
TEST_F(HttpGateAskerTest, DoesNotConnectToAnAddressThatIsRefused) {
  ScriptedServer server([](const ReceivedRequest&, ServerConnection& connection) {
    connection.answer(200, "secret");
  });
  for (const char* host : {"127.0.0.1", "localhost", "[::ffff:127.0.0.1]"}) {
    auto answer = ask(fmt::format("http://{}:{}/metrics", host, server.port()), test_patience, {});
    ASSERT_FALSE(answer) << host;
    EXPECT_EQ(answer.error().kind, ErrorKind::forbidden) << answer.error().text();
    EXPECT_NE(answer.error().text().find("--allow-gate-addresses"), std::string::npos);
  }
  EXPECT_EQ(server.connections(), 0U);
}

// A server does not decide which server is asked next.
TEST_F(HttpGateAskerTest, FollowsNoRedirection) {
  ScriptedServer other([](const ReceivedRequest&, ServerConnection& connection) {
    connection.answer(200, "secret");
  });
  ScriptedServer server([&](const ReceivedRequest&, ServerConnection& connection) {
    connection.answer(307, "", "Location: " + other.url() + "/\r\n");
  });
  auto answer = ask(server.url());
  ASSERT_TRUE(answer) << answer.error().text();
  EXPECT_EQ(answer->code, 307);
  EXPECT_EQ(other.connections(), 0U);
}

TEST_F(HttpGateAskerTest, SaysWhyThereIsNoAnswer) {
  EXPECT_FALSE(ask("http://127.0.0.1:notaport/"));
  std::string url;
  {
    ScriptedServer gone([](const ReceivedRequest&, ServerConnection&) {});
    url = gone.url();
  }
  EXPECT_FALSE(ask(url));
  ScriptedServer silent(
      [](const ReceivedRequest&, ServerConnection& connection) { connection.wait_for_close(); });
  auto late = ask(silent.url(), milliseconds(50));
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().kind, ErrorKind::timed_out);
}

}  // namespace
}  // namespace lockstep::controller::gate_asker_test
