#include "registry/registry_session.h"

#include <gtest/gtest.h>

#include "registry/fake_registry_test_util.h"

namespace lockstep::registry::registry_session_test {
namespace {

using testing::FakeRegistry;
using testing::Pusher;
using testing::ReceivedRequest;
using testing::ScriptedServer;
using testing::ServerConnection;

const std::string secret = "hunter2";
const std::string basic_login = "Basic " + base64_encode("me:" + secret);

void expect_failure(const Result<PushedArtifact>& pushed, ErrorKind kind,
                    const std::string& wanted) {
  ASSERT_FALSE(pushed.has_value());
  EXPECT_EQ(pushed.error().kind, kind) << pushed.error().text();
  EXPECT_NE(pushed.error().text().find(wanted), std::string::npos) << pushed.error().text();
  EXPECT_EQ(pushed.error().text().find(secret), std::string::npos) << "a password is never shown";
}

// Refuses requests without this `authorization`.
FakeRegistry::Interceptor guard(std::string authorization, std::string challenge) {
  return [=](const ReceivedRequest& request, ServerConnection& connection) {
    if (request.header("authorization") == authorization) return false;
    const std::string body =
        request.method == "HEAD" ? "" : R"({"errors":[{"code":"UNAUTHORIZED","message":"who?"}]})";
    connection.answer(401, body, "WWW-Authenticate: " + challenge + "\r\n");
    return true;
  };
}

TEST(RegistryLogin, BasicWhenItIsAskedFor) {
  FakeRegistry registry(guard(basic_login, "Basic realm=\"x\""));
  Pusher pusher;
  pusher.log_in(registry.host(), R"("username":"me","password":"hunter2")");
  const auto pushed = pusher.push(registry.host());
  ASSERT_TRUE(pushed.has_value()) << pushed.error().text();
  EXPECT_EQ(registry.requests()[0].header("authorization"), "") << "not before it is asked for";
  EXPECT_EQ(registry.count("HEAD", ""), 3U) << "once refused, then known";
}

TEST(RegistryLogin, AWrongPasswordIsSaid) {
  FakeRegistry registry(guard("Basic other", "Basic realm=\"x\""));
  Pusher pusher;
  pusher.log_in(registry.host(), R"("username":"me","password":"hunter2")");
  expect_failure(pusher.push(registry.host()), ErrorKind::unauthorized,
                 "401 UNAUTHORIZED: who? (as me)");
}

TEST(RegistryLogin, WithoutALoginItSaysHowToGetOne) {
  FakeRegistry registry(guard("Basic other", "Basic realm=\"x\""));
  Pusher pusher;
  expect_failure(pusher.push(registry.host()), ErrorKind::unauthorized,
                 "requires a login: docker login " + registry.host());
  FakeRegistry strange(guard("x", "Negotiate"));
  expect_failure(pusher.push(strange.host()), ErrorKind::unauthorized,
                 "a kind that we do not know");
}

class TokenServer {
 public:
  explicit TokenServer(std::string body = R"({"token":"t-1"})", int code = 200)
      : server_(
            [body = std::move(body), code](const ReceivedRequest&, ServerConnection& connection) {
              connection.answer(code, body);
            }) {}
  std::string challenge(const std::string& scope) const {
    return fmt::format(R"(Bearer realm="{}/token?account=a",service="my registry"{}{}{})",
                       server_.url(), scope.empty() ? "" : ",scope=\"", scope,
                       scope.empty() ? "" : "\"");
  }
  std::vector<ReceivedRequest> requests() const { return server_.requests(); }

 private:
  ScriptedServer server_;
};

TEST(RegistryLogin, ATokenForWriting) {
  for (const char* body : {R"({"token":"t-1"})", R"({"access_token":"t-1"})"}) {
    const TokenServer tokens(body);
    FakeRegistry registry(
        guard("Bearer t-1", "Basic realm=x, " + tokens.challenge("repository:team/bundles:pull")));
    Pusher pusher;
    pusher.log_in(registry.host(), R"("username":"me","password":"hunter2")");
    const auto pushed = pusher.push(registry.host());
    ASSERT_TRUE(pushed.has_value()) << pushed.error().text();
    ASSERT_EQ(tokens.requests().size(), 1U) << "one token for all";
    const ReceivedRequest request = tokens.requests()[0];
    EXPECT_EQ(request.method, "GET");
    EXPECT_EQ(url_decode(request.target, true).value(),
              "/token?account=a&service=my registry&scope=repository:team/bundles:pull,push");
    EXPECT_EQ(request.header("authorization"), basic_login);
    for (const ReceivedRequest& seen : registry.requests()) {
      EXPECT_NE(seen.header("authorization"), basic_login) << "the registry gets the token alone";
    }
  }
}

TEST(RegistryLogin, ATokenForNobody) {
  const TokenServer tokens;
  FakeRegistry registry(guard("Bearer t-1", tokens.challenge("")));
  Pusher pusher;
  ASSERT_TRUE(pusher.push(registry.host()).has_value());
  EXPECT_EQ(tokens.requests().at(0).header("authorization"), "");
}

TEST(RegistryLogin, AnIdentityTokenIsExchanged) {
  const TokenServer tokens;
  FakeRegistry registry(guard("Bearer t-1", tokens.challenge("other:scope:x")));
  Pusher pusher;
  pusher.log_in(registry.host(), R"("auth":"MDAwOg==","identitytoken":"a/b+c")");
  const auto pushed = pusher.push(registry.host());
  ASSERT_TRUE(pushed.has_value()) << pushed.error().text();
  const ReceivedRequest request = tokens.requests().at(0);
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.header("content-type"), "application/x-www-form-urlencoded");
  EXPECT_EQ(request.header("authorization"), "");
  EXPECT_EQ(
      request.body,
      "grant_type=refresh_token&client_id=lockstep&service=my%20registry&scope=other%3Ascope%3Ax"
      "&refresh_token=a%2Fb%2Bc");
}

TEST(RegistryLogin, ATokenServersRefusalIsTold) {
  const TokenServer tokens(R"({"details":"incorrect username or password"})", 401);
  FakeRegistry registry(guard("Bearer t-1", tokens.challenge("")));
  Pusher pusher;
  expect_failure(pusher.push(registry.host()), ErrorKind::unauthorized,
                 "401 incorrect username or password (not logged in: docker login");
  for (const char* body : {"{}", "nonsense", R"({"token":"a\nb"})"}) {
    const TokenServer strange(body);
    FakeRegistry other(guard("Bearer t-1", strange.challenge("")));
    expect_failure(pusher.push(other.host()), ErrorKind::invalid, "answered without a token");
  }
}

TEST(RegistryLogin, AnotherHostNeverSeesIt) {
  FakeRegistry storage;
  std::string elsewhere = "http://" + storage.host() + "/v2/team/bundles/blobs/uploads/1?state=x";
  FakeRegistry registry(guard(basic_login, "Basic realm=\"x\""));
  registry.upload_location = elsewhere;
  Pusher pusher;
  pusher.log_in(registry.host(), R"("username":"me","password":"hunter2")");
  const auto pushed = pusher.push(registry.host());
  ASSERT_TRUE(pushed.has_value()) << pushed.error().text();
  EXPECT_EQ(storage.blobs().size(), 2U);
  for (const ReceivedRequest& seen : storage.requests()) {
    EXPECT_EQ(seen.header("authorization"), "");
  }
}

// Nor when it asks for it.
TEST(RegistryLogin, AnotherHostThatAsksForItDoesNotGetIt) {
  FakeRegistry storage(guard("never", "Basic realm=\"x\""));
  FakeRegistry registry;
  registry.upload_location = "http://" + storage.host() + "/x";
  Pusher pusher;
  pusher.log_in(registry.host(), R"("username":"me","password":"hunter2")");
  expect_failure(pusher.push(registry.host()), ErrorKind::unauthorized,
                 "refused to store a layer: 401");
  ASSERT_EQ(storage.requests().size(), 1U);
  EXPECT_EQ(storage.requests()[0].header("authorization"), "");
}

TEST(RegistryTls, ThisMachineIsPlainUnlessSaidOtherwise) {
  using http::testing::CertificateRequest;
  CertificateRequest request;
  request.common_name = "registry";
  ScriptedServer server(
      [](const ReceivedRequest&, ServerConnection& connection) { connection.answer(201, ""); },
      std::make_unique<http::testing::TlsServer>(http::testing::make_certificate(request)));
  Pusher pusher;
  const std::string host = fmt::format("127.0.0.1:{}", server.port());
  EXPECT_FALSE(pusher.push(host).has_value());
  EXPECT_TRUE(server.requests().empty());
  pusher.flags.insecure_tls = true;
  expect_failure(pusher.push(host), ErrorKind::invalid, "refused to begin an upload: 201");
  EXPECT_FALSE(server.requests().empty());
}

// A name is a name, whatever it begins with. The proxy sees how the registry is spoken to.
TEST(RegistryTls, AHostThatMerelyBeginsLikeThisMachineIsNotSpokenToInPlainText) {
  ScriptedServer proxy(
      [](const ReceivedRequest&, ServerConnection& connection) { connection.answer(403, ""); });
  for (const char* host : {"127.example.com", "127.0.0.1.example.com", "localhost.example.com"}) {
    Pusher pusher;
    pusher.flags.attempts = 1;
    pusher.environment["HTTP_PROXY"] = proxy.url();
    pusher.environment["HTTPS_PROXY"] = proxy.url();
    EXPECT_FALSE(pusher.push(host).has_value());
  }
  EXPECT_FALSE(proxy.requests().empty());
  for (const ReceivedRequest& request : proxy.requests()) {
    EXPECT_EQ(request.method, "CONNECT") << request.target;
  }
}

TEST(Follow, AddressesOfAllKinds) {
  const http::Endpoint registry{true, "r.test", 443, ""};
  const Address from{registry, "/v2/a/blobs/uploads/?x=1"};
  EXPECT_EQ(follow(from, "/u?y=2").value(), (Address{registry, "/u?y=2"}));
  EXPECT_EQ(follow(from, "abc").value(), (Address{registry, "/v2/a/blobs/uploads/abc"}));
  EXPECT_EQ(follow(from, "https://s.test:8443/u?y=http://z#f").value(),
            (Address{{true, "s.test", 8443, ""}, "/u?y=http://z"}));
  EXPECT_EQ(follow(from, "https://s.test?y=2").value().target, "/?y=2");
  EXPECT_EQ(follow(from, "//s.test/u").value(), (Address{{true, "s.test", 443, ""}, "/u"}));
  EXPECT_EQ(follow(from, "http://r.test/u").value(), (Address{registry, "/u"}))
      << "behind a proxy that speaks TLS";
}

TEST(Follow, NeverFromTlsToPlainText) {
  const Address from{{true, "r.test", 443, ""}, "/"};
  for (const char* location : {"http://s.test/u?token=hunter2", "http://r.test:81/u"}) {
    const auto address = follow(from, location);
    ASSERT_FALSE(address.has_value()) << location;
    EXPECT_NE(address.error().message.find("plain text"), std::string::npos);
    EXPECT_EQ(address.error().message.find(secret), std::string::npos);
  }
  for (const char* location :
       {"", "ftp://r.test/u", "/a\r\nX: y", "https://", "https://u:p@r.test/"}) {
    EXPECT_FALSE(follow(from, location).has_value()) << location;
  }
}

}  // namespace
}  // namespace lockstep::registry::registry_session_test
