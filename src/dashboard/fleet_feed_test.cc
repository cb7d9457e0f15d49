#include "dashboard/fleet_feed.h"

#include <gtest/gtest.h>

#include "rollout/bake_record.h"
#include "view/fleet_test_util.h"
#include "view/kept_bake.h"

namespace lockstep::dashboard::fleet_feed_test {
namespace {

using fleet::State;
using view::FleetSetup;
using view::TestFleet;

struct Scene {
  explicit Scene(FleetSetup setup = {}, view::FleetWatchOptions options = {})
      : fleet(setup),
        api(fleet.backend, {"dashboard", {}, "test"}),
        watch(api, fleet.loop, fleet.random, log, std::move(options)),
        feed(watch, fleet.loop, model, [this] {
          if (auto changes = model.take_changes(fleet.loop.now())) changed.push_back(*changes);
        }) {
    watch.start();
    fleet.loop.run_for(seconds(5));
  }
  void set_state(const std::string& node, State state) {
    fleet.patch_node(node, fmt::format(R"({{"metadata":{{"labels":{{"{}":"{}"}}}}}})",
                                       fleet::Keys().state, to_string(state)));
  }
  Json part(const char* name) {
    auto snapshot = parse_json(model.snapshot(fleet.loop.now()));
    EXPECT_TRUE(snapshot);
    const Json* found = find(*snapshot, name);
    return found == nullptr ? Json() : *found;
  }

  TestFleet fleet;
  apiserver::InProcessApi api;
  SilentLog log;
  view::FleetWatch watch;
  FleetModel model;
  std::vector<std::string> changed;
  FleetFeed feed;
};

TEST(FleetFeed, ShowsEveryNodeOnceTheyAreListed) {
  Scene scene;
  EXPECT_EQ(scene.model.size(), 3U);
  ASSERT_NE(scene.model.find("gpu-2"), nullptr);
  EXPECT_FALSE(scene.model.find("gpu-2")->reason.empty());
  Json pools = scene.part("pools");
  ASSERT_EQ(pools.as_array().size(), 1U);
  EXPECT_EQ(pools.at(0).at("total").as_int64(), 3);
  EXPECT_TRUE(scene.part("contact").at("ok").as_bool());
}

TEST(Headline, AtTheStartEveryNodeRunsItsDriver) {
  Scene scene;
  const Json pools = scene.part("pools");
  EXPECT_EQ(pools.at(0).at("upgraded").as_int64(), 0) << "no node has gone through an upgrade";
  EXPECT_EQ(pools.at(0).at("running").as_int64(), 3);
}

TEST(Headline, ANodeWithAnOlderDriverDoesNotRunTheNewest) {
  Scene scene;
  scene.fleet.set_revision("r2", 2);
  scene.fleet.loop.run_for(seconds(3));
  EXPECT_EQ(scene.part("pools").at(0).at("running").as_int64(), 0);
}

TEST(FleetFeed, TheTimeLineBeginsWithWhatTheNodesSay) {
  TestFleet fleet{FleetSetup{}};
  const Time failed = fleet.loop.now() - hours(2);
  fleet.patch_node(
      "gpu-2",
      fmt::format(R"({{"metadata":{{"labels":{{"{}":"{}"}},"annotations":{{"{}":"{}"}}}}}})",
                  fleet::Keys().state, to_string(State::failed), fleet::since_annotation,
                  format_rfc3339(failed)));
  apiserver::InProcessApi api(fleet.backend, {"dashboard", {}, "test"});
  SilentLog log;
  view::FleetWatch watch(api, fleet.loop, fleet.random, log, {});
  FleetModel model;
  FleetFeed feed(watch, fleet.loop, model, [] {});
  watch.start();
  fleet.loop.run_for(seconds(5));
  auto history = parse_json(model.history(fleet.loop.now()));
  ASSERT_TRUE(history);
  EXPECT_EQ(history->at("samples").at(0).at(0).as_int64(), failed.unix_seconds() * 1000);
  EXPECT_GT(history->at("began").as_int64(), failed.unix_seconds() * 1000);
}

TEST(FleetFeed, AChangeIsShownSoonAndAlone) {
  Scene scene;
  size_t before = scene.changed.size();
  scene.set_state("gpu-2", State::cordon);
  scene.fleet.loop.run_for(milliseconds(500));
  EXPECT_EQ(scene.model.find("gpu-2")->state, State::cordon);
  ASSERT_GT(scene.changed.size(), before);
  auto json = parse_json(scene.changed[before]);
  ASSERT_TRUE(json);
  EXPECT_EQ(json->at("nodes").as_array().size(), 1U);
  EXPECT_EQ(json->at("attention").at(0).at("node").as_string(), "gpu-2");
}

TEST(FleetFeed, SaysInWordsWhyANodeFailed) {
  Scene scene;
  scene.set_state("gpu-1", State::failed);
  scene.set_state("gpu-2", State::cordon);
  scene.fleet.loop.run_for(seconds(1));
  Json attention = scene.part("attention");
  ASSERT_EQ(attention.as_array().size(), 2U);
  EXPECT_EQ(attention.at(0).at("node").as_string(), "gpu-1") << "failed ones first";
  EXPECT_FALSE(text_at(attention.at(0), "text").empty());
  scene.set_state("gpu-1", State::done);
  scene.fleet.loop.run_for(seconds(1));
  EXPECT_EQ(scene.part("attention").as_array().size(), 1U);
}

TEST(FleetFeed, ANodeThatIsGoneIsGone) {
  Scene scene;
  scene.fleet.must(kube::remove(resource::nodes, {"", "gpu-3"}));
  scene.fleet.loop.run_for(seconds(5));
  EXPECT_EQ(scene.model.find("gpu-3"), nullptr);
}

TEST(FleetFeed, AtRestNothingIsSent) {
  Scene scene;
  scene.fleet.loop.run_for(seconds(10));
  size_t before = scene.changed.size();
  scene.fleet.loop.run_for(minutes(1));
  EXPECT_EQ(scene.changed.size(), before);
}

// A fleet whose cluster knows rollouts.
struct RolloutScene : Scene {
  RolloutScene() : Scene({}, with_rollouts()) {
    const ResourceType& type = fleet::driver_rollouts;
    fleet.must(kube::create(
        resource::custom_resource_definitions, "",
        view::json_of(fmt::format(
            R"({{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
                 "metadata":{{"name":"{0}"}},
                 "spec":{{"group":"{1}","scope":"Cluster",
                   "names":{{"kind":"{2}","listKind":"{2}List","plural":"{3}"}},
                   "versions":[{{"name":"{4}","served":true,"storage":true,"schema":{{
                     "openAPIV3Schema":{{"type":"object",
                       "x-kubernetes-preserve-unknown-fields":true}}}}}}]}}}})",
            type.full_name(), type.group, type.kind, type.plural, type.version))));
    fleet.must(kube::create(type, "", view::json_of(R"(
        {"apiVersion":"lockstep.dev/v1alpha1","kind":"DriverRollout","metadata":{"name":"weekly"},
         "spec":{"driver":{"kind":"ClusterPolicy","name":"cluster-policy"},
                 "waves":[{"name":"canary","nodes":{"count":1},"bake":{"duration":"1h"}},
                          {"name":"rest","nodes":{"rest":true}}]}})")));
    // A kind that was not there is asked for again after a while.
    fleet.run_until([&] { return !watch.rollouts().all().empty(); }, minutes(10));
    fleet.loop.run_for(seconds(3));
  }
  static view::FleetWatchOptions with_rollouts() {
    view::FleetWatchOptions options;
    options.rollouts.enabled = true;
    return options;
  }
};

TEST(FleetFeed, ForeseesTheWavesThatAreNotOpenYet) {
  RolloutScene scene;
  EXPECT_EQ(scene.model.find("gpu-1")->wave, "canary");
  EXPECT_EQ(scene.model.find("gpu-2")->wave, "rest");
  Json rollouts = scene.part("rollouts");
  ASSERT_EQ(rollouts.as_array().size(), 1U);
  EXPECT_EQ(rollouts.at(0).at("name").as_string(), "weekly");
  EXPECT_EQ(rollouts.at(0).at("waves").as_array().size(), 2U);
}

TEST(FleetFeed, AWaveThatIsOpenIsAsItWasWrittenDown) {
  RolloutScene scene;
  scene.fleet.must(
      kube::create(resource::config_maps, "lockstep-system",
                   view::wave_to_json({"lockstep-system", view::wave_name("weekly", 0)}, "weekly",
                                      0, {"", {"gpu-3"}}, "")));
  scene.fleet.loop.run_for(seconds(3));
  EXPECT_EQ(scene.model.find("gpu-3")->wave, "canary");
  EXPECT_EQ(scene.model.find("gpu-1")->wave, "rest");
}

TEST(FleetFeed, ShowsABakeInNumbers) {
  RolloutScene scene;
  Time began = Time::from_unix(scene.fleet.loop.now().unix_seconds() - 600);
  view::KeptBake kept;
  kept.record.began = began;
  kept.until = began + minutes(5);
  rollout::BakeStep step;
  step.at = kept.until;
  step.elapsed = minutes(5);
  step.upgraded_nodes = 1;
  step.models = {{"H100", 12.5, 100}};
  kept.record.steps = {step};
  ObjectKey key{"lockstep-system", view::bake_name("weekly", 0)};
  scene.fleet.must(kube::create(resource::config_maps, key.ns, kept.to_json(key, "weekly", "")));
  rollout::RolloutStatus status;
  status.phase = rollout::Phase::baking;
  status.open_waves = 1;
  rollout::WaveStatus wave;
  wave.name = "canary";
  wave.opened = wave.bake_began = began;
  status.waves = {wave};
  scene.fleet.must(kube::patch(fleet::driver_rollouts, {"", "weekly"}, kube::PatchType::merge,
                               JsonObject{{"status", rollout::rollout_status_to_json(status)}}));
  scene.fleet.loop.run_for(seconds(3));
  Json bake = scene.part("rollouts").at(0).at("waves").at(0).at("bake");
  EXPECT_EQ(as_number(bake.at("gpuHours")), 12.5);
  EXPECT_EQ(as_number(bake.at("targetSeconds")), 3600);
  EXPECT_EQ(as_number(bake.at("seconds")), 300);
  EXPECT_GT(as_number(bake.at("limit")), 1);
}

}  // namespace
}  // namespace lockstep::dashboard::fleet_feed_test
