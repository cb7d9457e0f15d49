// The transcripts of tests/kubectl, which the embedded API server fulfils, on a genuine one: what
// they expect is what Kubernetes says.
#include <cstdlib>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "real_cluster.h"

namespace lockstep::real {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

TEST(RealKubectl, EveryTranscriptHoldsOnAGenuineServerToo) {
  if (std::string why = ControlPlane::missing(); !why.empty()) GTEST_SKIP() << why;
  if (!commands::has_kubectl()) GTEST_SKIP() << "no kubectl: scripts/install-tools";
  RealCluster cluster({.like_embedded = true});
  // A child, so that it ends with us.
  commands::Child suite(
      {variable("KUBECTL_SUITE"), "--cases", variable("KUBECTL_CASES"), "--kubectl",
       variable("KUBECTL_PROGRAM"), "--kubeconfig", cluster.kubeconfig()},
      {}, cluster.directory() + "/suite.log");
  EXPECT_TRUE(cluster.wait([&] { return suite.exit_code().has_value(); }, minutes(14)));
  EXPECT_EQ(suite.exit_code().value_or(-1), 0) << suite.output();
}

}  // namespace
}  // namespace lockstep::real
