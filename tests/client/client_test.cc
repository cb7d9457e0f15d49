// Our client against the embedded server over real HTTP and TLS, while things go wrong: what it
// promises (the cache becomes equal to the truth, calls end with the right answer) must still hold.
#include <gtest/gtest.h>

#include "apiserver/door/embedded_server.h"
#include "base/patience_test_util.h"
#include "kube/cache_feed.h"
#include "kube/connect.h"
#include "kube/events.h"
#include "kube/leader_election.h"
#include "kube/limited_api.h"
#include "objects/node.h"
#include "world/event_loop.h"
#include "world/files.h"
#include "world/log.h"
#include "world/process.h"
#include "world/random.h"

namespace lockstep::client_test {
namespace {

using apiserver::Backend;
using apiserver::Caller;
using apiserver::EmbeddedOptions;
using apiserver::EmbeddedServer;
using apiserver::HttpAnswer;
using apiserver::HttpRequest;

constexpr Duration patience = test_patience;

bool is_watch(const HttpRequest& request) {
  return request.target.find("watch=true") != std::string::npos;
}

HttpAnswer status_answer(int code, std::string_view reason, std::optional<int> retry_after = {}) {
  apiserver::StatusError error;
  error.code = code;
  error.reason = reason;
  error.message = "disturbed by the test";
  error.retry_after_seconds = retry_after;
  return apiserver::Front::refuse(error);
}

struct ClientTest : ::testing::Test {
  void SetUp() override { start({}); }

  void start(EmbeddedOptions options) {
    stop();
    auto started = EmbeddedServer::start(std::move(options));
    ASSERT_TRUE(started) << started.error().text();
    server = std::move(*started);
    connect(server->kubeconfig());
  }

  void stop() {
    nodes.reset();
    limited.reset();
    connection.reset();
    server.reset();
  }

  void connect(const std::string& kubeconfig) {
    nodes.reset();
    limited.reset();
    connection.reset();
    ASSERT_TRUE(files.write("/config", kubeconfig));
    kube::ConnectOptions options;
    options.kubeconfig = "/config";
    options.version = "test";
    auto connected = kube::connect(options, {}, files, processes, loop);
    ASSERT_TRUE(connected) << connected.error().text();
    connection.emplace(std::move(*connected));
    kube::LimitedApiOptions limits;
    limits.backoff = {milliseconds(5), milliseconds(50), 2.0, 0.5};
    limited = std::make_unique<kube::LimitedApi>(*connection->api, loop, random, limits);
  }

  void begin_watching(size_t page_size = 500) {
    kube::ReflectorOptions options;
    options.page_size = page_size;
    options.backoff = {milliseconds(5), milliseconds(50), 2.0, 1.0};
    nodes =
        std::make_unique<kube::CachedResource<Node>>(*limited, loop, random, log, context, options);
    nodes->reflector.start();
  }

  kube::Reply call(kube::Request request) {
    std::optional<kube::Reply> reply;
    limited->call(std::move(request), [&](kube::Reply answered) { reply = std::move(answered); });
    EXPECT_TRUE(loop.run_until([&] { return reply.has_value(); }, patience)) << "no answer";
    return reply ? *reply : kube::Reply(fail(ErrorKind::timed_out, "no answer"));
  }

  void in_store(const kube::Request& request) {
    server->with_backend([&](Backend& backend) {
      auto answer = apiserver::handle(backend, request, Caller{"test", {}, "test"});
      EXPECT_TRUE(answer) << request.describe() << ": " << (answer ? "" : answer.error().message);
    });
  }
  void add_node(const std::string& name) {
    in_store(
        kube::create(resource::nodes, "", JsonObject{{"metadata", JsonObject{{"name", name}}}}));
  }
  void remove_node(const std::string& name) { in_store(kube::remove(resource::nodes, {"", name})); }

  // The promise: once calm, the cache holds exactly what the store holds.
  void expect_cache_equals_truth() {
    std::map<std::string, std::string> truth;
    server->with_backend([&](Backend& backend) {
      for (const auto& [key, stored] : backend.store.shelf("nodes").objects()) {
        truth[key.name] = std::to_string(stored->version());
      }
    });
    auto equal = [&] {
      if (nodes->cache.size() != truth.size()) return false;
      for (const auto& [name, version] : truth) {
        auto node = nodes->cache.find(kube::KeyView("", name));
        if (!node || !(node->meta.resource_version == version)) return false;
      }
      return true;
    };
    EXPECT_TRUE(loop.run_until(equal, patience))
        << nodes->cache.size() << " of " << truth.size() << " nodes";
  }

  EventLoop loop;
  MemoryFiles files;
  SystemProcesses processes;
  SeededRandom random{1};
  SilentLog log;
  DecodeContext context;
  std::unique_ptr<EmbeddedServer> server;
  std::optional<kube::Connection> connection;
  std::unique_ptr<kube::LimitedApi> limited;
  std::unique_ptr<kube::CachedResource<Node>> nodes;

  void TearDown() override { stop(); }
};

TEST_F(ClientTest, EveryVerbOverHttp) {
  auto made = call(
      kube::create(resource::nodes, "", JsonObject{{"metadata", JsonObject{{"name", "gpu-1"}}}}));
  ASSERT_TRUE(made);
  EXPECT_EQ(made->code, 201);
  auto patched = kube::document_of(
      call(kube::patch(resource::nodes, {"", "gpu-1"}, kube::PatchType::strategic,
                       JsonObject{{"spec", JsonObject{{"unschedulable", true}}}})));
  ASSERT_TRUE(patched) << patched.error().text();
  EXPECT_TRUE(as_bool(find(**patched, "spec", "unschedulable")));
  Json whole = **patched;
  whole.as_object()["spec"].as_object()["unschedulable"] = false;
  EXPECT_EQ(call(kube::update(resource::nodes, {"", "gpu-1"}, whole))->code, 200);
  EXPECT_EQ(call(kube::update(resource::nodes, {"", "gpu-1"}, whole))->error().kind,
            ErrorKind::conflict);
  EXPECT_EQ(call(kube::list(resource::nodes))->code, 200);
  EXPECT_EQ(call(kube::remove(resource::nodes, {"", "gpu-1"}))->code, 200);
  EXPECT_EQ(call(kube::get(resource::nodes, {"", "gpu-1"}))->error().kind, ErrorKind::not_found);
}

TEST_F(ClientTest, AFleetIsListedInPagesAndFollowed) {
  for (int i = 0; i < 25; ++i) add_node("n" + std::to_string(i));
  begin_watching(10);
  expect_cache_equals_truth();
  add_node("late");
  remove_node("n3");
  expect_cache_equals_truth();
  EXPECT_EQ(nodes->reflector.status().lists, 1U);
}

TEST_F(ClientTest, ADroppedWatchIsResumedWithoutListingAgain) {
  add_node("a");
  begin_watching();
  expect_cache_equals_truth();
  auto watches_begun = [&] {
    uint64_t begun = 0;
    const auto counts = server->counts();
    for (const auto& [kind, count] : counts.counts()) begun += kind.verb == "WATCH" ? count : 0;
    return begun;
  };
  for (uint64_t i = 0; i < 3; ++i) {
    ASSERT_TRUE(loop.run_until([&] { return watches_begun() > i; }, patience));
    server->drop_connections();
    add_node("n" + std::to_string(i));
    expect_cache_equals_truth();
  }
  EXPECT_EQ(nodes->reflector.status().relists, 0U);
  EXPECT_GE(nodes->reflector.status().watches, 4U);
}

TEST_F(ClientTest, AfterACompactionItListsAgain) {
  add_node("a");
  begin_watching();
  expect_cache_equals_truth();
  // The watch is away while the log is cut off.
  server->disturb([](const HttpRequest& request, HttpAnswer& answer) {
    if (is_watch(request)) answer = status_answer(500, "InternalError");
  });
  server->drop_connections();
  remove_node("a");
  add_node("b");
  server->with_backend([](Backend& backend) { backend.store.compact(); });
  server->disturb(nullptr);
  expect_cache_equals_truth();
  EXPECT_GE(nodes->reflector.status().relists, 1U);
}

TEST_F(ClientTest, A429IsWaitedOutAsTheServerAsked) {
  int refused = 0;
  server->disturb([&](const HttpRequest& request, HttpAnswer& answer) {
    if (request.method == "POST" && refused < 2) {
      ++refused;
      answer = status_answer(429, "TooManyRequests", 0);
    }
  });
  // What was refused was not done: here the disturbance came after the fact, so it exists already.
  auto made = call(
      kube::create(resource::nodes, "", JsonObject{{"metadata", JsonObject{{"name", "gpu-1"}}}}));
  ASSERT_TRUE(made) << made.error().text();
  EXPECT_EQ(refused, 2);
  EXPECT_EQ(made->error().kind, ErrorKind::exists);
  EXPECT_EQ(limited->counts().retried, 2U);
}

TEST_F(ClientTest, ErrorsOfTheServerAreAnswersAndDoNotStopTheWatch) {
  int left = 5;
  server->disturb([&](const HttpRequest& request, HttpAnswer& answer) {
    if (request.method == "GET" && left > 0) {
      --left;
      answer = status_answer(500, "InternalError");
    }
  });
  add_node("a");
  begin_watching();
  expect_cache_equals_truth();
  EXPECT_EQ(left, 0);
  EXPECT_TRUE(nodes->reflector.status().last_error);
}

TEST_F(ClientTest, ASlowBodyArrivesWhole) {
  for (int i = 0; i < 20; ++i) add_node("n" + std::to_string(i));
  server->disturb([](const HttpRequest& request, HttpAnswer& answer) {
    if (!answer.more || is_watch(request)) return;
    // The same bytes in pieces of 512, with pauses.
    auto whole = std::make_shared<std::string>();
    while (answer.more(*whole)) {
    }
    answer.pause = milliseconds(1);
    answer.more = [whole, at = size_t{0}](std::string& out) mutable {
      if (at >= whole->size()) return false;
      out += whole->substr(at, 512);
      at += 512;
      return true;
    };
  });
  begin_watching();
  expect_cache_equals_truth();
}

TEST_F(ClientTest, ABodyThatBreaksOffIsAnErrorAndTriedAgain) {
  for (int i = 0; i < 20; ++i) add_node("n" + std::to_string(i));
  int broken = 0;
  server->disturb([&](const HttpRequest& request, HttpAnswer& answer) {
    if (!answer.more || is_watch(request) || broken >= 2) return;
    ++broken;
    answer.more = nullptr;
    answer.body =
        R"({"kind":"NodeList","metadata":{"resourceVersion":"1"},"items":[{"metadata":{"na)";
  });
  begin_watching();
  expect_cache_equals_truth();
  EXPECT_EQ(broken, 2);
}

TEST_F(ClientTest, AServerThatIsGoneIsUnreachableAndComesBack) {
  add_node("a");
  begin_watching();
  expect_cache_equals_truth();
  uint16_t port = server->port();
  const std::string token = server->token();
  server.reset();
  auto reply = call(kube::get(resource::nodes, {"", "a"}));
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().kind, ErrorKind::unreachable) << reply.error().text();
  EmbeddedOptions options;
  options.port = port;
  options.token = token;
  auto again = EmbeddedServer::start(options);
  ASSERT_TRUE(again) << again.error().text();
  server = std::move(*again);
  for (int i = 0; i < 8; ++i) add_node("reborn-" + std::to_string(i));
  auto back = call(kube::get(resource::nodes, {"", "reborn-1"}));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->code, 200);
}

TEST_F(ClientTest, TlsWithAClientCertificate) {
  EmbeddedOptions options;
  options.tls = true;
  start(options);
  add_node("a");
  begin_watching();
  expect_cache_equals_truth();
  ResourceType who{"authentication.k8s.io", "v1", "SelfSubjectReview", "selfsubjectreviews", false};
  auto me = kube::document_of(call(kube::create(who, "", JsonObject{})));
  ASSERT_TRUE(me) << me.error().text();
  EXPECT_EQ(text_at(**me, "status", "userInfo", "username"), "kubernetes-admin");
}

TEST_F(ClientTest, AnExpiredTokenIsReadAnewFromItsFile) {
  EmbeddedOptions options;
  options.tls = true;
  options.token = "first";
  start(options);
  std::string config = server->kubeconfig();
  // By token file instead of the certificate.
  size_t user = config.find("client-certificate-data");
  ASSERT_NE(user, std::string::npos);
  size_t line = config.rfind('\n', user) + 1;
  size_t end = config.find('\n', config.find("client-key-data")) + 1;
  config = config.substr(0, line) + std::string(user - line, ' ') + "tokenFile: /token\n" +
           config.substr(end);
  ASSERT_TRUE(files.write("/token", "first"));
  connect(config);
  ASSERT_EQ(call(kube::list(resource::nodes))->code, 200);
  server->replace_token("second");
  EXPECT_EQ(call(kube::list(resource::nodes))->code, 401) << "the file still holds the old one";
  ASSERT_TRUE(files.write("/token", "second"));
  EXPECT_EQ(call(kube::list(resource::nodes))->code, 200);
}

TEST_F(ClientTest, GzipIsUnderstood) {
  EmbeddedOptions options;
  options.http.gzip = true;
  start(options);
  for (int i = 0; i < 800; ++i) add_node("a-node-with-a-rather-long-name-" + std::to_string(i));
  begin_watching();
  expect_cache_equals_truth();
}

TEST_F(ClientTest, OneOfTwoCandidatesLeadsAndTheOtherFollowsOn) {
  auto candidate = [&](const std::string& identity) {
    kube::LeaderElectionOptions options;
    options.lease = {"kube-system", "lockstep"};
    options.identity = identity;
    options.lease_duration = seconds(3);
    options.renew_deadline = seconds(2);
    options.retry_period = milliseconds(100);
    return std::make_unique<kube::LeaderElection>(*limited, loop, random, log, options);
  };
  auto first = candidate("one");
  auto second = candidate("two");
  first->start();
  ASSERT_TRUE(loop.run_until([&] { return first->is_leading(); }, patience));
  second->start();
  ASSERT_TRUE(loop.run_until([&] { return second->leader() == "one"; }, patience));
  EXPECT_FALSE(second->is_leading());
  first->stop();
  EXPECT_TRUE(loop.run_until([&] { return second->is_leading(); }, patience));
  EXPECT_FALSE(first->is_leading());
}

}  // namespace
}  // namespace lockstep::client_test
