#include "sim/actors/pod_collector.h"

#include <gtest/gtest.h>

#include "sim/actors/sim_test_util.h"

namespace lockstep::sim::pod_collector_test {
namespace {

// A cluster in which gpu-2 is gone, but a pod was bound to it.
class PodCollectorTest : public ::testing::Test {
 protected:
  PodCollectorTest() : cluster(fleet_of(2)) {
    EXPECT_TRUE(cluster.start());
    cluster.kubelets().take_away("gpu-2");
    EXPECT_TRUE(cluster.call(kube::remove(resource::nodes, {"", "gpu-2"})));
    cluster.loop.run_for(seconds(5));
    add_gpu_pod(cluster, "work", "gpu-2");
  }
  bool is_there() { return cluster.get(resource::pods, {"ml-training", "work"}) != nullptr; }

  Cluster cluster;
};

TEST_F(PodCollectorTest, APodOfANodeThatIsGoneIsRemoved) {
  cluster.loop.run_for(seconds(30));
  EXPECT_TRUE(is_there()) << "the node may come back";
  cluster.loop.run_for(seconds(10));
  EXPECT_FALSE(is_there());
}

TEST_F(PodCollectorTest, OneOfANodeThatCameBackStays) {
  cluster.kubelets().bring_back("gpu-2");
  cluster.loop.run_for(minutes(1));
  EXPECT_TRUE(is_there());
}

}  // namespace
}  // namespace lockstep::sim::pod_collector_test
