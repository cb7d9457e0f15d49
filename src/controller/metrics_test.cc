#include "controller/metrics.h"

#include <gtest/gtest.h>

#include "controller/controller_test_util.h"

namespace lockstep::controller::metrics_test {
namespace {

struct Scene {
  explicit Scene(FleetSetup setup = {}) : fleet(setup), one(fleet) { one.lead(); }
  std::string text() { return render_metrics(*one.controller, &one.api, fleet.loop.now()); }
  // The value as it is written; empty: there is no such sample.
  std::string value(const std::string& sample) {
    std::string all = "\n" + text();
    size_t at = all.find("\n" + sample + " ");
    if (at == std::string::npos) return "";
    size_t begin = at + sample.size() + 2;
    return all.substr(begin, all.find('\n', begin) - begin);
  }
  void settle() {
    ASSERT_TRUE(fleet.run_until([&] { return fleet.all_are("upgrade-done"); }, minutes(1)));
  }
  bool run_until_state(const std::string& node, std::string_view state) {
    return fleet.run_until([&] { return fleet.state(node) == state; }, minutes(5));
  }

  TestFleet fleet;
  TestController one;
};

TEST(Metrics, TheOperatorsNamesCountNodes) {
  Scene scene({1, 4, R"({"autoUpgrade":true,"maxUnavailable":2,"maxParallelUpgrades":1})"});
  scene.settle();
  EXPECT_EQ(scene.value("gpu_operator_auto_upgrade_enabled"), "1");
  EXPECT_EQ(scene.value("gpu_operator_driver_auto_upgrade_enabled"), "1");
  EXPECT_EQ(scene.value("gpu_operator_nodes_upgrades_done"), "4");
  EXPECT_EQ(scene.value("gpu_operator_nodes_upgrades_pending"), "0");
  scene.fleet.set_revision_while_paused("r2", 2);
  ASSERT_TRUE(scene.run_until_state("gpu-1", "pod-restart-required"));
  EXPECT_EQ(scene.value("gpu_operator_nodes_upgrades_in_progress"), "1");
  EXPECT_EQ(scene.value("gpu_operator_nodes_upgrades_pending"), "3");
  EXPECT_EQ(scene.value("gpu_operator_nodes_upgrades_available"), "0");
  EXPECT_EQ(scene.value("gpu_operator_nodes_upgrades_done"), "0");
  EXPECT_EQ(scene.value("gpu_operator_nodes_upgrades_failed"), "0");
  EXPECT_EQ(scene.value(R"(lockstep_nodes{pool="",state="pod-restart-required"})"), "1");
  EXPECT_EQ(scene.value(R"(lockstep_nodes{pool="",state="upgrade-required"})"), "3");
  EXPECT_EQ(scene.value(R"(lockstep_nodes{pool="",state="upgrade-failed"})"), "0");
  EXPECT_EQ(scene.value(R"(lockstep_nodes_unavailable{pool=""})"), "1");
  EXPECT_EQ(scene.value(R"(lockstep_nodes_unavailable_limit{pool=""})"), "2");
  EXPECT_EQ(scene.value(R"(lockstep_nodes_active_limit{pool=""})"), "1");
  scene.one.controller->follow();
  scene.fleet.set_policy(R"({"autoUpgrade":false})");
  scene.fleet.loop.run_for(seconds(1));
  EXPECT_EQ(scene.value("gpu_operator_auto_upgrade_enabled"), "0");
  EXPECT_EQ(scene.value("lockstep_leader"), "0");
}

TEST(Metrics, NodesThatCouldStartAreAvailable) {
  Scene scene({1, 4, R"({"maxUnavailable":3,"maxParallelUpgrades":2})"});
  scene.settle();
  scene.one.controller->follow();
  for (const auto& node : {"gpu-1", "gpu-2", "gpu-3"}) {
    scene.fleet.patch_node(node, R"({"metadata":{"labels":
        {"nvidia.com/gpu-driver-upgrade-state":"upgrade-required"}}})");
  }
  scene.fleet.set_revision("r2", 2);
  scene.fleet.loop.run_for(seconds(1));
  EXPECT_EQ(scene.value("gpu_operator_nodes_upgrades_available"), "2");
  EXPECT_EQ(scene.value(R"(lockstep_nodes_waiting{pool="",reason="NextInLine"})"), "3");
}

TEST(Metrics, WaitingNodesAreToldByWhatHoldsThemNow) {
  Scene scene({1, 4, R"({"maxUnavailable":"100%","maxParallelUpgrades":1})"});
  scene.settle();
  scene.fleet.patch_node("gpu-4", R"({"metadata":{"labels":
      {"nvidia.com/gpu-driver-upgrade.skip":"true"}}})");
  scene.fleet.set_revision_while_paused("r2", 2);
  ASSERT_TRUE(scene.run_until_state("gpu-1", "pod-restart-required"));
  EXPECT_EQ(scene.value(R"(lockstep_nodes_waiting{pool="",reason="ParallelLimit"})"), "2");
  EXPECT_EQ(scene.value(R"(lockstep_nodes_waiting{pool="",reason="Skipped"})"), "1");
  std::string text = scene.text();
  EXPECT_NE(text.find(R"(lockstep_nodes_by_reason{pool="",state="pod-restart-required",reason=")"),
            std::string::npos);
}

TEST(Metrics, ThePauseHasAnAge) {
  Scene scene;
  scene.settle();
  EXPECT_EQ(scene.value(R"(lockstep_pause_age_seconds{pool=""})"), "0");
  EXPECT_EQ(scene.value(R"(lockstep_paused{pool=""})"), "0");
  std::string since = format_rfc3339(scene.fleet.loop.now());
  scene.fleet.must(kube::patch(
      cluster_policies, {"", "cluster-policy"}, kube::PatchType::merge,
      json_of(fmt::format(
          R"({{"metadata":{{"annotations":{{"lockstep.dev/paused":"{} by ann: why"}}}}}})",
          since))));
  scene.fleet.loop.run_for(minutes(5));
  EXPECT_EQ(scene.value(R"(lockstep_paused{pool=""})"), "1");
  EXPECT_NEAR(std::stod(scene.value(R"(lockstep_pause_age_seconds{pool=""})")), 300, 1);
}

TEST(Metrics, APauseWithoutATimeHasNoAge) {
  Time now = *parse_rfc3339("2026-11-15T09:00:00Z");
  upgrade::Policy policy;
  EXPECT_EQ(age_of_pause(policy, now), Duration::zero());
  policy.paused = "2026-11-15T08:00:00Z by ann: because";
  EXPECT_EQ(age_of_pause(policy, now), hours(1));
  policy.paused = "2026-11-15T08:00:00Z";
  EXPECT_EQ(age_of_pause(policy, now), hours(1));
  for (std::string text : {"", "because", "2027-01-01T00:00:00Z by ann: clocks differ"}) {
    policy.paused = text;
    EXPECT_EQ(age_of_pause(policy, now), Duration::zero()) << text;
  }
}

TEST(Metrics, AnInvalidPolicyShows) {
  Scene scene;
  scene.settle();
  EXPECT_EQ(scene.value(R"(lockstep_policy_invalid{pool=""})"), "0");
  scene.fleet.set_policy(R"({"autoUpgrade":true,"maxUnavailable":"many"})");
  scene.fleet.loop.run_for(seconds(1));
  EXPECT_EQ(scene.value(R"(lockstep_policy_invalid{pool=""})"), "1");
}

TEST(Metrics, AFinishedUpgradeShowsInHistogramsRemovalsAndCalls) {
  Scene scene({1, 1});
  scene.settle();
  scene.fleet.add_work("work-1", "gpu-1");
  scene.fleet.set_revision("r2", 2);
  ASSERT_TRUE(scene.fleet.run_until([&] { return scene.fleet.upgraded(); }, minutes(10)));
  scene.fleet.loop.run_for(minutes(1));
  std::string state = R"({state="pod-restart-required")";
  std::string name = "lockstep_state_duration_seconds";
  EXPECT_EQ(scene.value(name + "_count" + state + "}"), "1");
  EXPECT_EQ(scene.value(name + "_bucket" + state + R"(,le="1"})"), "0");
  EXPECT_EQ(scene.value(name + "_bucket" + state + R"(,le="7200"})"), "1");
  EXPECT_EQ(scene.value(name + "_bucket" + state + R"(,le="+Inf"})"), "1");
  EXPECT_GT(std::stod(scene.value(name + "_sum" + state + "}")), 3);
  EXPECT_EQ(scene.value(R"(lockstep_pod_removals_total{how="evict",outcome="done"})"), "1");
  EXPECT_EQ(scene.value(R"(lockstep_fresh_views_total{outcome="confirmed"})"), "3");
  EXPECT_EQ(scene.value("lockstep_transitions_total"), "9");
  EXPECT_EQ(
      scene.value(
          R"(lockstep_api_calls_total{verb="patch",resource="nodes",subresource="",code="200"})"),
      "9");
  EXPECT_EQ(
      scene.value(
          R"(lockstep_api_calls_total{verb="create",resource="pods",subresource="eviction",code="201"})"),
      "1");
  EXPECT_EQ(scene.value("lockstep_api_calls_in_flight"), "0");
  EXPECT_EQ(scene.value("lockstep_leader"), "1");
  EXPECT_EQ(scene.value("lockstep_synced"), "1");
  EXPECT_EQ(scene.value("lockstep_slots_reserved"), "0");
  EXPECT_EQ(scene.value("lockstep_ledger_failing"), "0");
  double heard = std::stod(scene.value("lockstep_last_successful_sync_timestamp_seconds"));
  EXPECT_NEAR(heard, static_cast<double>(scene.fleet.loop.now().unix_seconds()), 600);
}

TEST(Metrics, BeforeAnythingIsKnownThereIsAnAnswerToo) {
  Scene scene;
  EXPECT_EQ(scene.value("lockstep_synced"), "0");
  EXPECT_EQ(scene.value("lockstep_last_successful_sync_timestamp_seconds"), "0");
  EXPECT_EQ(scene.value(R"(lockstep_nodes{pool="",state="upgrade-done"})"), "0");
  EXPECT_EQ(render_metrics(*scene.one.controller, nullptr, scene.fleet.loop.now())
                .find("lockstep_api_calls_total"),
            std::string::npos);
}

TEST(Metrics, EveryMetricIsNamedOnceAndTheTextIsTheSameEachTime) {
  Scene scene;
  scene.settle();
  std::string text = scene.text();
  EXPECT_EQ(text, scene.text());
  std::set<std::string> names;
  std::string current;
  size_t line = 0;
  while (line < text.size()) {
    std::string each = text.substr(line, text.find('\n', line) - line);
    line += each.size() + 1;
    if (each.starts_with("# HELP ")) {
      current = each.substr(7, each.find(' ', 7) - 7);
      EXPECT_TRUE(names.insert(current).second) << current;
    } else if (!each.starts_with("# TYPE ")) {
      EXPECT_TRUE(each.starts_with(current)) << each;
    }
  }
  EXPECT_GT(names.size(), 30U);
}

}  // namespace
}  // namespace lockstep::controller::metrics_test
