#include "sim/oracle/reason_truth.h"

#include "controller/slot_ledger.h"
#include "sim/oracle/invariant_test_util.h"

namespace lockstep::sim::reason_truth_test {
namespace {

std::vector<const Objections*> all_tables() {
  return {&objections_to_starting(), &objections_to_slots(), &objections_to_evicting(),
          &objections_to_restarting(), &objections_to_validating()};
}

using ReasonTruthTest = InvariantTest;

TEST_F(ReasonTruthTest, ASlotCountsUntilItsNodeHasMoved) {
  start();
  change_driver();
  go("gpu-1", {State::required});
  controller::Ledger ledger;
  ledger.slots["gpu-1"] =
      text_at(*witness->truth().node("gpu-1")->object, "metadata", "resourceVersion");
  const ObjectKey key{"lockstep-system", "lockstep-slots"};
  EXPECT_EQ(act(kube::create(resource::config_maps, key.ns, ledger.to_json(key, ""))), 201);
  PoolTruth given(witness->truth(), "");
  EXPECT_EQ(given.reserved, std::set<std::string>{"gpu-1"});
  EXPECT_EQ(given.active, 1);
  EXPECT_EQ(given.unavailable, 1);
  go("gpu-1", {State::cordon});
  PoolTruth used(witness->truth(), "");
  EXPECT_TRUE(used.reserved.empty());
  EXPECT_EQ(used.active, 1);
}

TEST_F(ReasonTruthTest, CountsWhoIsAway) {
  start();
  cordon(*cluster, "gpu-1");
  meddle("gpu-2", label(State::failed));
  PoolTruth pool(witness->truth(), "");
  EXPECT_EQ(pool.active, 0);
  EXPECT_EQ(pool.unavailable, 1);
  EXPECT_EQ(pool.failed, 1);
  EXPECT_EQ(PoolTruth(witness->truth(), "another").unavailable, 0);
}

TEST_F(ReasonTruthTest, NoReasonIsInTwoTables) {
  std::set<fleet::ReasonName> names;
  for (const Objections* table : all_tables()) {
    for (const auto& [name, objection] : *table) {
      EXPECT_TRUE(names.insert(name).second) << name.view();
    }
  }
}

// Whatever else the table of reasons calls a failure: a node does not fail with it.
TEST_F(ReasonTruthTest, ANodeFailsWithTheseAndNoOthers) {
  std::set<std::string_view> failures;
  for (const Objections* table : all_tables()) {
    for (const auto& [name, objection] : *table) {
      if (name.row().fails()) failures.insert(name.row().name);
    }
  }
  EXPECT_EQ(failures,
            (std::set<std::string_view>{
                "BlockedByDisruptionBudget", "ClientMissing", "ClientNotReady",
                "DriverContainerBroken", "DriverCrashLoop", "DriverImageUnavailable",
                "DriverNotReady", "DriverStartTimeout", "EvictionFailed", "GpuPodsRemain",
                "NoValidatorPod", "NodeNotReady", "PodsKeepComing", "PodsStuckTerminating",
                "ProtectedPods", "StaleClient", "StaleResourceSlice", "ValidatorNotReady"}));
}

}  // namespace
}  // namespace lockstep::sim::reason_truth_test
