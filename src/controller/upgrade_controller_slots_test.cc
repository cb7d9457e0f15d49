// Slots under crashes, old views and a second controller: never beyond the limits, never stuck.
#include <gtest/gtest.h>

#include "controller/controller_test_util.h"
#include "controller/upgrade_controller.h"

namespace lockstep::controller::upgrade_controller_slots_test {
namespace {

TEST(UpgradeSlots, KilledAnywhereAndStartedAgainItGoesOn) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    UpgradeScene scene({seed, 3, R"({"maxUnavailable":1,"maxParallelUpgrades":1})"});
    scene.start();
    LimitWitness witness(scene.fleet, 1, 1);
    scene.upgrade();
    SeededRandom moments(seed);
    int kills = 0;
    bool done = false;
    // By events, not by time: between any two writes.
    for (; kills < 60 && !done; ++kills) {
      uint64_t steps = 1 + moments.below(120);
      for (uint64_t i = 0; i < steps; ++i) scene.fleet.loop.step();
      scene.one.restart();
      done = scene.fleet.upgraded();
    }
    EXPECT_TRUE(scene.finish()) << "seed " << seed;
    EXPECT_EQ(witness.violations, std::vector<std::string>{}) << "seed " << seed;
    EXPECT_GT(kills, 5) << "seed " << seed;
    for (const auto& node : {"gpu-1", "gpu-2", "gpu-3"}) {
      EXPECT_FALSE(scene.fleet.unschedulable(node)) << "seed " << seed;
    }
  }
}

// Slots that could not be used before a pause, and a limit that is lower after it.
TEST(UpgradeSlots, ThatWereGivenBeforeAPauseAreNotUsedBeyondTheLimitAfterIt) {
  UpgradeScene scene({1, 4, R"({"maxUnavailable":"100%","maxParallelUpgrades":3})"});
  scene.start();
  bool broken = true;
  kube::CallPlan fails;
  fails.fault = kube::Fault::server_error;
  const std::string state = fleet::Keys().state;
  scene.one.faults.on_call(
      [&](const kube::Request& request) {
        return broken && request.verb == kube::Verb::patch && request.type == resource::nodes &&
               text_at(*request.body, "metadata", "labels", state) == "cordon-required";
      },
      fails, 100000);
  scene.upgrade();
  const ObjectKey ledger{"lockstep-system", "lockstep-slots"};
  ASSERT_TRUE(scene.fleet.run_until(
      [&] { return scene.fleet.exists(resource::config_maps, ledger); }, minutes(5)));
  scene.fleet.set_policy(R"({"autoUpgrade":false,"maxUnavailable":"100%"})");
  scene.fleet.loop.run_for(minutes(1));
  broken = false;
  scene.fleet.loop.run_for(minutes(5));
  ASSERT_TRUE(scene.fleet.all_are("upgrade-required"));
  LimitWitness witness(scene.fleet, 4, 1);
  scene.fleet.set_policy(R"({"autoUpgrade":true,"maxUnavailable":"100%","maxParallelUpgrades":1})");
  EXPECT_TRUE(scene.finish());
  EXPECT_EQ(witness.violations, std::vector<std::string>{});
  EXPECT_EQ(witness.peak, 1);
}

// Two that both believe to lead, with views of different age, while kubelets write to the nodes and
// so spend slots that were given.
TEST(UpgradeSlots, TwoAtOnceNeverTakeThePoolBeyondItsLimits) {
  uint64_t conflicts = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    UpgradeScene scene({seed, 8, R"({"maxUnavailable":3,"maxParallelUpgrades":2})"});
    TestController two(scene.fleet, "two", seed + 100);
    for (TestController* controller : {&scene.one, &two}) {
      controller->weather().latency = milliseconds(300);
      controller->weather().reply_lost = 0.02;
      controller->weather().conflict = 0.02;
      controller->lead();
    }
    scene.one.weather().watch_lag = milliseconds(static_cast<int64_t>(seed % 3) * 700);
    two.weather().watch_lag = seconds(static_cast<int64_t>(seed % 4) * 8);
    ASSERT_TRUE(
        scene.fleet.run_until([&] { return scene.fleet.all_are("upgrade-done"); }, minutes(5)));
    LimitWitness witness(scene.fleet, 3, 2);
    scene.upgrade();
    SeededRandom beats(seed);
    EXPECT_TRUE(scene.fleet.run_until(
        [&] {
          scene.fleet.patch_node(
              fmt::format("gpu-{}", 1 + beats.below(8)),
              fmt::format(R"({{"metadata":{{"annotations":{{"beat":"{}"}}}}}})", beats.next()));
          return scene.fleet.upgraded();
        },
        hours(1)))
        << "seed " << seed;
    EXPECT_EQ(witness.violations, std::vector<std::string>{}) << "seed " << seed;
    // A limit that is never reached is not tested.
    EXPECT_EQ(witness.peak, 2) << "seed " << seed;
    conflicts += scene.one.controller->counts().conflicts + two.controller->counts().conflicts;
  }
  EXPECT_GT(conflicts, 0U);
}

TEST(UpgradeSlots, SpentSlotsLeaveTheLedgerWithTheNextStart) {
  UpgradeScene scene({1, 4, R"({"maxUnavailable":1,"maxParallelUpgrades":1})"});
  scene.start();
  scene.fleet.set_revision_while_paused("r2", 2);
  ASSERT_TRUE(scene.finish());
  Json stored =
      scene.fleet.must(kube::get(resource::config_maps, {"lockstep-system", "lockstep-slots"}));
  Ledger ledger = Ledger::from_json(stored);
  EXPECT_EQ(ledger.slots.size(), 1U);
  EXPECT_TRUE(ledger.slots.contains("gpu-4"));
  EXPECT_FALSE(ledger.seen.empty());
}

TEST(UpgradeSlots, WithoutTheLedgersNamespaceNothingStartsUntilItIsThere) {
  UpgradeScene scene;
  scene.start();
  scene.fleet.must(kube::remove(resource::namespaces, {"", "lockstep-system"}));
  scene.fleet.loop.run_for(minutes(1));
  scene.upgrade();
  scene.fleet.loop.run_for(minutes(2));
  EXPECT_TRUE(scene.fleet.all_are("upgrade-required"));
  ASSERT_TRUE(scene.one.controller->ledger().last_error());
  scene.fleet.must(kube::create(
      resource::namespaces, "",
      json_of(R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"lockstep-system"}})")));
  EXPECT_TRUE(scene.finish());
  EXPECT_FALSE(scene.one.controller->ledger().last_error());
}

TEST(UpgradeSlots, WhoHasSeenLessThanTheLedgersWriterWaits) {
  UpgradeScene scene;
  scene.start();
  auto pause = [&](std::string_view value) {
    scene.fleet.must(kube::patch(
        cluster_policies, {"", "cluster-policy"}, kube::PatchType::merge,
        json_of(fmt::format(R"({{"metadata":{{"annotations":{{"lockstep.dev/paused":{}}}}}}})",
                            value))));
  };
  pause(R"("for a test")");
  scene.upgrade();
  scene.fleet.loop.run_for(minutes(1));
  ASSERT_TRUE(scene.fleet.all_are("upgrade-required"));
  // Written by a replica that has seen the current nodes, which we will see in two minutes.
  scene.one.weather().watch_lag_of["nodes"] = minutes(2);
  scene.fleet.patch_node("gpu-1", R"({"metadata":{"annotations":{"beat":"1"}}})");
  Json node = scene.fleet.must(kube::get(resource::nodes, {"", "gpu-1"}));
  const Ledger ledger{{}, std::string(text_at(node, "metadata", "resourceVersion"))};
  const ObjectKey key{"lockstep-system", "lockstep-slots"};
  scene.fleet.must(kube::create(resource::config_maps, key.ns, ledger.to_json(key, "")));
  pause("null");
  scene.fleet.loop.run_for(minutes(1));
  EXPECT_TRUE(scene.fleet.all_are("upgrade-required"));
  // As soon as we have seen as much, we give slots.
  EXPECT_TRUE(scene.finish());
}

// Its history is not that of this cluster: a replica that waited to see it would do so
// indefinitely, while `why` says that a slot is free.
TEST(RestoredLedger, OfAnotherClusterStopsNoStart) {
  UpgradeScene scene;
  scene.start();
  const Ledger foreign{{{"gpu-1", "900000"}, {"gpu-2", "900001"}}, "1000000"};
  const ObjectKey key{"lockstep-system", "lockstep-slots"};
  scene.fleet.must(kube::create(resource::config_maps, key.ns, foreign.to_json(key, "")));
  scene.upgrade();
  EXPECT_TRUE(scene.finish());
}

TEST(UpgradeSlots, ASlotOfTheLedgerCountsAlsoForOneWhoWasBehindWhenItWasRead) {
  UpgradeScene scene({1, 3, R"({"maxUnavailable":1,"maxParallelUpgrades":1})"});
  scene.start();
  scene.one.controller->follow();
  LimitWitness witness(scene.fleet, 1, 1);
  for (const auto& node : {"gpu-1", "gpu-2", "gpu-3"}) {
    scene.fleet.patch_node(node, R"({"metadata":{"labels":
        {"nvidia.com/gpu-driver-upgrade-state":"upgrade-required"}}})");
  }
  scene.upgrade();
  scene.fleet.loop.run_for(seconds(5));
  // Another gives gpu-3 a slot at a version that we have not seen, and is slow to use it.
  scene.one.weather().watch_lag = seconds(20);
  scene.fleet.patch_node("gpu-3", R"({"metadata":{"annotations":{"a":"b"}}})");
  Json node = scene.fleet.must(kube::get(resource::nodes, {"", "gpu-3"}));
  std::string version(text_at(node, "metadata", "resourceVersion"));
  Ledger ledger{{{"gpu-3", version}}, version};
  ObjectKey key{"lockstep-system", "lockstep-slots"};
  scene.fleet.send(kube::remove(resource::config_maps, key));
  scene.fleet.must(kube::create(resource::config_maps, key.ns, ledger.to_json(key, "")));
  // It must stay the only one until it has run its course.
  scene.one.lead();
  EXPECT_TRUE(scene.finish());
  EXPECT_EQ(witness.violations, std::vector<std::string>{});
  EXPECT_EQ(witness.peak, 1);
}

}  // namespace
}  // namespace lockstep::controller::upgrade_controller_slots_test
