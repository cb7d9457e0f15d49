#include "controller/observed_scene_test_util.h"

namespace lockstep::controller::fleet_watch_notes_test {
namespace {

TEST(OneAnswer, AnObserverKnowsOfARefusedEvictionAndItsRemedy) {
  ObservedScene scene({1, 1, std::string(patient)});
  scene.block("gpu-1");
  EXPECT_EQ(scene.observed("gpu-1").name, "BlockedByDisruptionBudget");
  EXPECT_NE(scene.observed("gpu-1").remedy, "");
  scene.expect_one_answer("gpu-1");
}

}  // namespace
}  // namespace lockstep::controller::fleet_watch_notes_test
