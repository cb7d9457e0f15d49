#include "sim/oracle/truth.h"

#include "sim/oracle/invariant_test_util.h"

namespace lockstep::sim::truth_test {
namespace {

class TruthTest : public InvariantTest {
 protected:
  const NodeTruth& node(const std::string& name) { return *witness->truth().node(name); }
};

TEST_F(TruthTest, ACordonIsWhoseHandSetIt) {
  start();
  cordon(*cluster, "gpu-1");
  EXPECT_EQ(node("gpu-1").cordon, Cordon::others);
  EXPECT_FALSE(node("gpu-1").out_by_us());
  patch("gpu-2", JsonObject{{"spec", JsonObject{{"unschedulable", true}}}});
  EXPECT_EQ(node("gpu-2").cordon, Cordon::ours);
  EXPECT_TRUE(node("gpu-2").out_by_us());
  EXPECT_EQ(witness->truth().out_by_us(""), std::set<std::string>{"gpu-2"});
  EXPECT_EQ(witness->truth().out_by_others(""), std::set<std::string>{"gpu-1"});
  cordon(*cluster, "gpu-2", false);
  EXPECT_TRUE(witness->truth().out_by_us("").empty());
}

TEST_F(TruthTest, ACordonDuringTheUpgradeCannotBeToldFromOurs) {
  start();
  change_driver();
  go("gpu-1", {State::required, State::cordon, State::wait_for_jobs});
  cordon(*cluster, "gpu-1", false);
  cordon(*cluster, "gpu-1");
  EXPECT_TRUE(node("gpu-1").cordoned_in_flight);
  cordon(*cluster, "gpu-2");
  EXPECT_FALSE(node("gpu-2").cordoned_in_flight);
}

// As beside a driver-manager that uncordons in every reload.
TEST_F(TruthTest, ACordonFromBeforeOursIsTheirsWhoeverCordonsAgain) {
  start();
  change_driver();
  go("gpu-1", {State::required, State::cordon});
  cordon(*cluster, "gpu-1");
  go("gpu-1", {State::wait_for_jobs, State::pod_deletion});
  cordon(*cluster, "gpu-1", false);
  patch("gpu-1", JsonObject{{"spec", JsonObject{{"unschedulable", true}}}});
  EXPECT_EQ(node("gpu-1").cordon, Cordon::others);
}

TEST_F(TruthTest, KnowsSinceWhenANodeIsOut) {
  start();
  EXPECT_EQ(node("gpu-1").out_since, 0);
  cluster->kubelets().set_ready("gpu-1", false);
  cluster->loop.run_for(minutes(1));
  uint64_t since = node("gpu-1").out_since;
  EXPECT_GT(since, 0);
  cordon(*cluster, "gpu-1");
  EXPECT_EQ(node("gpu-1").out_since, since);
  cordon(*cluster, "gpu-1", false);
  cluster->kubelets().set_ready("gpu-1", true);
  cluster->loop.run_for(minutes(1));
  EXPECT_EQ(node("gpu-1").out_since, 0);
}

TEST_F(TruthTest, KnowsThePodsOfANodeAndItsDriver) {
  start();
  add_gpu_pod(*cluster, "work", "gpu-1");
  EXPECT_TRUE(witness->truth().pods_on("gpu-1").contains({"ml-training", "work"}));
  const PodTruth* driver = witness->truth().driver_pod("gpu-1");
  ASSERT_NE(driver, nullptr);
  const DriverTruth* truth = witness->truth().driver_of(*driver->object);
  ASSERT_NE(truth, nullptr);
  EXPECT_EQ(label_of(*driver->object, fleet::revision_label), truth->newest);
  EXPECT_EQ(config_digest(*find(*driver->object, "spec")), truth->digest);
  EXPECT_FALSE(witness->truth().may_be_unknown(truth->changed));
  EXPECT_TRUE(cluster->set_driver_version(new_version));
  cluster->loop.run_for(seconds(2));
  EXPECT_NE(label_of(*driver->object, fleet::revision_label), truth->newest);
  EXPECT_TRUE(witness->truth().may_be_unknown(truth->changed));
}

TEST_F(TruthTest, APolicyIsBelievedUntilTheNewOneMustBeKnown) {
  start(JsonObject{{"autoUpgrade", true}, {"maxParallelUpgrades", 0}, {"maxUnavailable", "30%"}});
  EXPECT_EQ(witness->truth().limits("").unavailable, 2) << "rounded up";
  EXPECT_EQ(witness->truth().limits("").parallel, 0);
  EXPECT_TRUE(cluster->call(merge_patch(
      cluster_policies, {"", "cluster-policy"},
      JsonObject{
          {"spec", JsonObject{{"driver", JsonObject{{"upgradePolicy",
                                                     JsonObject{{"maxParallelUpgrades", 3},
                                                                {"maxUnavailable", 1}}}}}}}})));
  EXPECT_EQ(witness->truth().limits("").unavailable, 2);
  EXPECT_EQ(witness->truth().limits("").parallel, 0);
  cluster->loop.run_for(seconds(10));
  EXPECT_EQ(witness->truth().limits("").unavailable, 1);
  EXPECT_EQ(witness->truth().limits("").parallel, 3);
}

TEST_F(TruthTest, ANodeThatVanishesLowersAPercentageLater) {
  start(JsonObject{{"autoUpgrade", true}, {"maxUnavailable", "50%"}});
  EXPECT_TRUE(cluster->call(kube::remove(resource::nodes, {"", "gpu-1"})));
  EXPECT_TRUE(cluster->call(kube::remove(resource::nodes, {"", "gpu-2"})));
  EXPECT_EQ(witness->truth().total(""), 2);
  EXPECT_EQ(witness->truth().limits("").unavailable, 2);
  cluster->loop.run_for(seconds(10));
  EXPECT_EQ(witness->truth().limits("").unavailable, 1);
}

TEST(PodFacts, AreReadFromTheObject) {
  Json gpu = JsonObject{
      {"spec",
       JsonObject{
           {"initContainers",
            JsonArray{JsonObject{
                {"name", "a"},
                {"resources", JsonObject{{"limits", JsonObject{{"nvidia.com/mig-1g.10gb", 1}}}}}}}},
           {"volumes", JsonArray{JsonObject{{"emptyDir", JsonObject{}}}}}}}};
  EXPECT_TRUE(asks_for_gpu(gpu));
  EXPECT_TRUE(has_empty_dir(gpu));
  EXPECT_EQ(controller_of(gpu), nullptr);
  Json plain =
      JsonObject{{"metadata", JsonObject{{"deletionTimestamp", "now"}}},
                 {"spec", JsonObject{{"containers", JsonArray{JsonObject{{"name", "a"}}}}}},
                 {"status", JsonObject{{"phase", "Succeeded"}}}};
  EXPECT_FALSE(asks_for_gpu(plain));
  EXPECT_FALSE(has_empty_dir(plain));
  EXPECT_TRUE(is_terminating(plain));
  EXPECT_TRUE(has_ended(plain));
}

}  // namespace
}  // namespace lockstep::sim::truth_test
