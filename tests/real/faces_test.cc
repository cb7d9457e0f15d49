// The same comparison of all faces as on the embedded server (tests/commands/faces.h), on a real
// control plane.
#include "faces.h"

#include <gtest/gtest.h>

#include "real_cluster.h"

namespace lockstep::real::faces_test {
namespace {

TEST(RealFaces, SayTheSameThroughARolloutWithFailures) {
  if (std::string why = ControlPlane::missing(); !why.empty()) GTEST_SKIP() << why;
  RealCluster cluster;
  cluster.add_real_fleet(4, 30, {"--work", "2"});
  ASSERT_EQ(cluster
                .sh("kubectl create -f " LOCKSTEP_ROLLOUT_DEFINITION
                    "; kubectl wait --for=condition=Established crd/driverrollouts.lockstep.dev")
                .exit_code,
            0);
  commands::Child& controller =
      cluster.start_real_controller("controller", {"--no-leader-election"});
  cluster.require("the fleet at rest", [&] { return cluster.all_are("upgrade-done"); });
  commands::compare_faces_through_a_rollout(cluster, controller);
}

}  // namespace
}  // namespace lockstep::real::faces_test
