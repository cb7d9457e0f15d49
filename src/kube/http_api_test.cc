#include "kube/http_api.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "kube/http_api_test_util.h"

namespace lockstep::kube::http_api_test {
namespace {

using testing::always;
using testing::Client;
using testing::Gate;
using testing::get_node;
using testing::ReceivedRequest;
using testing::ScriptedServer;
using testing::ServerConnection;

struct SentCase {
  Request request;
  std::string method;
  std::string target;
  std::string content_type;
  std::string body;
};

TEST(HttpApiTest, SendsEachVerbAsKubernetesWantsIt) {
  ScriptedServer server(always(200, "{}"));
  Client client(server.url() + "/prefix/");
  client.config.user_agent = "lockstep/9";
  Request paged = list(resource::pods, "a");
  paged.with("labelSelector", "x in (y)").with("limit", "5");
  const Json options = {{"propagationPolicy", "Orphan"}};
  const std::vector<SentCase> cases = {
      {get_node("n/1"), "GET", "/prefix/api/v1/nodes/n%2F1", "", ""},
      {paged, "GET", "/prefix/api/v1/namespaces/a/pods?labelSelector=x%20in%20%28y%29&limit=5", "",
       ""},
      {create(resource::pods, "a", {{"b", 1}}), "POST", "/prefix/api/v1/namespaces/a/pods",
       "application/json", R"({"b":1})"},
      {update(resource::nodes, {"", "n"}, {{"b", 1}}), "PUT", "/prefix/api/v1/nodes/n",
       "application/json", R"({"b":1})"},
      {patch(resource::nodes, {"", "n"}, PatchType::strategic, {{"b", 1}}), "PATCH",
       "/prefix/api/v1/nodes/n", "application/strategic-merge-patch+json", R"({"b":1})"},
      {remove(resource::nodes, {"", "n"}), "DELETE", "/prefix/api/v1/nodes/n", "", ""},
      {remove(resource::nodes, {"", "n"}, options), "DELETE", "/prefix/api/v1/nodes/n",
       "application/json", R"({"propagationPolicy":"Orphan"})"},
      {get_node(".."), "GET", "/prefix/api/v1/nodes/..", "", ""},
  };
  for (const SentCase& c : cases) {
    const Reply reply = client.call(c.request);
    ASSERT_TRUE(reply.has_value()) << reply.error().text();
    const ReceivedRequest sent = server.requests().back();
    EXPECT_EQ(sent.method, c.method);
    EXPECT_EQ(sent.target, c.target);
    EXPECT_EQ(sent.header("content-type"), c.content_type);
    EXPECT_EQ(sent.body, c.body);
    EXPECT_EQ(sent.header("user-agent"), "lockstep/9");
    EXPECT_EQ(sent.header("accept"), "application/json");
    EXPECT_EQ(sent.header("accept-encoding"), "gzip");
    EXPECT_EQ(sent.header("authorization"), "");
    EXPECT_EQ(sent.header("expect"), "");
  }
  EXPECT_EQ(server.connections(), 1U) << "the connection is kept";
}

TEST(HttpApiTest, AnswersLaterNeverInsideCall) {
  ScriptedServer server(always(200, R"({"kind":"Node"})"));
  Client client(server.url());
  bool answered = false;
  client.api().call(get_node(), [&](Reply) { answered = true; });
  EXPECT_FALSE(answered);
  EXPECT_TRUE(client.run_until([&] { return answered; }));
}

TEST(HttpApiTest, AFailureThatIsKnownAtOnceComesLaterToo) {
  Client client("http://127.0.0.1:1");
  client.user.token_file = "/missing";
  std::optional<Reply> reply;
  client.api().call(get_node(), [&](Reply answer) { reply = std::move(answer); });
  EXPECT_FALSE(reply.has_value());
  ASSERT_TRUE(client.run_until([&] { return reply.has_value(); }));
  EXPECT_EQ(reply->error().kind, ErrorKind::not_found);
  EXPECT_EQ(client.api().in_flight(), 0U);
}

TEST(HttpApiTest, OnlySoManyInFlight) {
  std::atomic<int> now = 0;
  std::atomic<int> most = 0;
  Gate two_there;
  ScriptedServer server([&](const ReceivedRequest&, ServerConnection& connection) {
    const int count = ++now;
    int seen = most;
    while (seen < count && !most.compare_exchange_weak(seen, count)) {
    }
    if (count == 2) two_there.open();
    EXPECT_TRUE(two_there.wait());
    --now;
    connection.answer(200, "{}");
  });
  Client client(server.url());
  client.config.in_flight_limit = 2;
  int answered = 0;
  for (int i = 0; i < 8; ++i) {
    client.api().call(get_node(std::to_string(i)), [&](Reply reply) {
      EXPECT_TRUE(reply.has_value());
      EXPECT_LE(client.api().in_flight(), 2U);
      ++answered;
    });
  }
  EXPECT_EQ(client.api().waiting(), 8U);
  ASSERT_TRUE(client.run_until([&] { return answered == 8; }));
  EXPECT_EQ(most, 2);
  EXPECT_EQ(client.api().in_flight(), 0U);
}

// One at a time: which of two connections a server hears first is up to the machine.
TEST(HttpApiTest, WhatWaitsIsSentInItsOrder) {
  ScriptedServer server(
      [&](const ReceivedRequest&, ServerConnection& connection) { connection.answer(200, "{}"); });
  Client client(server.url());
  client.config.in_flight_limit = 1;
  int answered = 0;
  for (int i = 0; i < 8; ++i) {
    client.api().call(get_node(std::to_string(i)), [&](const Reply&) { ++answered; });
  }
  ASSERT_TRUE(client.run_until([&] { return answered == 8; }));
  const auto requests = server.requests();
  ASSERT_EQ(requests.size(), 8U);
  for (size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(requests[i].target.substr(requests[i].target.rfind('/') + 1), std::to_string(i));
  }
}

TEST(HttpApiTest, WaitingCountsAgainstTheLimitOfARequest) {
  Gate done;
  ScriptedServer server([&](const ReceivedRequest&, ServerConnection& connection) {
    EXPECT_TRUE(done.wait());
    connection.answer(200, "{}");
  });
  Client client(server.url());
  client.config.in_flight_limit = 1;
  std::optional<Reply> first;
  std::optional<Reply> second;
  client.api().call(get_node("a"), [&](Reply reply) { first = std::move(reply); });
  Request hurried = get_node("b");
  hurried.limit = milliseconds(20);
  client.api().call(hurried, [&](Reply reply) { second = std::move(reply); });
  ASSERT_TRUE(client.run_until([&] { return second.has_value(); }));
  EXPECT_EQ(second->error().kind, ErrorKind::timed_out);
  EXPECT_NE(second->error().message.find("1 other requests were still in flight"),
            std::string::npos);
  EXPECT_FALSE(first.has_value());
  done.open();
  ASSERT_TRUE(client.run_until([&] { return first.has_value(); }));
  EXPECT_TRUE(first->has_value());
  EXPECT_EQ(server.requests().size(), 1U) << "the second was never sent";
}

// Knows only this token, and answers others once the gate is open.
ScriptedServer::Script only(const std::string& token, Gate& gate) {
  return [token, &gate](const ReceivedRequest& request, ServerConnection& connection) {
    if (request.header("authorization") == "Bearer " + token) return connection.answer(200, "{}");
    EXPECT_TRUE(gate.wait());
    connection.answer(401, R"({"kind":"Status","message":"who?"})");
  };
}

TEST(HttpApiTest, ATokenThatWasReplacedIsReadAgainAfterA401) {
  Gate replaced;
  ScriptedServer server(only("new", replaced));
  Client client(server.url());
  client.user.token_file = "/token";
  client.files.contents["/token"] = "old";
  std::optional<Reply> reply;
  client.api().call(get_node(), [&](Reply answer) { reply = std::move(answer); });
  ASSERT_TRUE(client.run_until([&] { return !server.requests().empty(); }));
  client.files.contents["/token"] = "new";
  replaced.open();
  ASSERT_TRUE(client.run_until([&] { return reply.has_value(); }));
  EXPECT_EQ((*reply)->code, 200);
  EXPECT_EQ(server.requests().size(), 2U);
}

TEST(HttpApiTest, ASecond401IsTheAnswer) {
  Gate gate;
  gate.open();
  ScriptedServer server(only("never", gate));
  Client client(server.url());
  client.user.exec = ExecConfig();
  client.user.exec->api_version = "client.authentication.k8s.io/v1";
  client.user.exec->command = "login";
  for (const char* token : {"one", "two", "three"}) {
    client.processes.will_print(
        fmt::format(R"({{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1",)"
                    R"("status":{{"token":"{}"}}}})",
                    token));
  }
  const Reply reply = client.call(get_node());
  ASSERT_TRUE(reply.has_value()) << reply.error().text();
  EXPECT_EQ(reply->code, 401);
  EXPECT_EQ(reply->error().message, "who?");
  EXPECT_EQ(server.requests().size(), 2U);
  EXPECT_EQ(client.processes.started.size(), 2U);
}

TEST(HttpApiTest, WithNothingNewToSayA401IsNotRepeated) {
  Gate gate;
  gate.open();
  ScriptedServer server(only("never", gate));
  Client client(server.url());
  client.user.token_file = "/token";
  client.files.contents["/token"] = "old";
  EXPECT_EQ(client.call(get_node())->code, 401);
  EXPECT_EQ(server.requests().size(), 1U);
  Client fixed(server.url());
  fixed.user.token = "fixed";
  EXPECT_EQ(fixed.call(get_node())->code, 401);
  EXPECT_EQ(server.requests().size(), 2U);
  EXPECT_EQ(fixed.api().in_flight(), 0U);
}

TEST(HttpApiTest, DestroyedWithCallsInFlight) {
  Gate arrived;
  ScriptedServer server([&](const ReceivedRequest&, ServerConnection& connection) {
    arrived.open();
    EXPECT_TRUE(connection.wait_for_close());
  });
  Client client(server.url());
  client.config.in_flight_limit = 2;
  bool called = false;
  for (int i = 0; i < 4; ++i) client.api().call(get_node(), [&](Reply) { called = true; });
  ASSERT_TRUE(client.run_until([&] { return !server.requests().empty(); }));
  client.made.reset();
  bool later = false;
  client.loop.after(milliseconds(1), [&] { later = true; });
  EXPECT_TRUE(client.run_until([&] { return later; }));
  EXPECT_FALSE(called);
}

TEST(HttpApiTest, DestroyedInsideItsOwnCallback) {
  ScriptedServer server(always(200, "{}"));
  Client client(server.url());
  int called = 0;
  for (int i = 0; i < 3; ++i) {
    client.api().call(get_node(), [&](Reply) {
      ++called;
      client.made.reset();
    });
  }
  ASSERT_TRUE(client.run_until([&] { return called > 0; }));
  bool later = false;
  client.loop.after(milliseconds(1), [&] { later = true; });
  EXPECT_TRUE(client.run_until([&] { return later; }));
  EXPECT_EQ(called, 1);
}

TEST(HttpApiTest, ACallbackMayCallAgain) {
  ScriptedServer server(always(200, "{}"));
  Client client(server.url());
  int called = 0;
  std::function<void(Reply)> again = [&](Reply reply) {
    EXPECT_TRUE(reply.has_value());
    if (++called < 5) client.api().call(get_node(), again);
  };
  client.api().call(get_node(), again);
  EXPECT_TRUE(client.run_until([&] { return called == 5; }));
}

TEST(HttpApiTest, ProxyOfTheClusterIsUsed) {
  ScriptedServer proxy(always(200, "{}"));
  Client client("http://api.invalid:8001");
  client.config.cluster.proxy_url = proxy.url();
  const Reply reply = client.call(get_node());
  ASSERT_TRUE(reply.has_value()) << reply.error().text();
  EXPECT_EQ(proxy.requests().at(0).target, "http://api.invalid:8001/api/v1/nodes/n");
}

}  // namespace
}  // namespace lockstep::kube::http_api_test
