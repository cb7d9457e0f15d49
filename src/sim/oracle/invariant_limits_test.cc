#include "sim/oracle/invariant_limits.h"

#include "controller/slot_ledger.h"
#include "sim/oracle/invariant_test_util.h"

namespace lockstep::sim::invariant_limits_test {
namespace {

class LimitsTest : public InvariantTest {
 protected:
  void start_with(Json parallel, Json unavailable) {
    start(JsonObject{{"autoUpgrade", true},
                     {"maxParallelUpgrades", std::move(parallel)},
                     {"maxUnavailable", std::move(unavailable)}});
    change_driver();
  }
  void begin(const std::string& node) { go(node, {State::required, State::cordon}); }
  // The slots that a controller gives out that has seen so much.
  void write_ledger(std::map<std::string, std::string> slots, uint64_t seen) {
    controller::Ledger ledger;
    ledger.slots = std::move(slots);
    ledger.seen = std::to_string(seen);
    EXPECT_EQ(act(kube::create(resource::config_maps, "default",
                               ledger.to_json({"default", "lockstep-slots"}, ""))),
              201);
  }
  // As it is now.
  std::string version_of(const std::string& node) {
    const auto stored = cluster->backend.store.shelf("nodes").find({"", node});
    return std::string(text_at(stored->json(), "metadata", "resourceVersion"));
  }
  void set_policy(Json policy) {
    EXPECT_TRUE(cluster->call(merge_patch(
        cluster_policies, {"", "cluster-policy"},
        JsonObject{
            {"spec", JsonObject{{"driver", JsonObject{{"upgradePolicy", std::move(policy)}}}}}})));
  }
};

TEST_F(LimitsTest, SeesMoreNodesOutByOurDoingThanAllowed) {
  start_with(0, 1);
  begin("gpu-1");
  expect_innocent();
  begin("gpu-2");
  expect_violation(
      "gpu-2 was taken out of service as number 2 by our doing, and maxUnavailable is 1 of 4");
}

TEST_F(LimitsTest, APercentageIsRoundedUpAndNoFurther) {
  start_with(0, "26%");
  begin("gpu-1");
  begin("gpu-2");
  expect_innocent();
  begin("gpu-3");
  expect_violation("gpu-3 was taken out of service as number 3");
}

TEST_F(LimitsTest, ANodeThatFailedAndIsStillCordonedCounts) {
  start_with(0, 1);
  go_to_restart("gpu-1");
  patch("gpu-1", step(State::failed, {{fleet::failure_annotation, "ProtectedPods: x"}}));
  size_t before = witness->violations().size();
  begin("gpu-2");
  EXPECT_EQ(witness->violations().size(), before + 1);
}

TEST_F(LimitsTest, CountsNodesThatOthersTookOutOfServiceBefore) {
  start_with(0, 1);
  cluster->kubelets().set_ready("gpu-3", false);
  cluster->loop.run_for(minutes(1));
  begin("gpu-1");
  expect_violation(
      "gpu-1 was begun with 2 of 4 nodes unavailable (1 by our doing, 1 by others), and "
      "maxUnavailable is 1");
}

TEST_F(LimitsTest, WhatHappensAfterTheSlotWasGivenIsNotOurDoing) {
  start_with(0, 1);
  go("gpu-1", {State::required});
  write_ledger({{"gpu-1", "1"}}, cluster->backend.store.version());
  cordon(*cluster, "gpu-3");
  go("gpu-1", {State::cordon});
  cluster->kubelets().set_ready("gpu-2", false);
  cluster->loop.run_for(minutes(1));
  expect_innocent();
}

TEST_F(LimitsTest, WhatTheGiverOfTheSlotHadSeenCounts) {
  start_with(0, 1);
  go("gpu-1", {State::required});
  cordon(*cluster, "gpu-3");
  write_ledger({{"gpu-1", "1"}}, cluster->backend.store.version());
  go("gpu-1", {State::cordon});
  expect_violation("1 by our doing, 1 by others");
}

TEST_F(LimitsTest, ANodeThatIsOutOfServiceAlreadyCostsNothing) {
  start_with(0, 1);
  cordon(*cluster, "gpu-1");
  cordon(*cluster, "gpu-2");
  begin("gpu-1");
  expect_innocent();
}

TEST_F(LimitsTest, ALimitThatWasLoweredAMomentAgoMayBeUnknown) {
  start_with(0, 2);
  begin("gpu-1");
  set_policy(JsonObject{{"maxUnavailable", 1}});
  begin("gpu-2");
  expect_innocent();
}

TEST_F(LimitsTest, ALimitThatWasLoweredLongAgoIsKnown) {
  start_with(0, 2);
  begin("gpu-1");
  set_policy(JsonObject{{"maxUnavailable", 1}});
  cluster->loop.run_for(minutes(1));
  begin("gpu-2");
  expect_violation("gpu-2 was taken out of service as number 2");
}

TEST_F(LimitsTest, SeesMoreUpgradesAtOnceThanAllowed) {
  start_with(1, "100%");
  begin("gpu-1");
  begin("gpu-2");
  expect_violation("gpu-2 was begun as number 2 at a time, and maxParallelUpgrades is 1");
}

TEST_F(LimitsTest, SeesSlotsThatDoNotFitBesideEachOther) {
  start_with(1, "100%");
  go("gpu-1", {State::required});
  go("gpu-2", {State::required});
  write_ledger({{"gpu-1", version_of("gpu-1")}, {"gpu-2", version_of("gpu-2")}},
               cluster->backend.store.version());
  expect_violation("slots for 2 nodes at a time are given, and maxParallelUpgrades is 1");
}

TEST_F(LimitsTest, SeesASlotThatDoesNotFitBesideAnUpgrade) {
  start_with(0, 1);
  begin("gpu-1");
  go("gpu-2", {State::required});
  write_ledger({{"gpu-2", version_of("gpu-2")}}, cluster->backend.store.version());
  expect_violation(
      "slots to take 2 nodes out of service are given, and maxUnavailable is 1 of 4 nodes");
}

TEST_F(LimitsTest, ASlotThatIsUsedOrSpentTakesNoPlaceOfItsOwn) {
  start_with(2, 2);
  go("gpu-1", {State::required});
  go("gpu-2", {State::required});
  go("gpu-3", {State::required});
  const std::string used = version_of("gpu-1");
  const std::string spent = version_of("gpu-2");
  go("gpu-1", {State::cordon});
  meddle("gpu-2", annotations({{"example.com/note", "x"}}));
  write_ledger({{"gpu-1", used}, {"gpu-2", spent}, {"gpu-3", version_of("gpu-3")}},
               cluster->backend.store.version());
  expect_innocent();
}

TEST_F(LimitsTest, WhoIsOutAlreadyCostsNothingUnderALowerLimit) {
  start_with(0, 2);
  go_to_restart("gpu-1");
  go_to_restart("gpu-2");
  patch("gpu-2", step(State::failed, {{fleet::failure_annotation, "DriverStartTimeout: x"}}));
  set_policy(JsonObject{{"maxUnavailable", 1}});
  cluster->loop.run_for(minutes(1));
  const size_t before = witness->violations().size();
  write_ledger({{"gpu-2", version_of("gpu-2")}}, cluster->backend.store.version());
  EXPECT_EQ(witness->violations().size(), before);
}

TEST_F(LimitsTest, ACordonedNodeTakesNoOneMoreOutOfService) {
  start_with(0, 1);
  begin("gpu-1");
  cordon(*cluster, "gpu-2");
  go("gpu-2", {State::required});
  write_ledger({{"gpu-2", version_of("gpu-2")}}, cluster->backend.store.version());
  expect_innocent();
}

TEST_F(LimitsTest, ANodeThatRecoversFromItsFailureTakesAPlaceToo) {
  start_with(1, "100%");
  go_to_restart("gpu-1");
  patch("gpu-1", step(State::failed, {{fleet::failure_annotation, "DriverStartTimeout: x"}}));
  begin("gpu-2");
  size_t before = witness->violations().size();
  go("gpu-1", {State::validation});
  ASSERT_EQ(witness->violations().size(), before + 1);
  EXPECT_NE(witness->violations().back().find(
                "gpu-1 was begun as number 2 at a time, and maxParallelUpgrades is 1"),
            std::string::npos);
}

TEST_F(LimitsTest, AnUpgradeThatEndedMakesRoom) {
  start_with(1, 1);
  begin("gpu-1");
  go("gpu-1", {State::uncordon, State::done});
  begin("gpu-2");
  expect_innocent();
}

TEST_F(LimitsTest, AValidatedNodeThatSomebodyUncordonedIsBackInService) {
  start_with(0, 1);
  begin("gpu-1");
  go("gpu-1", {State::uncordon});
  cordon(*cluster, "gpu-1", false);
  begin("gpu-2");
  expect_innocent();
}

TEST_F(LimitsTest, ANodeWhoseChangeWasTakenBackIsNoUpgrade) {
  start_with(1, "100%");
  go("gpu-1", {State::required, State::uncordon});
  begin("gpu-2");
  expect_innocent();
}

TEST_F(LimitsTest, WhatPeopleBeginIsNotHeldAgainstUs) {
  start_with(1, 1);
  meddle("gpu-1", label(State::cordon));
  begin("gpu-2");
  expect_innocent();
}

}  // namespace
}  // namespace lockstep::sim::invariant_limits_test
