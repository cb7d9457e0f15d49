#include "apiserver/door/identity.h"

#include <gtest/gtest.h>

#include "data/yaml.h"

namespace lockstep::apiserver::identity_test {
namespace {

TEST(Identity, TokensAndCertificatesNameTheCaller) {
  Authenticator closed = Authenticator::closed();
  closed.add_token("secret", Caller{"ann", {"team"}, ""});
  EXPECT_EQ(closed.authenticate("Bearer secret", "", {})->user, "ann");
  EXPECT_EQ(closed.authenticate("bearer secret", "", {})->user, "ann");
  EXPECT_EQ(closed.authenticate("", "bob", {"ops"})->groups, std::vector<std::string>{"ops"});
  EXPECT_EQ(closed.authenticate("", "", {}).error().code, 401);
  EXPECT_EQ(closed.authenticate("Bearer wrong", "", {}).error().code, 401);
  EXPECT_EQ(closed.authenticate("Bearer wrong", "bob", {}).error().code, 401)
      << "a wrong token is not overlooked";
  EXPECT_TRUE(Authenticator::open().authenticate("", "", {}));
}

TEST(Identity, OnlyHealthAndVersionArePublic) {
  EXPECT_TRUE(Authenticator::is_public("/healthz"));
  EXPECT_TRUE(Authenticator::is_public("/readyz?verbose"));
  EXPECT_FALSE(Authenticator::is_public("/healthzz"));
  EXPECT_FALSE(Authenticator::is_public("/api/v1/nodes"));
}

TEST(Identity, CertificatesAreMadeAndAnAuthorityCanSignMore) {
  auto identity = make_tls_identity({"127.0.0.1", "localhost"}, Time::from_unix(1'800'000'000));
  ASSERT_TRUE(identity) << identity.error().text();
  EXPECT_NE(identity->server.certificate.find("BEGIN CERTIFICATE"), std::string::npos);
  EXPECT_NE(identity->server.key.find("PRIVATE KEY"), std::string::npos);
  EXPECT_TRUE(make_client_certificate(identity->authority, "ann", {"team"},
                                      Time::from_unix(1'800'000'000)));
  EXPECT_FALSE(
      make_client_certificate(KeyPair{"not", "pem"}, "ann", {}, Time::from_unix(1'800'000'000)));
}

TEST(Identity, TheKubeconfigIsReadable) {
  auto config = parse_yaml(make_kubeconfig("http://127.0.0.1:1", nullptr, ""));
  ASSERT_TRUE(config);
  EXPECT_EQ(text_at(*config, "current-context"), "lockstep");
  EXPECT_EQ(text_at(find(*config, "clusters")->as_array()[0], "cluster", "server"),
            "http://127.0.0.1:1");
}

}  // namespace
}  // namespace lockstep::apiserver::identity_test
