// Command line, dashboard, metrics and Events give one answer, through a whole rollout.
#include "faces.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace lockstep::commands::faces_test {
namespace {

TEST(Faces, SayTheSameThroughARolloutWithFailures) {
  if (!has_kubectl()) GTEST_SKIP() << "no kubectl: scripts/install-tools";
  Cluster cluster;
  cluster.serve();
  cluster.add_fleet(4, 200, {"--work", "2"});
  ASSERT_EQ(cluster.sh("kubectl create -f " LOCKSTEP_ROLLOUT_DEFINITION).exit_code, 0);
  Child& controller = cluster.start_controller("controller", {"--no-leader-election"});
  cluster.require("the fleet at rest", [&] { return cluster.is_everyone("upgrade-done"); });
  compare_faces_through_a_rollout(cluster, controller);
}

}  // namespace
}  // namespace lockstep::commands::faces_test
