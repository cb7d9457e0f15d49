#include "sim/scenario/world_faults.h"

#include <gtest/gtest.h>

#include "fleet/keys.h"
#include "sim/actors/sim_test_util.h"
#include "sim/scenario/scenario_run.h"

namespace lockstep::sim::world_faults_test {
namespace {

class WorldFaultsTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(cluster.start()); }

  void take(const std::string& step) {
    auto scenario = read_scenario("name: s\nnodes: 2\nsteps: [" + step + "]\nexpect: {}\n", "s");
    ASSERT_TRUE(scenario) << scenario.error().text();
    auto taken = world.take(scenario->steps[0], 2);
    ASSERT_TRUE(taken.has_value()) << step;
    EXPECT_TRUE(*taken) << (*taken ? "" : taken->error().text());
  }
  bool is_ready(const std::string& node) {
    DecodeContext context;
    Document object = cluster.get(resource::nodes, {"", node});
    return object && decode_object<Node>(*object, context)->ready();
  }
  std::string uid_of(const ResourceType& type, const ObjectKey& key) {
    Document object = cluster.get(type, key);
    return object ? std::string(text_at(*object, "metadata", "uid")) : "";
  }
  kube::Reply call(kube::Request request) {
    std::optional<kube::Reply> answer;
    network.call(std::move(request), [&](kube::Reply reply) { answer = std::move(reply); });
    EXPECT_TRUE(cluster.loop.run_until([&] { return answer.has_value(); }, minutes(2)));
    return *answer;
  }

  Cluster cluster{fleet_of(2)};
  SeededRandom random{1};
  kube::RandomFaults faults{{}, random};
  kube::FaultApi network{cluster.api("controller"), cluster.loop, faults};
  ShiftedLoop clock{cluster.loop};
  WorldFaults world{cluster, network, faults, clock};
};

TEST_F(WorldFaultsTest, StepsOfOthersAreLeftToThem) {
  Interference step;
  step.action = "cordon";
  step.value = true;
  EXPECT_FALSE(world.take(step, 2).has_value());
  EXPECT_TRUE(world.taken().empty());
}

TEST_F(WorldFaultsTest, AnOutageIsForAllAndAPartitionForTheControllerAlone) {
  take("{outage: 3m}");
  EXPECT_TRUE(network.is_away());
  EXPECT_TRUE(cluster.fleet_api().is_away());
  EXPECT_FALSE(call(kube::list(resource::nodes)));
  cluster.loop.run_for(minutes(4));
  EXPECT_TRUE(call(kube::list(resource::nodes)));
  EXPECT_FALSE(cluster.fleet_api().is_away());
  take("{partition: 3m}");
  EXPECT_TRUE(network.is_away());
  EXPECT_FALSE(cluster.fleet_api().is_away());
  cluster.loop.run_for(minutes(4));
  EXPECT_FALSE(network.is_away());
  EXPECT_EQ(world.taken().at("outage"), 1u);
}

TEST_F(WorldFaultsTest, AClockStepIsSeenByTheControllerAlone) {
  Time before = cluster.loop.now();
  take("{clockStep: \"-90m\"}");
  EXPECT_EQ(clock.now(), before - minutes(90));
  EXPECT_EQ(cluster.loop.now(), before);
}

TEST_F(WorldFaultsTest, AnOlderReplicaAnswersAsOfThen) {
  cluster.loop.run_for(minutes(2));
  cordon(cluster, "gpu-1");
  cluster.loop.run_for(seconds(30));
  auto cordoned = [&](kube::Request request) {
    auto document = kube::document_of(call(std::move(request)));
    EXPECT_TRUE(document);
    return as_bool(find((*document)->at("items").at(0), "spec", "unschedulable"));
  };
  auto any_version = [] { return kube::list(resource::nodes).with("resourceVersion", "0"); };
  EXPECT_TRUE(cordoned(any_version()));
  take("{olderReplica: {age: 60s, for: 5m}}");
  EXPECT_FALSE(cordoned(any_version()));
  // What asks for the newest gets it.
  EXPECT_TRUE(cordoned(kube::list(resource::nodes)));
  take("{olderReplica: {age: 60s, for: 5m, allReads: true}}");
  EXPECT_FALSE(cordoned(kube::list(resource::nodes)));
  auto one = kube::document_of(call(kube::get(resource::nodes, {"", "gpu-1"})));
  ASSERT_TRUE(one);
  EXPECT_FALSE(as_bool(find(**one, "spec", "unschedulable")));
  auto none = kube::document_of(call(kube::get(resource::nodes, {"", "gpu-9"})));
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::not_found);
  // And a write from that view meets the truth.
  auto written = kube::document_of(call(kube::update(resource::nodes, {"", "gpu-1"}, **one)));
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().kind, ErrorKind::conflict);
}

TEST_F(WorldFaultsTest, NodesRebootHangAndGoNotReadyForTheirTime) {
  uint64_t loads = cluster.kubelets().machine("gpu-1").generation();
  take("{nodes: [1], rebootNodes: 2m}");
  cluster.loop.run_for(minutes(1));
  EXPECT_FALSE(is_ready("gpu-1"));
  cluster.loop.run_for(minutes(15));
  EXPECT_TRUE(is_ready("gpu-1"));
  EXPECT_EQ(cluster.kubelets().machine("gpu-1").generation(), loads + 1);
  take("{nodes: [2], notReadyFor: 5m}");
  cluster.loop.run_for(minutes(4));
  EXPECT_FALSE(is_ready("gpu-2"));
  cluster.loop.run_for(minutes(2));
  EXPECT_TRUE(is_ready("gpu-2"));
  take("{nodes: [2], hangKubelets: 5m}");
  cluster.loop.run_for(seconds(30));
  EXPECT_TRUE(is_ready("gpu-2"));
  cluster.loop.run_for(minutes(4));
  EXPECT_FALSE(is_ready("gpu-2"));
  cluster.loop.run_for(minutes(1));
  EXPECT_TRUE(is_ready("gpu-2"));
}

TEST_F(WorldFaultsTest, ANodeMayGoForGoodOrComeBackUnderItsName) {
  std::string uid = uid_of(resource::nodes, {"", "gpu-1"});
  take("{nodes: [1], recreateNodes: 1m}");
  cluster.loop.run_for(seconds(30));
  EXPECT_EQ(uid_of(resource::nodes, {"", "gpu-1"}), "");
  ASSERT_TRUE(
      run_until(cluster, [&] { return has_driver(cluster, "gpu-1", old_version); }, minutes(10)));
  EXPECT_NE(uid_of(resource::nodes, {"", "gpu-1"}), "");
  EXPECT_NE(uid_of(resource::nodes, {"", "gpu-1"}), uid);
  take("{nodes: [1], deleteNodes: true}");
  cluster.loop.run_for(hours(1));
  EXPECT_EQ(uid_of(resource::nodes, {"", "gpu-1"}), "");
  EXPECT_TRUE(cluster.pods_of(driver_daemon_set_name, "gpu-1").empty());
  // Nothing more can happen to it.
  take("{nodes: [1], rebootNodes: 1m}");
  EXPECT_FALSE(world.taken().contains("rebootNodes"));
}

TEST_F(WorldFaultsTest, PodsAndDaemonSetsComeBackUnderTheirNameWithAnotherUid) {
  Pod before = pod_of(cluster, driver_daemon_set_name, "gpu-1");
  take("{nodes: [1], recreateDriverPods: true}");
  Pod after = pod_of(cluster, driver_daemon_set_name, "gpu-1");
  EXPECT_EQ(after.meta.name, before.meta.name);
  EXPECT_NE(after.meta.uid, before.meta.uid);
  EXPECT_FALSE(after.ready);
  ASSERT_TRUE(
      run_until(cluster, [&] { return has_driver(cluster, "gpu-1", old_version); }, minutes(10)));
  ObjectKey key{std::string(operator_namespace), std::string(driver_daemon_set_name)};
  std::string uid = uid_of(resource::daemon_sets, key);
  take("{recreateDaemonSet: true}");
  EXPECT_NE(uid_of(resource::daemon_sets, key), uid);
  EXPECT_TRUE(
      run_until(cluster, [&] { return has_driver(cluster, "gpu-1", old_version); }, minutes(10)));
}

TEST_F(WorldFaultsTest, ADeletedDriverPodComesBackFromTheTemplateOfThatMoment) {
  const std::string name = pod_of(cluster, driver_daemon_set_name, "gpu-1").meta.name.str();
  ASSERT_TRUE(cluster.set_driver_version(new_version));
  take("{nodes: [1], deleteDriverPods: true}");
  ASSERT_TRUE(
      run_until(cluster, [&] { return has_driver(cluster, "gpu-1", new_version); }, minutes(10)));
  EXPECT_NE(pod_of(cluster, driver_daemon_set_name, "gpu-1").meta.name, name);
}

TEST_F(WorldFaultsTest, CalmEndsAllOfItAtOnce) {
  faults.weights = kube::FaultWeights::everything(1);
  cluster.fleet_faults().weights = kube::FaultWeights::everything(1);
  take("{outage: 10h}");
  take("{nodes: [1], rebootNodes: 10h}");
  take("{nodes: [2], hangKubelets: 10h}");
  take("{nodes: [2], setMachine: {driverCrashes: \"*\"}}");
  const fleet::Keys keys;
  take("{nodes: [2], relabel: {\"" + keys.skip + "\": \"true\"}}");
  cordon(cluster, "gpu-2");
  cluster.loop.run_for(minutes(5));
  EXPECT_FALSE(cluster.kubelets().machine("gpu-1").loaded());
  world.calm();
  EXPECT_FALSE(network.is_away());
  EXPECT_FALSE(cluster.fleet_api().is_away());
  EXPECT_EQ(faults.weights.request_lost, 0);
  EXPECT_EQ(cluster.fleet_faults().weights.request_lost, 0);
  cluster.loop.run_for(minutes(15));
  EXPECT_TRUE(is_ready("gpu-1"));
  EXPECT_TRUE(is_ready("gpu-2"));
  EXPECT_TRUE(has_driver(cluster, "gpu-1", old_version));
  EXPECT_EQ(cluster.kubelets().machine("gpu-2").behaviour.driver_crashes, "");
  Document node = cluster.get(resource::nodes, {"", "gpu-2"});
  EXPECT_FALSE(as_bool(find(*node, "spec", "unschedulable")));
  EXPECT_EQ(find(node->at("metadata").at("labels"), keys.skip), nullptr);
}

TEST_F(WorldFaultsTest, CalmRebootsAMachineWithAnotherDriverThanItsPodSays) {
  take("{nodes: [1], setMachine: {loadsInstead: \"1.2.3\"}}");
  take("{nodes: [1], rebootNodes: 1m}");
  cluster.loop.run_for(minutes(15));
  ASSERT_EQ(cluster.kubelets().machine("gpu-1").version(), "1.2.3");
  uint64_t loads = cluster.kubelets().machine("gpu-2").generation();
  world.calm();
  cluster.loop.run_for(minutes(15));
  EXPECT_EQ(cluster.kubelets().machine("gpu-1").version(), old_version);
  EXPECT_EQ(cluster.kubelets().machine("gpu-2").generation(), loads) << "nothing was wrong with it";
}

// Also if the machine was repaired before, and what hung there was not restarted.
TEST_F(WorldFaultsTest, CalmRestartsADriverThatLoadsForEver) {
  NodeBehaviour loads_for_ever;
  loads_for_ever.driver_never_ready = "*";
  cluster.kubelets().set_behaviour("gpu-2", loads_for_ever);
  cluster.kubelets().crash_driver("gpu-2");
  cluster.loop.run_for(minutes(30));
  EXPECT_TRUE(cluster.kubelets().has_hung_driver("gpu-2"));
  EXPECT_FALSE(cluster.kubelets().has_hung_driver("gpu-1"));
  cluster.kubelets().set_behaviour("gpu-2", {});
  cluster.loop.run_for(minutes(30));
  EXPECT_TRUE(cluster.kubelets().has_hung_driver("gpu-2"));
  world.calm();
  cluster.loop.run_for(minutes(10));
  EXPECT_FALSE(cluster.kubelets().has_hung_driver("gpu-2"));
  EXPECT_TRUE(cluster.kubelets().machine("gpu-2").loaded());
}

TEST_F(WorldFaultsTest, CalmRenewsTheClientsOfADriverThatCrashed) {
  auto fits = [&](const std::string& node) {
    Pod pod = pod_of(cluster, dra_daemon_set_name, node);
    const PodRun* run = cluster.kubelets().find_run(node, pod.meta.key());
    return run != nullptr && run->nvml.generation == cluster.kubelets().machine(node).generation();
  };
  Text other = pod_of(cluster, dra_daemon_set_name, "gpu-2").meta.uid;
  take("{nodes: [1], crashDriver: true}");
  cluster.loop.run_for(minutes(10));
  ASSERT_FALSE(fits("gpu-1"));
  world.calm();
  cluster.loop.run_for(minutes(5));
  EXPECT_TRUE(fits("gpu-1"));
  EXPECT_EQ(pod_of(cluster, dra_daemon_set_name, "gpu-2").meta.uid, other);
}

TEST(WorldFaults, WhatIsInTheWayOfAnUpgradeGivesWay) {
  auto scenario = read_scenario(R"(
name: test
nodes: 3
policy: {autoUpgrade: true}
workloads: {deploymentReplicas: 2, minAvailable: 2, barePod: true, emptyDirPod: true}
to: "580.126.20"
steps: [{at: 30m, giveWay: true}, {at: 31m, heal: true}]
expect: {done: all, failed: 0, cordoned: [], workRuns: true}
)",
                                "s");
  ASSERT_TRUE(scenario) << scenario.error().text();
  EXPECT_EQ(run_scenario(*scenario, {}).disappointments, std::vector<std::string>{});
  scenario->steps.erase(scenario->steps.begin());
  EXPECT_FALSE(run_scenario(*scenario, {}).disappointments.empty());
}

// The decorators are there in every run; only what is asked for may change it.
TEST(WorldFaults, ARunWithAllFaultsAtZeroIsTheRunWithoutThem) {
  const std::string plain = R"(
name: test
nodes: 3
to: "580.126.20"
policy: {autoUpgrade: true, maxParallelUpgrades: 2, maxUnavailable: "100%"}
expect: {done: all}
)";
  auto without = read_scenario(plain, "without");
  auto with = read_scenario(plain +
                                "faults: {replyLost: 0, staleReplica: 0, listCut: 0, watchLag: "
                                "{default: 0s, pods: 0s}}\n",
                            "with");
  ASSERT_TRUE(without && with);
  RunSummary first = run_scenario(*without, {});
  RunSummary second = run_scenario(*with, {});
  EXPECT_EQ(first.digest, second.digest);
  EXPECT_TRUE(first.faults.empty());
  EXPECT_TRUE(second.faults.empty());
}

}  // namespace
}  // namespace lockstep::sim::world_faults_test
