#include "dra/slice_publisher.h"

#include <gtest/gtest.h>

#include "dra/plugin_scene_test_util.h"

namespace lockstep::dra::slice_publisher_test {
namespace {

// The publisher as the plugin has it.
struct SlicePublisherTest : ::testing::Test, PluginScene {
  void remove_all() {
    for (const Json& slice : slices()) {
      must(kube::remove(resource::resource_slices,
                        {"", std::string(text_at(slice, "metadata", "name"))}));
    }
  }
};

TEST_F(SlicePublisherTest, TheNodeOwnsIt) {
  start();
  ASSERT_EQ(slices().size(), 1u);
  Json node = must(kube::get(resource::nodes, {"", "gpu-1"}));
  const Json slice = slices()[0];
  const Json& owner = find(slice, "metadata", "ownerReferences")->as_array()[0];
  EXPECT_EQ(text_at(owner, "uid"), text_at(node, "metadata", "uid"));
}

TEST_F(SlicePublisherTest, WhatTheKubeletTakesAwayComesBack) {
  start();
  remove_all();
  loop.run_for(seconds(1));
  EXPECT_EQ(slices().size(), 1u);
  EXPECT_TRUE(plugin->is_ready());
}

TEST_F(SlicePublisherTest, NothingIsWrittenWhereNothingChanges) {
  start();
  auto version = [this] {
    return std::string(text_at(slices()[0], "metadata", "resourceVersion"));
  };
  std::string before = version();
  loop.run_for(minutes(10));
  EXPECT_EQ(version(), before);
}

TEST_F(SlicePublisherTest, LostAndRefusedWritesAreMadeGood) {
  for (kube::Fault fault :
       {kube::Fault::conflict, kube::Fault::server_error, kube::Fault::reply_lost,
        kube::Fault::request_lost, kube::Fault::away}) {
    PluginScene scene;
    kube::CallPlan plan;
    plan.fault = fault;
    scene.faults.on_call(kube::ScriptedFaults::calls(kube::Verb::create, resource::resource_slices),
                         plan, 3);
    scene.start();
    scene.loop.run_for(minutes(3));
    EXPECT_EQ(scene.slices().size(), 1u) << to_string(fault);
    EXPECT_TRUE(scene.plugin->is_ready()) << to_string(fault);
  }
}

TEST_F(SlicePublisherTest, ANodeThatComesLateIsWaitedFor) {
  kube::CallPlan plan;
  plan.fault = kube::Fault::away;
  faults.on_call(kube::ScriptedFaults::calls(kube::Verb::get, resource::nodes), plan, 8);
  start();
  EXPECT_FALSE(plugin->is_ready());
  loop.run_for(minutes(1));
  EXPECT_TRUE(plugin->is_ready());
}

TEST_F(SlicePublisherTest, WhoeverElseWritesTheSliceIsNotFoughtAtFullSpeed) {
  start();
  int writes = 0;
  // Another instance, of another version: takes an attribute out whenever it is there.
  std::function<void()> meddle = [&] {
    loop.after(milliseconds(10), [&] {
      for (Json slice : slices()) {
        Json& device = lockstep::find(slice, "spec", "devices")->as_array()[0];
        JsonObject& attributes = device.as_object()["attributes"].as_object();
        if (!attributes.contains("productName")) continue;
        erase_key(attributes, "productName");
        must(kube::update(resource::resource_slices,
                          {"", std::string(text_at(slice, "metadata", "name"))}, slice));
        ++writes;
      }
      meddle();
    });
  };
  meddle();
  loop.run_for(minutes(2));
  EXPECT_GE(writes, 5);
  EXPECT_LE(writes, 40) << "at full speed it would be thousands";
}

TEST_F(SlicePublisherTest, AnAnswerThatComesAfterNewerNewsDoesNotBringBackThePast) {
  start();
  kube::CallPlan late;
  late.reply_delay = seconds(2);
  faults.on_call(kube::ScriptedFaults::calls(kube::Verb::update, resource::resource_slices), late);
  probe.load("580.105.08");
  loop.run_for(seconds(1));
  // The write is done, its answer is on its way, and another client changes the slice meanwhile.
  Json slice = slices()[0];
  lockstep::find(slice, "metadata")->as_object()["labels"] = JsonObject{{"x", "y"}};
  must(kube::update(resource::resource_slices,
                    {"", std::string(text_at(slice, "metadata", "name"))}, slice));
  EXPECT_EQ(taints().size(), 2u) << "the taint of the driver that was away";
  loop.run_for(seconds(30));
  EXPECT_TRUE(taints().empty()) << "it could not write any more";
  EXPECT_TRUE(plugin->is_ready());
}

TEST_F(SlicePublisherTest, AStartWithADriverTaintsNothing) {
  start();
  stop();
  std::string before(text_at(slices()[0], "metadata", "resourceVersion"));
  start();
  EXPECT_EQ(text_at(slices()[0], "metadata", "resourceVersion"), before) << "nothing is written";
}

TEST_F(SlicePublisherTest, SlicesOfOthersAreLeftAlone) {
  must(kube::create(resource::resource_slices, "", json_of(R"({"metadata":{"name":"other"},
      "spec":{"driver":"nic.example.com","nodeName":"gpu-1","pool":{"name":"gpu-1","generation":9,
      "resourceSliceCount":1},"devices":[]}})")));
  start();
  EXPECT_EQ(slices().size(), 2u);
}

}  // namespace
}  // namespace lockstep::dra::slice_publisher_test
