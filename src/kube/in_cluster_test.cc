#include "kube/in_cluster.h"

#include <gtest/gtest.h>

namespace lockstep::kube::in_cluster_test {
namespace {

const std::string account = "/var/run/secrets/kubernetes.io/serviceaccount/";

Environment pod_environment(const std::string& host = "10.96.0.1") {
  return {{"KUBERNETES_SERVICE_HOST", host}, {"KUBERNETES_SERVICE_PORT", "443"}};
}

TEST(InClusterTest, NeedsAddressAndToken) {
  MemoryFiles files;
  EXPECT_FALSE(in_cluster_possible(pod_environment(), files));
  files.contents[account + "token"] = "t";
  EXPECT_TRUE(in_cluster_possible(pod_environment(), files));
  EXPECT_FALSE(in_cluster_possible({{"KUBERNETES_SERVICE_HOST", "10.96.0.1"}}, files));
  EXPECT_EQ(in_cluster_target({}, files).error().kind, ErrorKind::not_found);
}

TEST(InClusterTest, NamesTheServiceAccountsFiles) {
  MemoryFiles files;
  files.contents[account + "token"] = "t";
  files.contents[account + "ca.crt"] = "pem";
  files.contents[account + "namespace"] = "gpu-system\n";
  const auto target = in_cluster_target(pod_environment("fd00::1"), files);
  ASSERT_TRUE(target.has_value());
  EXPECT_EQ(target->cluster.server, "https://[fd00::1]:443");
  EXPECT_EQ(target->cluster.certificate_authority.file, account + "ca.crt");
  EXPECT_EQ(target->user.token_file, account + "token");
  EXPECT_EQ(target->ns, "gpu-system");
}

TEST(InClusterTest, NamespaceFromEnvironmentOrDefault) {
  MemoryFiles files;
  files.contents[account + "token"] = "t";
  EXPECT_EQ(in_cluster_target(pod_environment(), files)->ns, "default");
  Environment environment = pod_environment();
  environment["POD_NAMESPACE"] = "mine";
  EXPECT_EQ(in_cluster_target(environment, files)->ns, "mine");
  EXPECT_EQ(in_cluster_target(environment, files)->cluster.server, "https://10.96.0.1:443");
}

}  // namespace
}  // namespace lockstep::kube::in_cluster_test
