#include "sim/actors/simulated_fleet.h"

#include <gtest/gtest.h>

#include "apiserver/door/embedded_server.h"
#include "kube/connect.h"
#include "sim/actors/sim_test_util.h"
#include "world/event_loop.h"
#include "world/files.h"
#include "world/process.h"

namespace lockstep::sim::simulated_fleet_test {
namespace {

// The very same actors over HTTP, in real time made short.
TEST(SimulatedFleetTest, RunsOverHttpInRealTime) {
  auto server = apiserver::EmbeddedServer::start({});
  ASSERT_TRUE(server) << server.error().text();
  EventLoop loop;
  MemoryFiles files;
  SystemProcesses processes;
  ASSERT_TRUE(files.write("/config", (*server)->kubeconfig()));
  kube::ConnectOptions connect;
  connect.kubeconfig = "/config";
  auto connection = kube::connect(connect, {}, files, processes, loop);
  ASSERT_TRUE(connection) << connection.error().text();

  SeededRandom random(1);
  SilentLog log;
  SimulatedFleetOptions options;
  options.fleet.nodes = 3;
  options.fleet.workloads.claim_pods = 3;
  options.kubelets.latencies.speed = 500;
  options.kubelets.lease_interval = milliseconds(200);
  SimulatedFleet fleet(Parts{*connection->api, loop, random, log}, options);
  fleet.start();
  auto up = [&] {
    if (!fleet.running() || fleet.kubelets().preparations().all().size() < 3) return false;
    auto names = fleet.kubelets().node_names();
    return std::all_of(names.begin(), names.end(), [&](const std::string& node) {
      return fleet.kubelets().machine(node).loaded();
    });
  };
  EXPECT_TRUE(loop.run_until(up, seconds(60)));
  EXPECT_FALSE(fleet.trouble());
  for (const std::string& node : fleet.kubelets().node_names())
    EXPECT_EQ(fleet.kubelets().machine(node).version(), old_version);
  auto renewed = [&] {
    bool found = false;
    (*server)->with_backend([&](apiserver::Backend& backend) {
      found = backend.store.shelf("leases.coordination.k8s.io")
                  .find(ObjectKey{"kube-node-lease", "gpu-2"}) != nullptr;
    });
    return found;
  };
  EXPECT_TRUE(loop.run_until(renewed, seconds(60)));
}

TEST(SimulatedFleetTest, ObjectsThatExistAreLeftAsTheyAre) {
  Cluster cluster(fleet_of(2));
  ASSERT_TRUE(cluster.start());
  ASSERT_TRUE(cluster.set_driver_version(new_version));
  cluster.loop.run_for(minutes(1));
  SeededRandom random(9);
  SilentLog log;
  SimulatedFleetOptions options;
  options.actors = Actors{true, false, false, false, false};
  SimulatedFleet again(Parts{cluster.api("again"), cluster.loop, random, log}, options);
  again.start();
  cluster.loop.run_for(minutes(1));
  EXPECT_TRUE(again.running());
  EXPECT_FALSE(again.trouble());
  EXPECT_EQ(
      text_at(*cluster.get(cluster_policies, {"", "cluster-policy"}), "spec", "driver", "version"),
      new_version);
}

TEST(SimulatedFleetTest, AnObjectThatIsRefusedIsNamed) {
  ClusterOptions options = fleet_of(1);
  options.simulated.fleet.nvidia_drivers = {{"Not_A_Name", "1"}};
  Cluster cluster(options);
  cluster.fleet.start();
  cluster.loop.run_for(minutes(1));
  ASSERT_TRUE(cluster.fleet.trouble());
  EXPECT_NE(cluster.fleet.trouble()->text().find("Not_A_Name"), std::string::npos);
  EXPECT_TRUE(cluster.fleet.running());
}

}  // namespace
}  // namespace lockstep::sim::simulated_fleet_test
