#include "sim/oracle/end_state.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "sim/actors/sim_test_util.h"

namespace lockstep::sim::end_state_test {
namespace {

class EndStateTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(cluster.start()); }

  void set(const std::string& node, std::string_view state, Json failure = nullptr) {
    EXPECT_TRUE(cluster.call(merge_patch(
        resource::nodes, {"", node},
        JsonObject{{"metadata", JsonObject{{"labels", JsonObject{{fleet::Keys().state, state}}},
                                           {"annotations", JsonObject{{fleet::failure_annotation,
                                                                       std::move(failure)}}}}}})));
  }

  Cluster cluster{fleet_of(2)};
};

TEST_F(EndStateTest, TheGoalIsThatEveryNodeIsDoneOrSaysWhyNot) {
  const fleet::Reason in_sync{fleet::Reason::in_sync, "", ""};
  auto missing = [&](const fleet::Reason& of_second) {
    return missing_to_goal(cluster, {{"gpu-1", in_sync}, {"gpu-2", of_second}});
  };
  auto one = [](std::string text) { return std::vector<std::string>{std::move(text)}; };
  const std::vector<std::string> nothing;
  set("gpu-1", "upgrade-done");
  set("gpu-2", "validation-required");
  EXPECT_EQ(
      missing({fleet::Reason::validator_not_ready, "", ""}),
      one("gpu-2 is in validation-required (ValidatorNotReady), and no controller works on it"));
  set("gpu-2", "upgrade-failed");
  EXPECT_EQ(missing({fleet::Reason::no_validator_pod, "", ""}),
            one("gpu-2 failed, and does not say why"));
  set("gpu-2", "upgrade-failed", "NoValidatorPod: the node has no validator pod");
  EXPECT_EQ(missing({fleet::Reason::no_validator_pod, "", ""}), nothing);
  // Done with a driver that is not the one that it should have.
  set("gpu-2", "upgrade-done");
  EXPECT_EQ(missing({fleet::Reason::out_of_sync, "", ""}),
            one("gpu-2 is in upgrade-done (OutOfSync), and no controller works on it"));
  EXPECT_EQ(missing(in_sync), nothing);
  // Its turn would come by itself; the turn of a node that users skip would not.
  set("gpu-2", "upgrade-required");
  EXPECT_EQ(missing({fleet::Reason::next_in_line, "", ""}).size(), 1U);
  EXPECT_EQ(missing({fleet::Reason::skipped, "", ""}), nothing);
  EXPECT_EQ(missing_to_goal(cluster, {{"gpu-1", in_sync}}),
            one("gpu-2 is in upgrade-required (no reason shown), and no controller works on it"));
}

TEST_F(EndStateTest, TheSameFleetWithOtherTimesAndNamesIsEqual) {
  EndFacts before = end_facts(cluster);
  EXPECT_EQ(before.things.at("node gpu-1").at("driver"), old_version);
  EXPECT_EQ(before.things.at("node gpu-1").at("client fits the driver"), "yes");
  EXPECT_TRUE(delete_pod_of(cluster, "nvidia-dra-driver-gpu-kubelet-plugin", "gpu-1"));
  EXPECT_NE(differences(end_facts(cluster), before), std::vector<std::string>{});
  cluster.loop.run_for(minutes(2));
  EXPECT_EQ(differences(end_facts(cluster), before), std::vector<std::string>{});
}

TEST_F(EndStateTest, ADifferenceIsNamed) {
  EndFacts before = end_facts(cluster);
  cordon(cluster, "gpu-2");
  set("gpu-2", "upgrade-failed", "NoValidatorPod: the node has no validator pod");
  EXPECT_EQ(differences(end_facts(cluster), before),
            (std::vector<std::string>{
                "node gpu-2: cordoned is yes, and was no in the other run",
                "node gpu-2: failure is NoValidatorPod, and was not there in the other run",
                "node gpu-2: state is upgrade-failed, and was unknown in the other run"}));
}

TEST_F(EndStateTest, AStaleClientIsADifference) {
  EndFacts before = end_facts(cluster);
  EXPECT_TRUE(cluster.set_driver_version(new_version));
  cluster.loop.run_for(seconds(10));
  EXPECT_TRUE(delete_pod_of(cluster, driver_daemon_set_name, "gpu-1"));
  cluster.loop.run_for(minutes(10));
  EXPECT_EQ(differences(end_facts(cluster), before),
            (std::vector<std::string>{
                "node gpu-1: client fits the driver is no, and was yes in the other run",
                fmt::format("node gpu-1: driver is {}, and was {} in the other run", new_version,
                            old_version)}));
}

// Eight GPUs are left for ten pods: the two that wait may be of either.
TEST_F(EndStateTest, WhoseWorkWaitsWhereNotAllFitsIsNoDifference) {
  cordon(cluster, "gpu-1");
  auto add = [&](const WorkloadOptions& workloads) {
    for (const kube::Request& request : workload_requests(workloads)) {
      ASSERT_TRUE(cluster.call(request)) << request.describe();
    }
    cluster.loop.run_for(minutes(2));
  };
  WorkloadOptions first;
  WorkloadOptions second;
  first.claim_pods = 6;
  second.extended_pods = 4;
  add(first);
  add(second);
  const EndFacts before = end_facts(cluster);
  auto pods = [&](std::string_view workload) {
    for (const auto& [thing, facts] : before.things) {
      if (thing.find(workload) != std::string::npos) return facts.at(std::string(fact_of_work));
    }
    return std::string();
  };
  EXPECT_EQ(pods("ml-training/dra-inference"), "6");
  EXPECT_EQ(pods("ml-training/extended"), "4") << "of which two wait";
  // Room that no pod has taken yet: they no longer wait for it.
  cordon(cluster, "gpu-1", false);
  EXPECT_EQ(differences(end_facts(cluster), before).size(), 2U) << "the cordon, and two pods";
  cluster.loop.run_for(minutes(2));
  EXPECT_EQ(differences(end_facts(cluster), before).size(), 1U) << "the cordon";
}

TEST(Differences, AreCut) {
  EndFacts many;
  for (int i = 0; i < 30; ++i) many.things[fmt::format("node gpu-{}", i)]["state"] = "unknown";
  auto found = differences(many, EndFacts{});
  EXPECT_EQ(found.size(), 21);
  EXPECT_EQ(found.back(), "and more");
}

}  // namespace
}  // namespace lockstep::sim::end_state_test
