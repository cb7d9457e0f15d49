#include "dashboard/fleet_feed.h"

#include <gtest/gtest.h>

#include "controller/fleet_test_util.h"

namespace lockstep::dashboard {
namespace {

using controller::FleetSetup;
using controller::TestFleet;
using fleet::State;

struct Scene {
  explicit Scene(FleetSetup setup = {})
      : fleet(setup),
        api(fleet.backend, {"dashboard", {}, "test"}),
        watch(api, fleet.loop, fleet.random, log, {}),
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
  controller::FleetWatch watch;
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

}  // namespace
}  // namespace lockstep::dashboard
