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
  ProcessSpec spec;
  spec.command = {
      variable("KUBECTL_SUITE"),   "--cases",      variable("KUBECTL_CASES"), "--kubectl",
      variable("KUBECTL_PROGRAM"), "--kubeconfig", cluster.kubeconfig()};
  spec.limit = minutes(12);
  auto output = SystemProcesses().run(spec);
  ASSERT_TRUE(output) << output.error().text();
  EXPECT_EQ(output->exit_code, 0) << output->output << output->error;
}

}  // namespace
}  // namespace lockstep::real
