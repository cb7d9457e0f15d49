// The transcripts of tests/kubectl, which the embedded API server fulfils, on a real one: what
// they expect is what Kubernetes says.
#include <cstdlib>
#include <stdexcept>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/time.h"
#include "kube/sync_api.h"
#include "real_cluster.h"

namespace lockstep::real::kubectl_test {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Pods of nodes without a kubelet: they end when their grace period is over, as on the embedded
// server. A real server leaves that to their kubelet.
class Kubelets {
 public:
  explicit Kubelets(RealCluster& cluster) : cluster_(cluster) {
    kube::ConnectOptions options;
    options.kubeconfig = cluster.kubeconfig();
    options.version = "kubelets";
    auto connected = kube::connect(options, {}, files_, processes_, cluster.loop());
    if (!connected) throw std::runtime_error(connected.error().text());
    connection_ = std::move(*connected);
  }

  void reap() {
    for (const Json& pod : cluster_.list(resource::pods)) {
      auto ends = parse_rfc3339(text_at(pod, "metadata", "deletionTimestamp"));
      if (!ends || cluster_.loop().now() < *ends) continue;
      // By its uid: a case may have made another one by now.
      (void)kube::SyncApi(*connection_.api, cluster_.loop())
          .remove(
              resource::pods,
              {std::string(text_at(pod, "metadata", "namespace")),
               std::string(text_at(pod, "metadata", "name"))},
              JsonObject{{"gracePeriodSeconds", 0},
                         {"preconditions", JsonObject{{"uid", text_at(pod, "metadata", "uid")}}}});
    }
  }

 private:
  RealCluster& cluster_;
  SystemFiles files_;
  SystemProcesses processes_;
  kube::Connection connection_;
};

TEST(RealKubectl, EveryTranscriptHoldsOnAGenuineServerToo) {
  if (std::string why = ControlPlane::missing(); !why.empty()) GTEST_SKIP() << why;
  if (!commands::has_kubectl()) GTEST_SKIP() << "no kubectl: scripts/install-tools";
  RealCluster cluster({.like_embedded = true});
  Kubelets kubelets(cluster);
  // A child, so that it ends with us.
  commands::Child suite(
      {variable("KUBECTL_SUITE"), "--cases", variable("KUBECTL_CASES"), "--kubectl",
       variable("KUBECTL_PROGRAM"), "--kubeconfig", cluster.kubeconfig()},
      {}, cluster.directory() + "/suite.log");
  EXPECT_TRUE(cluster.wait(
      [&] {
        kubelets.reap();
        return suite.exit_code().has_value();
      },
      minutes(14)));
  EXPECT_EQ(suite.exit_code().value_or(-1), 0) << suite.output();
}

}  // namespace
}  // namespace lockstep::real::kubectl_test
