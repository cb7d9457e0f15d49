// A whole cluster in virtual time, in this process: the API's store and background controllers, a
// simulated GPU fleet with every actor, and a clock that jumps. The same seed gives the same run.
//
//   Cluster cluster(options);
//   ASSERT_TRUE(cluster.start());                       // all driver pods are ready
//   MyController controller(cluster.api("lockstep"), cluster.loop, cluster.random, …);
//   cluster.set_driver_version("580.126.20");
//   cluster.loop.run_until([&] { return …; }, hours(2));
//   EXPECT_TRUE(cluster.kubelets().accidents().empty());
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/verbs/backend.h"
#include "apiserver/verbs/housekeeping.h"
#include "apiserver/verbs/in_process_api.h"
#include "kube/fault_api.h"
#include "sim/actors/simulated_fleet.h"
#include "world/log.h"
#include "world/random.h"
#include "world/virtual_loop.h"

namespace lockstep::sim {

struct ClusterOptions {
  uint64_t seed = 1;
  // What goes wrong between the simulated fleet and its API. A controller under test brings its own
  // FaultApi around api("…").
  kube::FaultWeights fleet_faults;
  SimulatedFleetOptions simulated;
};

class Cluster {
 public:
  explicit Cluster(ClusterOptions options);
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  // Runs until every node has a loaded driver and every DaemonSet is ready; false at the limit.
  bool start(Duration limit = hours(1));

  // An Api under a name of its own, made on first use; lives as long as the cluster.
  kube::Api& api(const std::string& name);

  // Straight to the store, without time passing.
  Result<Document> call(const kube::Request& request);
  // Null if not found.
  Document get(const ResourceType& type, const ObjectKey& key);
  std::vector<Document> list(const ResourceType& type, const std::string& ns = {});

  // Actions of users.
  Result<void> set_driver_version(const std::string& version,
                                  const std::string& chart_version = {});
  Result<void> set_nvidia_driver_version(const std::string& name, const std::string& version);
  // The pods of a DaemonSet on a node, by the DaemonSet's name.
  std::vector<Document> pods_of(std::string_view daemon_set, std::string_view node);

  Kubelets& kubelets() { return fleet.kubelets(); }
  // The fleet's own API faults; set the weights to {} for calm.
  kube::RandomFaults& fleet_faults() { return faults_; }
  kube::FaultApi& fleet_api() { return fault_api_; }
  // Every object of the store, whatever its version: equal for equal runs.
  std::string digest();

  VirtualLoop loop;
  SeededRandom random;

 private:
  SeededRandom store_random_;
  SilentLog log_;

 public:
  apiserver::Backend backend;
  apiserver::Housekeeping housekeeping;

 private:
  // As a real server, whose etcd is compacted every few minutes.
  void forget_old_changes(uint64_t version);
  struct Milestone {
    Duration at;
    uint64_t version;
  };
  std::deque<Milestone> milestones_;

  std::map<std::string, std::unique_ptr<apiserver::InProcessApi>> apis_;
  apiserver::Caller caller_{"simulation", {}, "lockstep-simulation"};
  SeededRandom fault_random_;
  kube::RandomFaults faults_;
  kube::FaultApi fault_api_;

 public:
  SimulatedFleet fleet;
};

}  // namespace lockstep::sim
