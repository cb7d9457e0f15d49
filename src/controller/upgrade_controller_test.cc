#include "controller/upgrade_controller.h"

#include <gtest/gtest.h>

#include "controller/controller_test_util.h"

namespace lockstep::controller::upgrade_controller_test {
namespace {

constexpr std::string_view pod_deletion = "pod-deletion-required";

kube::ScriptedFaults::CallMatch evictions() {
  return [](const kube::Request& request) { return request.subresource == "eviction"; };
}

kube::CallPlan failing(kube::Fault fault) {
  kube::CallPlan plan;
  plan.fault = fault;
  return plan;
}

TEST(UpgradeController, UpgradesEveryNodeAndPutsItBackIntoService) {
  UpgradeScene scene;
  scene.start();
  scene.upgrade();
  EXPECT_TRUE(scene.finish());
  for (const auto& node : {"gpu-1", "gpu-2", "gpu-3"}) {
    EXPECT_FALSE(scene.fleet.unschedulable(node));
    EXPECT_EQ(scene.one.controller->reasons().at(node).name, "InSync");
  }
  EXPECT_EQ(scene.one.controller->counts().failures, 0U);
  EXPECT_EQ(scene.one.controller->counts().conflicts, 0U);
  EXPECT_TRUE(scene.one.controller->idle());
}

TEST(UpgradeController, EachTransitionIsToldByExactlyOneEvent) {
  UpgradeScene scene({1, 1, R"({"maxUnavailable":"100%"})"});
  scene.start();
  scene.fleet.add_work("work-1", "gpu-1");
  scene.upgrade();
  ASSERT_TRUE(scene.finish());
  scene.fleet.loop.run_for(minutes(1));
  constexpr std::string_view said = "Normal Successfully updated node state label to ";
  std::map<std::string, int> expected;
  for (std::string_view state :
       {"upgrade-required", "cordon-required", "wait-for-jobs-required", "pod-deletion-required",
        "pod-restart-required", "validation-required", "uncordon-required"}) {
    expected[fmt::format("{}{}", said, state)] = 1;
  }
  // When it was first seen, and after the upgrade.
  expected[fmt::format("{}upgrade-done", said)] = 2;
  EXPECT_EQ(scene.events_of("gpu-1"), expected);
  EXPECT_EQ(scene.one.controller->counts().transitions, 9U);
}

TEST(UpgradeController, ASecondUpgradeRightAfterIsToldAsWell) {
  UpgradeScene scene({1, 1});
  scene.start();
  for (int i = 2; i <= 6; ++i) {
    scene.fleet.set_revision(fmt::format("r{}", i), i);
    ASSERT_TRUE(scene.finish());
  }
  scene.fleet.loop.run_for(minutes(1));
  auto events = scene.events_of("gpu-1");
  EXPECT_EQ(events["Normal Successfully updated node state label to upgrade-done"], 6);
  EXPECT_EQ(events["Normal Successfully updated node state label to validation-required"], 5);
}

TEST(UpgradeController, WithAutoUpgradeOffNothingAtAllIsWritten) {
  UpgradeScene scene({1, 3, R"({"autoUpgrade":false})"});
  scene.one.lead();
  scene.upgrade();
  scene.fleet.patch_node("gpu-1", R"({"metadata":{"labels":
      {"nvidia.com/gpu-driver-upgrade-state":"cordon-required"}}})");
  scene.fleet.loop.run_for(minutes(10));
  EXPECT_TRUE(scene.one.controller->ready());
  EXPECT_EQ(scene.one.api.writes(), 0U);
  EXPECT_EQ(scene.one.controller->reasons().at("gpu-1").name, "AutoUpgradeOff");
  // And on again it goes on from there.
  scene.fleet.set_policy(R"({"autoUpgrade":true,"maxUnavailable":"100%"})");
  EXPECT_TRUE(scene.finish());
}

TEST(UpgradeController, WithoutAPolicyNothingIsWritten) {
  FleetSetup setup;
  setup.definitions = false;
  UpgradeScene scene(setup);
  scene.one.lead();
  scene.upgrade();
  scene.fleet.loop.run_for(minutes(5));
  EXPECT_TRUE(scene.one.controller->ready());
  EXPECT_EQ(scene.one.api.writes(), 0U);
  EXPECT_EQ(scene.one.controller->reasons().at("gpu-1").name, "NoPolicy");
}

TEST(UpgradeController, WhoDoesNotLeadDecidesAndWritesNothing) {
  UpgradeScene scene;
  scene.upgrade();
  scene.fleet.loop.run_for(minutes(5));
  EXPECT_EQ(scene.one.api.writes(), 0U);
  EXPECT_EQ(scene.one.controller->reasons().at("gpu-1").name, "OutOfSync");
  EXPECT_EQ(scene.one.controller->watch().tally().counts("").total, 3);
  scene.one.lead();
  EXPECT_TRUE(scene.finish());
}

TEST(UpgradeController, WhoFollowsInTheMiddleStopsThereAndMayGoOnLater) {
  UpgradeScene scene;
  scene.start();
  scene.upgrade();
  ASSERT_TRUE(scene.fleet.run_until(
      [&] { return scene.fleet.state("gpu-1") == "pod-restart-required"; }, minutes(5)));
  scene.one.controller->follow();
  // What is in flight ends.
  scene.fleet.loop.run_for(seconds(1));
  EXPECT_TRUE(scene.one.controller->idle());
  uint64_t writes = scene.one.api.writes();
  scene.fleet.loop.run_for(minutes(10));
  EXPECT_EQ(scene.one.api.writes(), writes);
  EXPECT_FALSE(scene.fleet.upgraded());
  scene.one.lead();
  EXPECT_TRUE(scene.finish());
}

TEST(UpgradeController, AnotherGoesOnWhereTheFirstStopped) {
  UpgradeScene scene;
  TestController two(scene.fleet, "two", 8);
  scene.start();
  scene.upgrade();
  ASSERT_TRUE(scene.fleet.run_until(
      [&] { return scene.fleet.state("gpu-1") == "pod-restart-required"; }, minutes(5)));
  scene.one.controller->follow();
  two.lead();
  EXPECT_TRUE(scene.finish());
  EXPECT_GT(two.controller->counts().transitions, 0U);
}

TEST(UpgradeController, AClockThatIsSetBackHoldsUpNoEviction) {
  UpgradeScene scene({1, 1, R"({"maxUnavailable":"100%","podDeletion":{"timeoutSeconds":0}})"});
  scene.start();
  scene.fleet.add_work("work-1", "gpu-1");
  scene.fleet.add_budget("strict", 1);
  scene.upgrade();
  ASSERT_TRUE(scene.fleet.run_until([&] { return scene.fleet.state("gpu-1") == pod_deletion; },
                                    minutes(1)));
  scene.fleet.loop.run_for(minutes(2));
  const auto& removals = scene.one.controller->counts().removals;
  auto tries = [&] { return removals.at({"evict", "refused_by_budget"}); };
  auto before = tries();
  scene.fleet.loop.step_clock(-minutes(9));
  scene.fleet.loop.run_for(minutes(2));
  EXPECT_GE(tries(), before + 3) << "one in half a minute";
}

TEST(UpgradeController, ARefusedEvictionIsTriedAgainWithGrowingPauses) {
  UpgradeScene scene({1, 1, R"({"maxUnavailable":"100%","podDeletion":{"timeoutSeconds":0}})"});
  scene.start();
  scene.fleet.add_work("work-1", "gpu-1");
  scene.fleet.add_budget("strict", 1);
  scene.fleet.loop.run_for(seconds(1));
  std::vector<Duration> tries;
  scene.one.faults.on_call(
      [&](const kube::Request& request) {
        if (request.subresource == "eviction") tries.push_back(scene.fleet.loop.uptime());
        return false;
      },
      {});
  scene.upgrade();
  ASSERT_TRUE(scene.fleet.run_until([&] { return scene.fleet.state("gpu-1") == pod_deletion; },
                                    minutes(1)));
  scene.fleet.loop.run_for(minutes(5));
  ASSERT_GE(tries.size(), 8U);
  std::vector<int64_t> pauses;
  for (size_t i = 1; i < tries.size(); ++i) {
    pauses.push_back(static_cast<int64_t>(in_seconds(tries[i] - tries[i - 1]) + 0.5));
  }
  EXPECT_GE(pauses.front(), 1);
  EXPECT_LT(pauses.front(), pauses.back());
  EXPECT_TRUE(std::is_sorted(pauses.begin(), pauses.end()));
  EXPECT_EQ(pauses.back(), 30);
  const auto& removals = scene.one.controller->counts().removals;
  EXPECT_EQ(removals.at({"evict", "refused_by_budget"}), tries.size());
  // The server's message is kept, and users hear of it once.
  ASSERT_EQ(scene.one.controller->tries().size(), 1U);
  const auto& kept = scene.one.controller->tries().begin()->second;
  EXPECT_TRUE(kept.by_budget);
  EXPECT_NE(kept.message.find("disruption budget"), std::string::npos) << kept.message;
  EXPECT_EQ(scene.one.controller->reasons().at("gpu-1").name, "BlockedByDisruptionBudget");
  int warnings = 0;
  for (const auto& [text, count] : scene.events_of("gpu-1")) {
    if (text.starts_with("Warning") && text.find("strict") != std::string::npos) warnings += count;
  }
  EXPECT_EQ(warnings, 1);
  // The budget is gone: the next try succeeds.
  scene.fleet.must(kube::remove(resource::pod_disruption_budgets, {"default", "strict"}));
  EXPECT_TRUE(scene.finish(minutes(5)));
  EXPECT_EQ(removals.at({"evict", "done"}), 1U);
}

TEST(UpgradeController, AServerThatIsTooBusyIsNotTakenForABudget) {
  UpgradeScene scene({1, 1, R"({"maxUnavailable":"100%","podDeletion":{"timeoutSeconds":0}})"});
  scene.start();
  scene.fleet.add_work("work-1", "gpu-1");
  scene.one.faults.on_call(evictions(), failing(kube::Fault::throttled), 3);
  scene.upgrade();
  ASSERT_TRUE(scene.fleet.run_until(
      [&] { return scene.one.controller->counts().removals.contains({"evict", "error"}); },
      minutes(1)));
  scene.fleet.loop.run_for(milliseconds(500));
  EXPECT_EQ(scene.one.controller->reasons().at("gpu-1").name, "EvictionRefused");
  EXPECT_TRUE(scene.finish(minutes(5)));
  EXPECT_FALSE(scene.one.controller->counts().removals.contains({"evict", "refused_by_budget"}));
}

TEST(UpgradeController, ANodeThatFailedForABudgetIsNotAnnouncedAgainByTheNextProcess) {
  UpgradeScene scene({1, 1, R"({"maxUnavailable":"100%","podDeletion":{"timeoutSeconds":20}})"});
  scene.start();
  scene.fleet.add_work("work-1", "gpu-1");
  scene.fleet.add_budget("strict", 1);
  scene.upgrade();
  ASSERT_TRUE(scene.fleet.run_until([&] { return scene.fleet.state("gpu-1") == "upgrade-failed"; },
                                    minutes(5)));
  scene.fleet.loop.run_for(minutes(1));
  auto events = scene.events_of("gpu-1");
  EXPECT_EQ(scene.one.controller->counts().failures, 1U);
  scene.one.restart();
  scene.fleet.loop.run_for(minutes(1));
  EXPECT_EQ(scene.one.controller->reasons().at("gpu-1").name, "BlockedByDisruptionBudget");
  EXPECT_EQ(scene.events_of("gpu-1"), events);
}

TEST(UpgradeController, OneNodesErrorsDoNotStopAnother) {
  UpgradeScene scene({1, 3, R"({"maxUnavailable":"100%","maxParallelUpgrades":2})"});
  scene.start();
  bool broken = true;
  scene.one.faults.on_call(
      [&](const kube::Request& request) {
        return broken && request.verb == kube::Verb::patch && request.name == "gpu-2";
      },
      failing(kube::Fault::server_error), 1000);
  scene.upgrade();
  EXPECT_TRUE(scene.fleet.run_until(
      [&] {
        return scene.fleet.state("gpu-3") == "upgrade-done" &&
               scene.one.controller->counts().transitions >= 3 + 2 * 8;
      },
      minutes(10)));
  EXPECT_EQ(scene.fleet.state("gpu-2"), "upgrade-done");  // its first, from before the change
  EXPECT_GT(scene.one.controller->counts().errors, 3U);
  broken = false;
  EXPECT_TRUE(scene.finish());
}

TEST(UpgradeController, AfterAConflictTheNodeIsLookedAtAgain) {
  UpgradeScene scene({1, 1});
  scene.start();
  scene.one.faults.on_call(scene.one.faults.calls(kube::Verb::patch, resource::nodes),
                           failing(kube::Fault::conflict), 3);
  scene.upgrade();
  EXPECT_TRUE(scene.finish(minutes(5)));
  EXPECT_EQ(scene.one.controller->counts().conflicts, 3U);
  EXPECT_EQ(scene.one.controller->counts().errors, 0U);
}

// Whose watch is behind sees nothing new: it would be refused every second until it is not.
TEST(UpgradeController, AConflictThatLastsIsTriedLessAndLessOften) {
  UpgradeScene scene({1, 1});
  scene.start();
  scene.one.faults.on_call(scene.one.faults.calls(kube::Verb::patch, resource::nodes),
                           failing(kube::Fault::conflict), 1000);
  scene.upgrade();
  scene.fleet.loop.run_for(minutes(10));
  const uint64_t conflicts = scene.one.controller->counts().conflicts;
  EXPECT_GE(conflicts, 30U) << "every 16 s";
  EXPECT_LE(conflicts, 50U);
}

TEST(UpgradeController, ALostReplyIsNoReasonToDoAnythingTwice) {
  UpgradeScene scene({1, 1});
  scene.start();
  scene.fleet.add_work("work-1", "gpu-1");
  scene.one.faults.on_call(scene.one.faults.calls(kube::Verb::patch, resource::nodes),
                           failing(kube::Fault::reply_lost), 3);
  scene.one.faults.on_call(evictions(), failing(kube::Fault::reply_lost), 1);
  scene.one.faults.on_call(scene.one.faults.calls(kube::Verb::create, resource::config_maps),
                           failing(kube::Fault::reply_lost), 1);
  int restarts = 0;
  uint64_t listener = scene.fleet.backend.store.add_listener(
      [&](const std::string& storage, const apiserver::Change& change) {
        bool gone = storage == "pods" && change.type == kube::WatchEventType::deleted;
        if (gone && text_at(change.object->json(), "metadata", "labels", "app") == driver_set) {
          ++restarts;
        }
      });
  scene.upgrade();
  EXPECT_TRUE(scene.finish());
  EXPECT_EQ(restarts, 1);
  EXPECT_EQ(scene.one.faults.unused(), 0U);
  scene.fleet.backend.store.remove_listener(listener);
}

TEST(UpgradeController, APodThatIsGoneAlreadyIsWhatWasWanted) {
  UpgradeScene scene({1, 1});
  scene.start();
  scene.fleet.add_work("work-1", "gpu-1");
  // It ends just before we ask.
  scene.one.faults.on_call(
      [&](const kube::Request& request) {
        if (request.subresource == "eviction") {
          JsonObject now{
              {"apiVersion", "v1"}, {"kind", "DeleteOptions"}, {"gracePeriodSeconds", 0}};
          scene.fleet.send(kube::remove(resource::pods, {"default", "work-1"}, std::move(now)));
        }
        return false;
      },
      {});
  scene.upgrade();
  EXPECT_TRUE(scene.finish());
  EXPECT_EQ(scene.one.controller->counts().removals.at({"evict", "gone"}), 1U);
  EXPECT_TRUE(scene.one.controller->tries().empty());
}

TEST(UpgradeController, ARefusalOfAPodThatIsGoneMeanwhileIsNotRemembered) {
  UpgradeScene scene({1, 1});
  scene.start();
  scene.fleet.add_work("work-1", "gpu-1");
  kube::CallPlan slow = failing(kube::Fault::server_error);
  slow.reply_delay = seconds(10);
  scene.one.faults.on_call(evictions(), slow);
  scene.upgrade();
  ASSERT_TRUE(scene.fleet.run_until([&] { return scene.fleet.state("gpu-1") == pod_deletion; },
                                    minutes(1)));
  JsonObject now{{"apiVersion", "v1"}, {"kind", "DeleteOptions"}, {"gracePeriodSeconds", 0}};
  scene.fleet.must(kube::remove(resource::pods, {"default", "work-1"}, std::move(now)));
  EXPECT_TRUE(scene.finish());
  EXPECT_EQ(scene.one.controller->counts().removals.at({"evict", "error"}), 1U);
  EXPECT_TRUE(scene.one.controller->tries().empty());
}

TEST(UpgradeController, ANodeThatVanishesFreesItsSlot) {
  UpgradeScene scene({1, 2, R"({"maxUnavailable":1})"});
  scene.start();
  scene.upgrade();
  ASSERT_TRUE(scene.fleet.run_until(
      [&] { return scene.fleet.state("gpu-1") == "pod-restart-required"; }, minutes(5)));
  scene.fleet.must(kube::remove(resource::nodes, {"", "gpu-1"}));
  EXPECT_TRUE(scene.fleet.run_until(
      [&] { return scene.fleet.state("gpu-2") == "cordon-required" || scene.fleet.upgraded(); },
      minutes(5)));
  EXPECT_FALSE(scene.one.controller->reasons().contains("gpu-1"));
  EXPECT_FALSE(scene.one.controller->watch().tally().is_reserved("gpu-1"));
}

TEST(UpgradeController, ARivalFreezesEverything) {
  UpgradeScene scene;
  scene.start();
  scene.fleet.must(
      kube::create(resource::pods, std::string(operator_ns),
                   json_of(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"gpu-operator-1",
                  "labels":{"app":"gpu-operator"}},
                  "spec":{"nodeName":"cpu-1","containers":[{"name":"c","image":"i"}]}})")));
  kube::Request status = kube::patch(resource::pods, {std::string(operator_ns), "gpu-operator-1"},
                                     kube::PatchType::merge, ready_status(scene.fleet.loop.now()));
  status.subresource = "status";
  scene.fleet.must(status);
  scene.fleet.loop.run_for(seconds(1));
  scene.one.api.reset();
  scene.upgrade();
  scene.fleet.loop.run_for(minutes(5));
  EXPECT_EQ(scene.one.api.writes(), 0U);
  EXPECT_EQ(scene.one.controller->reasons().at("gpu-1").name, "ConflictingController");
  scene.fleet.must(kube::remove(resource::pods, {std::string(operator_ns), "gpu-operator-1"}));
  EXPECT_TRUE(scene.finish());
}

TEST(UpgradeController, AnInvalidPolicyIsToldOnceOnThePolicyAndStartsNothing) {
  UpgradeScene scene;
  scene.start();
  scene.fleet.set_policy(R"({"maxUnavailable":"a few"})");
  scene.upgrade();
  scene.fleet.loop.run_for(minutes(5));
  EXPECT_EQ(scene.fleet.state("gpu-1"), "upgrade-required");
  auto events = scene.events_of("cluster-policy");
  ASSERT_EQ(events.size(), 1U);
  EXPECT_NE(events.begin()->first.find("maxUnavailable"), std::string::npos);
  EXPECT_EQ(events.begin()->second, 1);
  scene.fleet.set_policy(R"({"maxUnavailable":"100%"})");
  EXPECT_TRUE(scene.finish());
}

TEST(UpgradeController, TheStopwatchIsReadOnlyWhereThereIsOne) {
  UpgradeScene scene({1, 1});
  scene.start();
  EXPECT_EQ(scene.one.controller->counts().decision_time, Duration::zero());
  Duration clock{0};
  scene.one.base_options.stopwatch = [&] { return clock += microseconds(3); };
  scene.one.restart();
  scene.fleet.loop.run_for(seconds(5));
  const UpgradeCounts& counts = scene.one.controller->counts();
  EXPECT_GT(counts.decisions, 0U);
  EXPECT_EQ(counts.decision_time, microseconds(3) * static_cast<int64_t>(counts.decisions));
}

// As the node controller of a cluster does.
TEST(UpgradeController, LosesNoPatchToTheTaintThatItsCordonBrings) {
  UpgradeScene scene({3, 3});
  scene.start();
  Scope scope;
  int taints = 0;
  const uint64_t listener = scene.fleet.backend.store.add_listener(
      [&](const std::string& storage, const apiserver::Change& change) {
        if (storage != "nodes" || change.before == nullptr) return;
        auto is_cordoned = [](const Json& node) {
          return as_bool(find(node, "spec", "unschedulable"));
        };
        if (is_cordoned(change.before->json()) || !is_cordoned(change.object->json())) return;
        std::string name(text_at(change.object->json(), "metadata", "name"));
        scene.fleet.loop.after(milliseconds(20), scope.bind([&, name] {
          ++taints;
          scene.fleet.patch_node(name, R"({"spec":{"taints":[
              {"key":"node.kubernetes.io/unschedulable","effect":"NoSchedule"}]}})");
        }));
      });
  scene.upgrade();
  EXPECT_TRUE(scene.finish());
  scene.fleet.backend.store.remove_listener(listener);
  EXPECT_EQ(taints, 3);
  EXPECT_EQ(scene.one.controller->counts().conflicts, 0U);
}

}  // namespace
}  // namespace lockstep::controller::upgrade_controller_test
