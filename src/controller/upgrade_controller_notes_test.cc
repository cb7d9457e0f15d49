#include "controller/observed_scene_test_util.h"

namespace lockstep::controller::upgrade_controller_notes_test {
namespace {

TEST(OneAnswer, AnObserverKnowsSinceWhenTheControllerWatches) {
  ObservedScene scene({1, 1, R"({"autoUpgrade":true,"maxUnavailable":"100%"})"});
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

// Nothing but the clock has changed: no event leads to a decision.
TEST(OneAnswer, AnObserverKnowsOfAClockThatWasSet) {
  ObservedScene scene({1, 1, R"({"autoUpgrade":true,"maxUnavailable":"100%"})"});
  scene.fleet.restart_time = hours(10);
  scene.start();
  scene.upgrade();
  ASSERT_TRUE(
      scene.fleet.run_until([&] { return scene.says("gpu-1", "DriverPodMissing"); }, minutes(5)));
  scene.fleet.loop.step_clock(hours(2));
  scene.fleet.loop.run_for(seconds(10));
  EXPECT_EQ(scene.observed("gpu-1").name, "DriverPodMissing");
  scene.expect_one_answer("gpu-1");
}

TEST(OneAnswer, AStandbySaysWhatTheLeaderSays) {
  ObservedScene scene({1, 1, std::string(patient)});
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

TEST(OneAnswer, AnObserverKnowsOfARefusedEvictionAndItsRemedy) {
  ObservedScene scene({1, 1, std::string(patient)});
  scene.block("gpu-1");
  EXPECT_EQ(scene.observed("gpu-1").name, "BlockedByDisruptionBudget");
  EXPECT_NE(scene.observed("gpu-1").remedy, "");
  scene.expect_one_answer("gpu-1");
}

}  // namespace
}  // namespace lockstep::controller::upgrade_controller_notes_test
