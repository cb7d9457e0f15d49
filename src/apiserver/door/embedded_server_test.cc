#include "apiserver/door/embedded_server.h"

#include <gtest/gtest.h>

#include "data/yaml.h"

namespace lockstep::apiserver::embedded_server_test {
namespace {

TEST(EmbeddedServer, StartsWithTheNamespacesEveryClusterHasAndStops) {
  auto server = EmbeddedServer::start({});
  ASSERT_TRUE(server) << server.error().text();
  EXPECT_NE((*server)->port(), 0);
  size_t namespaces = 0;
  (*server)->with_backend(
      [&](Backend& backend) { namespaces = backend.store.shelf("namespaces").objects().size(); });
  EXPECT_EQ(namespaces, 4U);
}

TEST(EmbeddedServer, TwoServersLiveSideBySide) {
  auto first = EmbeddedServer::start({});
  auto second = EmbeddedServer::start({});
  ASSERT_TRUE(first && second);
  EXPECT_NE((*first)->port(), (*second)->port());
}

TEST(EmbeddedServer, TheKubeconfigCarriesWhatTlsNeeds) {
  EmbeddedOptions options;
  options.tls = true;
  auto server = EmbeddedServer::start(options);
  ASSERT_TRUE(server) << server.error().text();
  auto config = parse_yaml((*server)->kubeconfig());
  ASSERT_TRUE(config);
  const Json& cluster = find(*config, "clusters")->as_array()[0];
  EXPECT_EQ(text_at(cluster, "cluster", "server"), (*server)->url());
  EXPECT_FALSE(text_at(cluster, "cluster", "certificate-authority-data").empty());
}

TEST(EmbeddedServer, WithoutTlsATokenIsMadeAndIsInTheKubeconfig) {
  auto first = EmbeddedServer::start({});
  auto second = EmbeddedServer::start({});
  ASSERT_TRUE(first && second);
  EXPECT_EQ((*first)->token().size(), 48U);
  EXPECT_NE((*first)->token(), (*second)->token());
  auto config = parse_yaml((*first)->kubeconfig());
  ASSERT_TRUE(config);
  EXPECT_EQ(text_at(find(*config, "users")->as_array()[0], "user", "token"), (*first)->token());
}

TEST(EmbeddedServer, ABadAddressIsAClearError) {
  EmbeddedOptions options;
  options.address = "not-an-address";
  auto server = EmbeddedServer::start(options);
  ASSERT_FALSE(server);
  EXPECT_EQ(server.error().kind, ErrorKind::invalid);
}

}  // namespace
}  // namespace lockstep::apiserver::embedded_server_test
