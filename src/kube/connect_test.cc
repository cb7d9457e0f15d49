#include "kube/connect.h"

#include <gtest/gtest.h>

#include "kube/http_api_test_util.h"
#include "kube/token_connection.h"

namespace lockstep::kube::connect_test {
namespace {

using testing::ReceivedRequest;
using testing::ScriptedProcesses;
using testing::ScriptedServer;
using testing::ServerConnection;

const std::string account = "/var/run/secrets/kubernetes.io/serviceaccount/";
const Environment in_pod = {
    {"HOME", "/h"}, {"KUBERNETES_SERVICE_HOST", "10.96.0.1"}, {"KUBERNETES_SERVICE_PORT", "443"}};

std::string small_config(const std::string& server) {
  return "current-context: x\n"
         "clusters: [{name: c, cluster: {server: \"" +
         server +
         "\"}}]\n"
         "users: [{name: u, user: {token: secret, as: alice}}]\n"
         "contexts: [{name: x, context: {cluster: c, user: u, namespace: gpu}}]\n";
}

TEST(FindTargetTest, KubeconfigBeforePodBeforeNothing) {
  MemoryFiles files;
  const auto nothing = find_target({}, {{"HOME", "/h"}}, files);
  ASSERT_FALSE(nothing.has_value());
  EXPECT_EQ(nothing.error().kind, ErrorKind::not_found);
  EXPECT_NE(nothing.error().message.find("/h/.kube/config"), std::string::npos);

  files.contents[account + "token"] = "t";
  EXPECT_EQ(find_target({}, in_pod, files)->context, "in-cluster");

  files.contents["/h/.kube/config"] = "apiVersion: v1\nkind: Config\n";
  EXPECT_EQ(find_target({}, in_pod, files)->context, "in-cluster") << "that file says nothing";

  files.contents["/h/.kube/config"] = small_config("https://a");
  const auto target = find_target({}, in_pod, files);
  ASSERT_TRUE(target.has_value()) << target.error().text();
  EXPECT_EQ(target->context, "x");
  EXPECT_EQ(target->ns, "gpu");
}

TEST(FindTargetTest, FlagsWin) {
  MemoryFiles files;
  files.contents[account + "token"] = "t";
  files.contents["/f"] = small_config("https://a");
  ConnectOptions options;
  options.kubeconfig = "/f";
  options.ns = "mine";
  EXPECT_EQ(find_target(options, in_pod, files)->ns, "mine");
  options.context = "nope";
  EXPECT_EQ(find_target(options, in_pod, files).error().kind, ErrorKind::not_found);
  options = ConnectOptions();
  options.context = "x";
  EXPECT_FALSE(find_target(options, in_pod, files).has_value())
      << "a context was asked for: the pod's account is not it";
}

TEST(ConnectTest, FromAKubeconfigToAnAnswer) {
  ScriptedServer server([](const ReceivedRequest&, ServerConnection& connection) {
    connection.answer(200, R"({"kind":"Node"})");
  });
  EventLoop loop;
  MemoryFiles files;
  ScriptedProcesses processes;
  files.contents["/f"] = small_config(server.url());
  ConnectOptions options;
  options.kubeconfig = "/f";
  options.version = "1.2.3";
  auto connection = connect(options, {}, files, processes, loop);
  ASSERT_TRUE(connection.has_value()) << connection.error().text();
  std::optional<Reply> reply;
  connection->api->call(get(resource::nodes, {"", "n"}), [&](Reply r) { reply = std::move(r); });
  ASSERT_TRUE(loop.run_until([&] { return reply.has_value(); }, testing::patience));
  ASSERT_TRUE(reply->has_value()) << reply->error().text();
  const ReceivedRequest request = server.requests().at(0);
  EXPECT_EQ(request.header("authorization"), "Bearer secret");
  EXPECT_EQ(request.header("user-agent"), "lockstep/1.2.3");
  EXPECT_EQ(request.header("impersonate-user"), "alice");
}

TEST(ConnectTest, TheEnvironmentsProxyIsUsed) {
  ScriptedServer proxy(
      [](const ReceivedRequest&, ServerConnection& connection) { connection.answer(200, "{}"); });
  EventLoop loop;
  MemoryFiles files;
  ScriptedProcesses processes;
  files.contents["/f"] = small_config("http://api.invalid:8001");
  ConnectOptions options;
  options.kubeconfig = "/f";
  auto connection = connect(options, {{"HTTP_PROXY", proxy.url()}}, files, processes, loop);
  ASSERT_TRUE(connection.has_value()) << connection.error().text();
  std::optional<Reply> reply;
  connection->api->call(get(resource::nodes, {"", "n"}), [&](Reply r) { reply = std::move(r); });
  ASSERT_TRUE(loop.run_until([&] { return reply.has_value(); }, testing::patience));
  ASSERT_TRUE(reply->has_value()) << reply->error().text();
  EXPECT_EQ(proxy.requests().at(0).target, "http://api.invalid:8001/api/v1/nodes/n");
}

TEST(ConnectTest, WithSomebodysTokenNothingOfOurOwnIsSent) {
  ScriptedServer server(
      [](const ReceivedRequest&, ServerConnection& connection) { connection.answer(200, "{}"); });
  EventLoop loop;
  MemoryFiles files;
  ScriptedProcesses processes;
  files.contents["/f"] = small_config(server.url());
  ConnectOptions options;
  options.kubeconfig = "/f";
  const auto target = find_target(options, {}, files);
  ASSERT_TRUE(target.has_value()) << target.error().text();
  auto api = connect_with_token(options, *target, "theirs", {}, files, processes, loop);
  ASSERT_TRUE(api.has_value()) << api.error().text();
  std::optional<Reply> reply;
  (*api)->call(get(resource::nodes, {"", "n"}), [&](Reply r) { reply = std::move(r); });
  ASSERT_TRUE(loop.run_until([&] { return reply.has_value(); }, testing::patience));
  const ReceivedRequest request = server.requests().at(0);
  EXPECT_EQ(request.header("authorization"), "Bearer theirs");
  EXPECT_EQ(request.header("impersonate-user"), "");
  EXPECT_FALSE(connect_with_token(options, *target, "a\r\nX-Evil: b", {}, files, processes, loop));
}

}  // namespace
}  // namespace lockstep::kube::connect_test
