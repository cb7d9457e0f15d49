#include "sim/scenario/people.h"

#include <gtest/gtest.h>

#include "sim/actors/sim_test_util.h"

namespace lockstep::sim::people_test {
namespace {

class PeopleTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(cluster.start()); }

  Result<void> take(std::string action, Json value, std::vector<int> nodes = {}) {
    Interference step;
    step.action = std::move(action);
    step.value = std::move(value);
    step.nodes.numbers = std::move(nodes);
    return people.take(step, 2);
  }
  Document node(const std::string& name) { return cluster.get(resource::nodes, {"", name}); }

  Scenario scenario;
  Cluster cluster{fleet_of(2)};
  RolloutPart rollout{cluster, scenario, 1};
  People people{cluster, scenario, rollout};
  const fleet::Keys keys;
};

TEST_F(PeopleTest, StepsAboutNodesAreForThoseThatAreNamed) {
  EXPECT_TRUE(take("cordon", true, {2}));
  EXPECT_TRUE(take("skip", true, {2}));
  EXPECT_FALSE(as_bool(find(*node("gpu-1"), "spec", "unschedulable")));
  EXPECT_TRUE(as_bool(find(*node("gpu-2"), "spec", "unschedulable")));
  EXPECT_EQ(text_at(*node("gpu-2"), "metadata", "labels", keys.skip), "true");
  EXPECT_TRUE(take("uncordon", true, {2}));
  EXPECT_TRUE(take("unskip", true, {2}));
  EXPECT_FALSE(as_bool(find(*node("gpu-2"), "spec", "unschedulable")));
  EXPECT_EQ(text_at(*node("gpu-2"), "metadata", "labels", keys.skip), "");
}

TEST_F(PeopleTest, OnlyWhatFailedIsTriedAgain) {
  for (const char* state : {"upgrade-done", "upgrade-failed"}) {
    std::string name = std::string(state) == "upgrade-done" ? "gpu-1" : "gpu-2";
    ASSERT_TRUE(cluster.call(merge_patch(
        resource::nodes, {"", name},
        JsonObject{{"metadata", JsonObject{{"labels", JsonObject{{keys.state, state}}}}}})));
  }
  EXPECT_TRUE(people.retry_failed());
  EXPECT_EQ(text_at(*node("gpu-1"), "metadata", "labels", keys.state), "upgrade-done");
  EXPECT_EQ(text_at(*node("gpu-2"), "metadata", "labels", keys.state), "upgrade-required");
}

TEST_F(PeopleTest, APauseIsAnAnnotationOfThePolicyUntilSomebodyResumes) {
  auto paused = [&] {
    Document policy = cluster.get(fleet::cluster_policies, {"", "cluster-policy"});
    return std::string(text_at(*policy, "metadata", "annotations", fleet::paused_annotation));
  };
  EXPECT_TRUE(take("pause", "lunch"));
  EXPECT_EQ(paused(), "lunch");
  EXPECT_TRUE(take("resume", true));
  EXPECT_EQ(paused(), "");
}

TEST_F(PeopleTest, WhatTheClusterRefusesIsAnError) {
  ASSERT_TRUE(cluster.call(kube::remove(fleet::cluster_policies, {"", "cluster-policy"})));
  EXPECT_FALSE(take("pause", "lunch"));
}

}  // namespace
}  // namespace lockstep::sim::people_test
