#include "sim/oracle/free_room.h"

#include <gtest/gtest.h>

#include "sim/actors/sim_test_util.h"

namespace lockstep::sim::free_room_test {
namespace {

// How many pods wait, and for how many of them a node in service has room.
std::pair<int, int> waiting(Cluster& cluster) {
  const FreeRoom room(cluster);
  int all = 0;
  int with_place = 0;
  for (const Document& pod : cluster.list(resource::pods, "ml-training")) {
    if (!text_at(*pod, "spec", "nodeName").empty()) continue;
    ++all;
    with_place += room.has_place_for(*pod) ? 1 : 0;
  }
  return {all, with_place};
}

void load(Cluster& cluster, const WorkloadOptions& workloads) {
  for (const kube::Request& request : workload_requests(workloads)) {
    ASSERT_TRUE(cluster.call(request)) << request.describe();
  }
}

class FreeRoomTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(cluster.start()); }
  Cluster cluster{fleet_of(2)};
};

TEST_F(FreeRoomTest, IsOnNodesInServiceAlone) {
  cordon(cluster, "gpu-1");
  WorkloadOptions workloads;
  workloads.deployment_replicas = 10;
  workloads.deployment_gpus = 1;
  load(cluster, workloads);
  cluster.loop.run_for(minutes(2));
  EXPECT_EQ(waiting(cluster), (std::pair{2, 0}));
  // The scheduler has not placed them yet.
  cordon(cluster, "gpu-1", false);
  EXPECT_EQ(waiting(cluster), (std::pair{2, 2}));
  cluster.kubelets().set_ready("gpu-1", false);
  cluster.loop.run_for(minutes(1));
  EXPECT_EQ(waiting(cluster).first, waiting(cluster).second + 2) << "none on a node that is lost";
}

TEST_F(FreeRoomTest, CountsDevicesForClaims) {
  cordon(cluster, "gpu-1");
  WorkloadOptions workloads;
  workloads.claim_pods = 6;
  workloads.extended_pods = 5;
  load(cluster, workloads);
  cluster.loop.run_for(minutes(2));
  EXPECT_EQ(waiting(cluster), (std::pair{3, 0}));
  cordon(cluster, "gpu-1", false);
  EXPECT_EQ(waiting(cluster), (std::pair{3, 3}));
  cluster.loop.run_for(minutes(2));
  EXPECT_EQ(waiting(cluster), (std::pair{0, 0}));
}

}  // namespace
}  // namespace lockstep::sim::free_room_test
