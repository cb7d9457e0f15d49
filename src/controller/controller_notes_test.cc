#include "controller/controller_notes.h"

#include <gtest/gtest.h>

#include "controller/fleet_test_util.h"
#include "upgrade/decide.h"

namespace lockstep::controller::controller_notes_test {
namespace {

const ObjectKey key{"lockstep-system", std::string(notes_name)};

ControllerNotes read_back(const ControllerNotes& notes) {
  DecodeContext context;
  auto map = decode_object<ConfigMap>(notes.to_json(key), context);
  EXPECT_TRUE(map);
  return map ? ControllerNotes::from_map(*map) : ControllerNotes{};
}

TEST(ControllerNotes, AreReadAsTheyWereWritten) {
  ControllerNotes notes;
  notes.scheduler_sees_from = Time::from_unix(1'800'000'000);
  NodeNote& note = notes.nodes["gpu-1"];
  note.since = "2026-11-19T03:00:00Z";
  note.seen_since = Time::from_unix(1'790'000'000);
  note.clock_gained = -minutes(10);
  note.renewed = {Text("uid-1")};
  note.evictions["uid-2"] = {true, Time::from_unix(1'790'000'100), "no disruption allowed"};
  note.delay = fleet::RolloutHold{"WatchesBehind", "they are behind", "wait"};
  EXPECT_EQ(read_back(notes), notes);
}

TEST(ControllerNotes, ThatCannotBeReadSayNothing) {
  ConfigMap map;
  map.data.set(Text("nodes"), Text("[1, {"));
  map.data.set(Text("schedulerSeesFrom"), Text("tomorrow"));
  EXPECT_EQ(ControllerNotes::from_map(map), ControllerNotes{});
}

TEST(ControllerNotes, TwoReadingsOfOneMomentAreTheSame) {
  ControllerNotes one;
  one.nodes["gpu-1"].seen_since = Time::from_unix(1000);
  ControllerNotes other = one;
  other.nodes["gpu-1"].seen_since = Time::from_unix(1001);
  EXPECT_TRUE(is_about_same(one, other));
  other.nodes["gpu-1"].seen_since = Time::from_unix(1003);
  EXPECT_FALSE(is_about_same(one, other));
  other = one;
  other.nodes["gpu-1"].evictions["uid"];
  EXPECT_FALSE(is_about_same(one, other));
}

// A process that has only the API, beside the controller.
struct Scene : UpgradeScene {
  explicit Scene(FleetSetup setup) : UpgradeScene(std::move(setup)) {}

  upgrade::Reason observed(const std::string& node) {
    apiserver::InProcessApi api(fleet.backend, {"observer", {}, "observer"});
    SilentLog log;
    SeededRandom random(5);
    FleetWatch watch(api, fleet.loop, random, log, {});
    watch.start();
    EXPECT_TRUE(fleet.run_until([&] { return watch.synced(); }, seconds(10)));
    watch.count_changed();
    return said_by(watch, node);
  }
  upgrade::Reason said_by(const FleetWatch& watch, const std::string& node) const {
    auto view = watch.view(node);
    EXPECT_TRUE(view);
    if (!view) return {};
    return upgrade::decide(*view, watch.pool(view->pool), watch.rules(), fleet.loop.now()).reason;
  }
  upgrade::Reason said(const std::string& node) {
    return said_by(one.controller->watch(), node);
  }
  bool says(const std::string& node, std::string_view reason) {
    const auto& reasons = one.controller->reasons();
    auto at = reasons.find(node);
    return at != reasons.end() && at->second.name == reason;
  }
  std::string published() {
    const Json map = fleet.must(kube::get(resource::config_maps, key));
    return std::string(text_at(map, "data", "nodes"));
  }
  // A node whose eviction a budget refuses, without a time limit.
  void block(const std::string& node) {
    start();
    fleet.add_work("work-1", node);
    fleet.add_budget("work", 1);
    upgrade();
    ASSERT_TRUE(
        fleet.run_until([&] { return says(node, "BlockedByDisruptionBudget"); }, minutes(5)));
    fleet.loop.run_for(seconds(5));
  }
  void expect_one_answer(const std::string& node) {
    const upgrade::Reason here = said(node);
    const upgrade::Reason there = observed(node);
    EXPECT_EQ(there.name, here.name);
    EXPECT_EQ(there.remedy, here.remedy);
  }
};

constexpr std::string_view patient =
    R"({"autoUpgrade":true,"maxUnavailable":"100%","podDeletion":{"timeoutSeconds":0}})";

TEST(OneAnswer, AnObserverKnowsOfARefusedEvictionAndItsRemedy) {
  Scene scene({1, 1, std::string(patient)});
  scene.block("gpu-1");
  EXPECT_EQ(scene.observed("gpu-1").name, "BlockedByDisruptionBudget");
  EXPECT_NE(scene.observed("gpu-1").remedy, "");
  scene.expect_one_answer("gpu-1");
}

TEST(OneAnswer, AnUpgradeWithoutTroublePublishesNothing) {
  Scene scene({1, 3, std::string(patient)});
  scene.start();
  scene.upgrade();
  ASSERT_TRUE(scene.finish());
  scene.fleet.loop.run_for(seconds(10));
  EXPECT_FALSE(scene.fleet.exists(resource::config_maps, key));
}

TEST(OneAnswer, WhatIsOverIsNoLongerPublished) {
  Scene scene({1, 1, std::string(patient)});
  scene.block("gpu-1");
  scene.fleet.must(kube::remove(resource::pod_disruption_budgets, {"default", "work"}));
  ASSERT_TRUE(scene.finish());
  scene.fleet.loop.run_for(seconds(10));
  EXPECT_EQ(scene.published(), "{}");
}

TEST(OneAnswer, ANewLeaderReplacesWhatTheLastOneLeft) {
  Scene scene({1, 1, std::string(patient)});
  scene.block("gpu-1");
  scene.fleet.must(kube::remove(resource::pod_disruption_budgets, {"default", "work"}));
  scene.one.restart();
  ASSERT_TRUE(scene.finish());
  scene.fleet.loop.run_for(seconds(10));
  EXPECT_EQ(scene.published(), "{}");
}

TEST(OneAnswer, AnObserverKnowsSinceWhenTheControllerWatches) {
  Scene scene({1, 1, R"({"autoUpgrade":true,"maxUnavailable":"100%"})"});
  scene.fleet.restart_time = hours(10);
  scene.start();
  scene.upgrade();
  ASSERT_TRUE(
      scene.fleet.run_until([&] { return scene.says("gpu-1", "DriverPodMissing"); }, minutes(5)));
  scene.one.controller.reset();
  scene.fleet.loop.run_for(hours(1));
  scene.one.restart();
  scene.fleet.loop.run_for(seconds(10));
  EXPECT_EQ(scene.observed("gpu-1").name, "DriverPodMissing");
  scene.expect_one_answer("gpu-1");
}

TEST(OneAnswer, AStandbySaysWhatTheLeaderSays) {
  Scene scene({1, 1, std::string(patient)});
  TestController two(scene.fleet, "two", 8);
  scene.block("gpu-1");
  EXPECT_EQ(scene.said_by(two.controller->watch(), "gpu-1").name, "BlockedByDisruptionBudget");
  // And leads on its own knowledge.
  scene.one.controller->follow();
  two.lead();
  scene.fleet.loop.run_for(minutes(2));
  EXPECT_EQ(scene.said_by(two.controller->watch(), "gpu-1").name, "BlockedByDisruptionBudget");
  EXPECT_EQ(scene.said("gpu-1").name, "BlockedByDisruptionBudget");
}

TEST(OneAnswer, NotesThatCannotBeWrittenAreTriedAgain) {
  Scene scene({1, 1, std::string(patient)});
  kube::CallPlan fails;
  fails.fault = kube::Fault::server_error;
  scene.one.faults.on_call(
      [](const kube::Request& request) {
        return request.name == notes_name ||
               (request.body && text_at(*request.body, "metadata", "name") == notes_name);
      },
      fails, 4);
  scene.block("gpu-1");
  scene.fleet.loop.run_for(minutes(2));
  EXPECT_EQ(scene.one.faults.unused(), 0U);
  scene.expect_one_answer("gpu-1");
}

}  // namespace
}  // namespace lockstep::controller::controller_notes_test
