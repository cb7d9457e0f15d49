#include "controller/notes_publisher.h"

#include "controller/observed_scene_test_util.h"

namespace lockstep::controller::notes_publisher_test {
namespace {

TEST(OneAnswer, AnUpgradeWithoutTroublePublishesNothing) {
  ObservedScene scene({1, 3, std::string(patient)});
  scene.start();
  scene.upgrade();
  ASSERT_TRUE(scene.finish());
  scene.fleet.loop.run_for(seconds(10));
  EXPECT_FALSE(scene.fleet.exists(resource::config_maps, notes_key));
}

TEST(OneAnswer, WhatIsOverIsNoLongerPublished) {
  ObservedScene scene({1, 1, std::string(patient)});
  scene.block("gpu-1");
  scene.fleet.must(kube::remove(resource::pod_disruption_budgets, {"default", "work"}));
  ASSERT_TRUE(scene.finish());
  scene.fleet.loop.run_for(seconds(10));
  EXPECT_EQ(scene.published(), "{}");
}

TEST(OneAnswer, ANewLeaderReplacesWhatTheLastOneLeft) {
  ObservedScene scene({1, 1, std::string(patient)});
  scene.block("gpu-1");
  scene.fleet.must(kube::remove(resource::pod_disruption_budgets, {"default", "work"}));
  scene.one.restart();
  ASSERT_TRUE(scene.finish());
  scene.fleet.loop.run_for(seconds(10));
  EXPECT_EQ(scene.published(), "{}");
}

TEST(OneAnswer, NotesThatCannotBeWrittenAreTriedAgain) {
  ObservedScene scene({1, 1, std::string(patient)});
  kube::CallPlan fails;
  fails.fault = kube::Fault::server_error;
  scene.one.faults.on_call(
      [](const kube::Request& request) {
        return request.name == view::notes_name ||
               (request.body && text_at(*request.body, "metadata", "name") == view::notes_name);
      },
      fails, 4);
  scene.block("gpu-1");
  scene.fleet.loop.run_for(minutes(2));
  EXPECT_EQ(scene.one.faults.unused(), 0U);
  scene.expect_one_answer("gpu-1");
}

}  // namespace
}  // namespace lockstep::controller::notes_publisher_test
