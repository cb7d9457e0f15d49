// HttpApi over TLS, against certificates made on the spot.
#include <gtest/gtest.h>

#include "kube/http_api_test_util.h"

namespace lockstep::kube::http_tls_test {
namespace {

using testing::CertificateRequest;
using testing::Client;
using testing::make_certificate;
using testing::ReceivedRequest;
using testing::ScriptedServer;
using testing::ServerConnection;
using testing::TestCertificate;
using testing::TlsServer;

CertificateRequest authority(const std::string& name) {
  CertificateRequest request;
  request.common_name = name;
  request.is_authority = true;
  return request;
}

CertificateRequest named(const std::string& name, const std::string& alternatives = {}) {
  CertificateRequest request;
  request.common_name = name;
  request.alternative_names = alternatives;
  return request;
}

void answer(const ReceivedRequest&, ServerConnection& connection) { connection.answer(200, "{}"); }

class HttpTlsTest : public ::testing::Test {
 protected:
  std::unique_ptr<TlsServer> server_as(const CertificateRequest& request,
                                       const TestCertificate* clients = nullptr) {
    return std::make_unique<TlsServer>(make_certificate(request, &authority_), clients);
  }
  static Reply ask(Client& client) { return client.call(get(resource::nodes, {"", "n"})); }
  static void expect_failure(const Reply& reply, const std::string& wanted) {
    ASSERT_FALSE(reply.has_value());
    EXPECT_EQ(reply.error().kind, ErrorKind::unreachable);
    EXPECT_NE(reply.error().message.find(wanted), std::string::npos) << reply.error().text();
  }

  TestCertificate authority_ = make_certificate(authority("test authority"));
  TestCertificate other_authority_ = make_certificate(authority("other authority"));
};

TEST_F(HttpTlsTest, AServerOfOurAuthority) {
  ScriptedServer server(answer, server_as(named("api", "IP:127.0.0.1")));
  Client client(server.url());
  client.config.cluster.certificate_authority.data = authority_.certificate_pem();
  const Reply reply = ask(client);
  ASSERT_TRUE(reply.has_value()) << reply.error().text();
  ASSERT_TRUE(ask(client).has_value());
  EXPECT_EQ(server.connections(), 1U) << "the connection is kept";
}

TEST_F(HttpTlsTest, AServerOfAnotherAuthority) {
  ScriptedServer server(answer, server_as(named("api", "IP:127.0.0.1")));
  Client client(server.url());
  client.config.cluster.certificate_authority.data = other_authority_.certificate_pem();
  expect_failure(ask(client), "signed by an unknown authority");
  Client with_system_authorities(server.url());
  expect_failure(ask(with_system_authorities), "signed by an unknown authority");
  EXPECT_TRUE(server.requests().empty());
}

TEST_F(HttpTlsTest, SkippingTheVerification) {
  ScriptedServer server(answer, server_as(named("api")));
  Client client(server.url());
  client.config.cluster.insecure_skip_tls_verify = true;
  const Reply reply = ask(client);
  EXPECT_TRUE(reply.has_value()) << reply.error().text();
}

TEST_F(HttpTlsTest, AServerOfAnotherName) {
  ScriptedServer server(answer, server_as(named("api", "DNS:api.test")));
  Client client(server.url());
  client.config.cluster.certificate_authority.data = authority_.certificate_pem();
  expect_failure(ask(client),
                 "not for the name 127.0.0.1: use a name that it has, or set tls-server-name");
}

TEST_F(HttpTlsTest, TlsServerName) {
  ScriptedServer server(answer, server_as(named("api", "DNS:api.test")));
  Client client(server.url());
  client.config.cluster.certificate_authority.data = authority_.certificate_pem();
  client.config.cluster.tls_server_name = "api.test";
  const Reply reply = ask(client);
  ASSERT_TRUE(reply.has_value()) << reply.error().text();
  const ReceivedRequest request = server.requests().at(0);
  EXPECT_EQ(request.server_name, "api.test");
  EXPECT_EQ(request.header("host"), server.url().substr(8));
  Client wrong(server.url());
  wrong.config.cluster.certificate_authority.data = authority_.certificate_pem();
  wrong.config.cluster.tls_server_name = "other.test";
  expect_failure(ask(wrong), "not for the name other.test");
}

TEST_F(HttpTlsTest, AnExpiredCertificate) {
  CertificateRequest request = named("api", "IP:127.0.0.1");
  request.valid_seconds = -60;
  ScriptedServer server(answer, server_as(request));
  Client client(server.url());
  client.config.cluster.certificate_authority.data = authority_.certificate_pem();
  expect_failure(ask(client), "has expired");
}

TEST_F(HttpTlsTest, AClientCertificateFromTheKubeconfig) {
  ScriptedServer server(answer, server_as(named("api", "IP:127.0.0.1"), &authority_));
  const TestCertificate alice = make_certificate(named("alice"), &authority_);
  Client client(server.url());
  client.config.cluster.certificate_authority.data = authority_.certificate_pem();
  client.user.client_certificate.data = alice.certificate_pem();
  client.user.client_key.data = alice.key_pem();
  const Reply reply = ask(client);
  ASSERT_TRUE(reply.has_value()) << reply.error().text();
  EXPECT_EQ(server.requests().at(0).client_subject, "alice");
}

TEST_F(HttpTlsTest, WithoutTheClientCertificateThatIsNeeded) {
  ScriptedServer server(answer, server_as(named("api", "IP:127.0.0.1"), &authority_));
  Client client(server.url());
  client.config.cluster.certificate_authority.data = authority_.certificate_pem();
  expect_failure(ask(client), "refused our client certificate");
}

TEST_F(HttpTlsTest, AClientKeyThatDoesNotFit) {
  ScriptedServer server(answer, server_as(named("api", "IP:127.0.0.1"), &authority_));
  const TestCertificate alice = make_certificate(named("alice"), &authority_);
  const TestCertificate bob = make_certificate(named("bob"), &authority_);
  Client client(server.url());
  client.config.cluster.certificate_authority.data = authority_.certificate_pem();
  client.user.client_certificate.data = alice.certificate_pem();
  client.user.client_key.data = bob.key_pem();
  expect_failure(ask(client), "our client certificate or key cannot be used");
}

TEST_F(HttpTlsTest, FilesAreReadAgainWhenTheyChange) {
  ScriptedServer server(answer, server_as(named("api", "IP:127.0.0.1"), &authority_));
  const TestCertificate alice = make_certificate(named("alice"), &authority_);
  const TestCertificate bob = make_certificate(named("bob"), &authority_);
  Client client(server.url());
  client.config.cluster.certificate_authority.file = "/ca";
  client.user.client_certificate.file = "/cert";
  client.user.client_key.file = "/key";
  auto& files = client.files.contents;
  files = {{"/ca", authority_.certificate_pem()},
           {"/cert", alice.certificate_pem()},
           {"/key", alice.key_pem()}};
  ASSERT_TRUE(ask(client).has_value());
  files["/cert"] = bob.certificate_pem();
  files["/key"] = bob.key_pem();
  Reply reply = ask(client);
  ASSERT_TRUE(reply.has_value()) << reply.error().text();
  EXPECT_EQ(server.requests().at(0).client_subject, "alice");
  EXPECT_EQ(server.requests().at(1).client_subject, "bob");
  files["/ca"] = other_authority_.certificate_pem();
  expect_failure(ask(client), "signed by an unknown authority");
}

TEST_F(HttpTlsTest, AnAuthorityThatIsNoPem) {
  ScriptedServer server(answer, server_as(named("api", "IP:127.0.0.1")));
  Client client(server.url());
  client.config.cluster.certificate_authority.data = "rubbish";
  expect_failure(ask(client), "is it PEM?");
}

TEST_F(HttpTlsTest, TlsToAServerWithoutIt) {
  ScriptedServer server(answer, nullptr, "HTTP/1.1 400 Bad Request\r\n\r\n");
  Client client(fmt::format("https://127.0.0.1:{}", server.port()));
  expect_failure(ask(client), "does not speak TLS: should the server be http://?");
}

TEST_F(HttpTlsTest, AServerThatNeverShakesHands) {
  ScriptedServer server(answer);
  Client client(fmt::format("https://127.0.0.1:{}", server.port()));
  client.config.connect_limit = milliseconds(100);
  expect_failure(ask(client), "no connection in time");
}

TEST_F(HttpTlsTest, AnHttpsServerBehindAProxyIsTunnelled) {
  ScriptedServer proxy(
      [](const ReceivedRequest&, ServerConnection& connection) { connection.answer(403, "no"); });
  Client client("https://api.invalid:6443");
  client.config.proxy = proxy.url();
  client.user.token = "secret";
  expect_failure(ask(client), "through the proxy: the proxy refuses");
  const ReceivedRequest request = proxy.requests().at(0);
  EXPECT_EQ(request.method, "CONNECT");
  EXPECT_EQ(request.target, "api.invalid:6443");
  EXPECT_EQ(request.header("authorization"), "") << "the proxy must not see the token";
}

}  // namespace
}  // namespace lockstep::kube::http_tls_test
